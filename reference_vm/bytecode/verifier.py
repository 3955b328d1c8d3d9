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
    """Which registers certainly hold something, before each instruction."""

    function: FunctionCode
    full: dict[int, frozenset[Register]] = field(default_factory=dict)

    def problems(self) -> Iterator[str]:
        self.full[0] = frozenset(range(len(self.function.params)))
        for at, instruction in enumerate(self.function.instructions):
            if at not in self.full:
                continue  # no path leads here
            yield from self._check(at, instruction)
            yield from self._flow(at, instruction)

    def _check(self, at: int, instruction: Instruction) -> Iterator[str]:
        touched = [*reads(instruction), *writes(instruction)]
        if isinstance(instruction, Kill):
            touched.extend(instruction.registers)
        for register in touched:
            if not 0 <= register < self.function.registers:
                yield f"{at}: there is no register {register}"
        for register in reads(instruction):
            if register not in self.full[at]:
                yield f"{at}: register {register} is read, but may be empty"

    def _flow(self, at: int, instruction: Instruction) -> Iterator[str]:
        after = self.full[at] | frozenset(writes(instruction))
        if isinstance(instruction, Return):
            return
        following = []
        if not isinstance(instruction, Jump):
            following.append(at + 1)
        if isinstance(instruction, Jump):
            following.append(instruction.to)
        if isinstance(instruction, Branch):
            following.append(instruction.orelse)
        for to in following:
            if to <= at:
                yield f"{at}: jumps back to {to}"
            elif to >= len(self.function.instructions):
                yield f"{at}: a path does not end in a return"
            else:
                self.full[to] = self.full[to] & after if to in self.full else after
