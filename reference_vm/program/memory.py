"""Does a program use memory rightly? Asks the checker that knows nothing of how it was planned."""

from __future__ import annotations

from reference_vm.bytecode import memory_check
from reference_vm.program.program import Program
from reference_vm.targets.catalog import target_for


def memory_problems(program: Program) -> list[str]:
    """Return what is wrong with the use of memory in a program; empty if nothing is."""
    return memory_check.memory_problems(program.executable, _overwriting(program))


def check_memory(program: Program) -> None:
    """Raise `MemoryFault` with all that is wrong, unless nothing is."""
    memory_check.check_memory(program.executable, _overwriting(program))


def _overwriting(program: Program) -> list[frozenset[tuple[int, int]] | None]:
    """Return, for each kernel, which inputs its target lets results be written over."""
    slots = zip(program.executable.kernels, program.primitives, strict=True)
    return [target_for(s.kind, program.executor).traits.in_place(p) for s, p in slots]


__all__ = ["check_memory", "memory_problems"]
