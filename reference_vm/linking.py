"""Giving an executable its kernels: each is compiled by the target of its device kind."""

from __future__ import annotations

from collections.abc import Sequence

from reference_vm.bytecode.executable import KernelSlot
from reference_vm.bytecode.kernel import Kernel
from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir.nodes import Function
from reference_vm.targets.catalog import TARGETS, target_for
from reference_vm.targets.target import Target


def link(
    slots: Sequence[KernelSlot], primitives: Sequence[Function], executor: str | None = None
) -> tuple[Kernel, ...]:
    """Return a kernel for each slot, made from the primitive function at the same index.

    Raises:
        CompileError: There is no such executor, or a target cannot compile a function.
    """
    check_executor(executor)
    targets: dict[str, Target] = {s.kind: target_for(s.kind, executor) for s in slots}
    return tuple(
        targets[slot.kind].compile(primitive, slot.kind)
        for slot, primitive in zip(slots, primitives, strict=True)
    )


def check_executor(executor: str | None) -> None:
    """Raise `CompileError` unless there is a target of this name, or none is named."""
    if executor is not None and executor not in TARGETS:
        raise CompileError(catalog.unknown_executor(executor, tuple(TARGETS)))
