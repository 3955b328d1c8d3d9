"""Is a compiled program well formed?

Every index lies in its table, jumps go forward, no register is read that may be empty, and every
path ends in a return.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from reference_vm.bytecode.executable import Executable, FunctionCode
from reference_vm.bytecode.instructions import (
    AllocStorage,
    Branch,
    Copy,
    HostOp,
    Instruction,
    Invoke,
    Jump,
    Kill,
    Launch,
    LoadConstant,
    Register,
    Return,
    View,
    reads,
    writes,
)


class BytecodeError(Exception):
    """A compiled program is not well formed: a fault of the compiler, not of the program."""


def problems(executable: Executable) -> Iterator[str]:
    """Yield one line for each thing that is wrong."""
    for index, slot in enumerate(executable.constants):
        if not 0 <= slot.device < len(executable.devices):
            yield f"constant {index}: device {slot.device} is not in the table"
    for function in executable.functions:
        for text in _function_problems(executable, function):
            yield f"@{function.name}: {text}"


def verify(executable: Executable) -> None:
    """Raise `BytecodeError` with all that is wrong, unless nothing is."""
    found = list(problems(executable))
    if found:
        raise BytecodeError("\n".join(found))


def _function_problems(executable: Executable, function: FunctionCode) -> Iterator[str]:
    if not function.instructions:
        yield "has no instructions"
        return
    yield from _Registers(function).problems()
    for at, instruction in enumerate(function.instructions):
        for text in _index_problems(executable, instruction):
            yield f"{at}: {text}"


def _index_problems(executable: Executable, instruction: Instruction) -> Iterator[str]:
    match instruction:
        case Launch(kernel=kernel, device=device):
            yield from _outside("kernel", kernel, len(executable.kernels))
            yield from _outside("device", device, len(executable.devices))
        case HostOp(kernel=kernel):
            yield from _outside("kernel", kernel, len(executable.kernels))
        case View(kernel=shape) if shape is not None:
            yield from _outside("kernel", shape, len(executable.kernels))
        case Copy(device=device) | AllocStorage(device=device):
            yield from _outside("device", device, len(executable.devices))
        case LoadConstant(constant=constant):
            yield from _outside("constant", constant, len(executable.constants))
        case Invoke(function=function, args=args):
            yield from _outside("function", function, len(executable.functions))
            if 0 <= function < len(executable.functions):
                callee = executable.functions[function]
                if len(args) != len(callee.params):
                    yield f"@{callee.name} takes {len(callee.params)} arguments, not {len(args)}"
        case _:
            pass


def _outside(what: str, index: int, size: int) -> Iterator[str]:
    if not 0 <= index < size:
        yield f"{what} {index} is not in the table of {size}"


@dataclass
class _Registers:
    """Walks a function once, knowing which registers certainly hold something."""

    function: FunctionCode
    waiting: dict[int, set[Register]] = field(default_factory=dict)
    """What holds something on all the jumps so far to an instruction further on."""

    full: set[Register] | None = None
    """What holds something here; ``None`` where no path leads."""

    def problems(self) -> Iterator[str]:
        self.full = set(range(len(self.function.params)))
        for at, instruction in enumerate(self.function.instructions):
            self._arrive(at)
            if self.full is not None:
                yield from self._check(at, instruction, self.full)
                self.full.update(writes(instruction))
                yield from self._leave(at, instruction, self.full)
        if self.full is not None:
            yield f"{len(self.function.instructions) - 1}: a path does not end in a return"

    def _arrive(self, at: int) -> None:
        jumped = self.waiting.pop(at, None)
        if jumped is not None:
            self.full = jumped if self.full is None else self.full & jumped

    def _check(self, at: int, instruction: Instruction, full: set[Register]) -> Iterator[str]:
        touched = [*reads(instruction), *writes(instruction)]
        if isinstance(instruction, Kill):
            touched.extend(instruction.registers)
        for register in touched:
            if not 0 <= register < self.function.registers:
                yield f"{at}: there is no register {register}"
        for register in reads(instruction):
            if register not in full:
                yield f"{at}: register {register} is read, but may be empty"

    def _leave(self, at: int, instruction: Instruction, full: set[Register]) -> Iterator[str]:
        if isinstance(instruction, Return):
            self.full = None
        elif isinstance(instruction, Jump):
            self.full = None
            yield from self._jump(at, instruction.to, full)
        elif isinstance(instruction, Branch):
            yield from self._jump(at, instruction.orelse, set(full))

    def _jump(self, at: int, to: int, full: set[Register]) -> Iterator[str]:
        if to <= at:
            yield f"{at}: jumps back to {to}"
        elif to >= len(self.function.instructions):
            yield f"{at}: a path does not end in a return"
        else:
            self.waiting[to] = self.waiting[to] & full if to in self.waiting else full
