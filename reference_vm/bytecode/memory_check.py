"""Does a compiled program use memory rightly? Found out from its bytecode alone, on paper.

Each function is run on paper along every path, with real numbers for its symbols. Whatever the
planner thought of aliases and lives, these are found out:

* something is read after other data was written over it, or after its memory was given back;
* a result is written over an operand of the same instruction that does not lie at the same place,
  or by a kernel that does not allow it, or over another result;
* a storage is too small, or on another device or in another scope than what is written to it;
* an argument, a constant, or memory that somebody else has too, is written to;
* a hold is given up or handed over that the function does not have, or is never given up.

A function is judged by what `bytecode.instructions` says of holds: it owns its parameters or is
lent them, a call takes the holds of its arguments and returns a value with one hold. So calls,
loops and whatever lies in data types are followed without running the callee. Paths that come to
the same state are followed once. Nothing here is shared with whoever made the plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, final

from reference_vm.bytecode.executable import Executable, FunctionCode
from reference_vm.bytecode.instructions import (
    Branch,
    BranchTag,
    Instruction,
    Jump,
    Kill,
    Register,
    jump_of,
    leaves_frame,
    reads,
    writes,
)
from reference_vm.bytecode.paper_frame import Frame, entered
from reference_vm.bytecode.paper_memory import Tensor, Value

Overwriting: TypeAlias = Sequence["frozenset[tuple[int, int]] | None"]
"""For each kernel, its inputs with a result that it may write over them; ``None``: not known."""

_STATES: Final = 64
"""States that are followed from one instruction at most."""

_SIZES: Final = (1, 2, 7)
"""What symbols without bounds are tried at."""


class MemoryFault(Exception):
    """A compiled program uses memory wrongly: a fault of the compiler, not of the program."""


def check_memory(executable: Executable, overwriting: Overwriting | None = None) -> None:
    """Raise `MemoryFault` with all that is wrong, unless nothing is."""
    found = memory_problems(executable, overwriting)
    if found:
        raise MemoryFault("\n".join(found))


def memory_problems(executable: Executable, overwriting: Overwriting | None = None) -> list[str]:
    """Return what is wrong with the use of memory in a program; empty if nothing is."""
    return list(_checked(executable, overwriting)[0])


def proves_memory(executable: Executable) -> bool:
    """Whether nothing is wrong with the use of memory on any path, and all paths were followed."""
    problems, complete = _checked(executable, None)
    return complete and not problems


def _checked(
    executable: Executable, overwriting: Overwriting | None
) -> tuple[dict[str, None], bool]:
    """Return what is wrong, and whether all states were followed."""
    found: dict[str, None] = {}
    complete = True
    for function in executable.functions:
        problems: dict[str, None] = {}
        for sizes in _assignments(function):
            walk = _Walk(executable, function, sizes, overwriting or (), problems)
            walk.run()
            complete &= walk.complete
        found.update(dict.fromkeys(f"@{function.name}: {text}" for text in problems))
    return found, complete


@final
@dataclass
class _Walk:
    """All paths through one function, for one set of symbols."""

    executable: Executable
    function: FunctionCode
    sizes: Mapping[str, int]
    overwriting: Overwriting
    problems: dict[str, None]
    waiting: dict[int, list[Frame]] = field(default_factory=dict)
    """The states that jumps so far brought to an instruction further on."""

    complete: bool = True
    """Whether no state was left out."""

    def run(self) -> None:
        code = self.function.instructions
        wanted = _wanted(code)
        first = entered(self.executable, self.function, self.sizes, self.overwriting, self.problems)
        states = [first]
        for at, instruction in enumerate(code):
            jumped = self.waiting.pop(at, None)
            if jumped is not None:
                states = _distinct([*states, *jumped], wanted[at])
                self.complete &= len(states) < _STATES
            states = [s for state in states for s in self._step(state, at, instruction)]

    def _step(self, state: Frame, at: int, instruction: Instruction) -> Iterator[Frame]:
        """Yield the states in which the next instruction begins."""
        match instruction:
            case Branch(orelse=to):
                self.waiting.setdefault(to, []).append(state.copy())
                yield state
            case Jump(to=to):
                self.waiting.setdefault(to, []).append(state)
            case BranchTag(source=source, tag=tag, orelse=to):
                state.look(source, at)
                known = state.tag_of(source)
                if known != tag:
                    self.waiting.setdefault(to, []).append(state.copy())
                if known is None or known == tag:
                    yield state
            case _:
                state.run(instruction, at)
                if not leaves_frame(instruction):
                    yield state


def _wanted(code: Sequence[Instruction]) -> Mapping[int, frozenset[Register]]:
    """Return, for each place that is jumped to, the registers that are read from there on."""
    targets = {to for i in code if (to := jump_of(i)) is not None}
    found: dict[int, frozenset[Register]] = {}
    live: set[Register] = set()
    for at in range(len(code) - 1, -1, -1):
        instruction = code[at]
        to = jump_of(instruction)
        if isinstance(instruction, Jump) or leaves_frame(instruction):
            live = set()
        if to is not None and to in found:
            live = live | found[to]
        live.difference_update(writes(instruction))
        live.update(reads(instruction))
        if isinstance(instruction, Kill):
            live.update(instruction.registers)
        if at in targets:
            found[at] = frozenset(live)
    return found


def _distinct(states: Sequence[Frame], wanted: frozenset[Register]) -> list[Frame]:
    """Return states that differ in what later instructions can see, at most `_STATES`."""
    found: dict[object, Frame] = {}
    for state in states:
        found.setdefault(_seen(state, wanted), state)
        if len(found) >= _STATES:
            break
    return list(found.values())


def _seen(state: Frame, wanted: frozenset[Register]) -> object:
    """Return what a state is, but for the numbers of its blocks and the names of writings."""
    numbers: dict[int, int] = {}
    writings: dict[str, int] = {}
    described: list[object] = []

    def part(offset: int, length: int | None, writing: str) -> object:
        return offset, length, writings.setdefault(writing, len(writings))

    def value(held: Value) -> object:
        if isinstance(held, tuple):
            return tuple(map(value, held))
        if held is None:
            return None
        number = numbers.setdefault(held.block, len(numbers))
        if isinstance(held, Tensor):
            return number, part(held.part.offset, held.part.length, held.part.writing)
        return number

    kept = [(r, value(state.registers[r])) for r in sorted(wanted) if r in state.registers]
    known = 0
    while known < len(numbers):
        block = state.memory.blocks[list(numbers)[known]]
        known += 1
        parts = sorted(block.parts, key=lambda p: (p.offset, p.length or 0))
        facts = (block.holds, block.size, block.device, block.scope, block.ours, block.handed)
        inside = tuple(map(value, block.inside))
        children = tuple((key, value(child)) for key, child in block.children)
        seen = tuple(part(p.offset, p.length, p.writing) for p in parts)
        described.append((facts, block.shared, block.is_storage, inside, children, seen))
    lost = sum(b.holds for n, b in state.memory.blocks.items() if b.ours and n not in numbers)
    return tuple(kept), tuple(described), lost


def _assignments(function: FunctionCode) -> Iterator[Mapping[str, int]]:
    """Yield values of the function's symbols: the ends of their bounds, or a few small ones."""
    names = function.symbols
    tried: list[Mapping[str, int]] = []
    for i, size in enumerate(_SIZES):
        sizes: dict[str, int] = {}
        for place, name in enumerate(names):
            bound = function.bounds.get(name)
            lower = bound.lower if bound else 0
            upper = bound.upper if bound else None
            if upper is None:
                sizes[name] = lower + _SIZES[(i + place) % len(_SIZES)]
            else:
                sizes[name] = (lower, upper, min(lower + size, upper))[i]
        if sizes not in tried:
            tried.append(sizes)
    yield from tried


__all__ = ["MemoryFault", "Overwriting", "check_memory", "memory_problems"]
