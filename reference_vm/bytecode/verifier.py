"""Is a compiled program well formed?

Every index lies in its table, jumps go forward, no register is read that may be empty, and every
path ends in a return. `problems` says so; `judge`, of bytecode that may come from anywhere,
also says whether every instruction gets values that it can work with (`checking`), and counts what
only a run can tell, of memory too (`memory_check`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import final

from reference_vm.bytecode.checking.panels import panel_problems
from reference_vm.bytecode.checking.state import Signature, State
from reference_vm.bytecode.checking.tables import table_problems
from reference_vm.bytecode.checking.walk import value_problems
from reference_vm.bytecode.executable import Executable, FunctionCode
from reference_vm.bytecode.instructions import (
    AllocStorage,
    BranchTag,
    Copy,
    GetField,
    HostOp,
    Instruction,
    Invoke,
    Jump,
    Kill,
    Launch,
    LoadConstant,
    MakeClosure,
    MakeData,
    Register,
    TailInvoke,
    TakeStorage,
    View,
    jump_of,
    leaves_frame,
    reads,
    writes,
)
from reference_vm.bytecode.memory_check import proves_memory


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


@final
@dataclass
class Verdict:
    """What was found of bytecode that may come from anywhere."""

    problems: list[str] = field(default_factory=list)
    """One line for each thing that is wrong, of tables, of instructions, or of values."""

    doubts: int = 0
    """How often only a run can tell that a tensor has the dims that the bytecode says, lies inside
    its storage, or is still there. A run of such bytecode must look (`Program.proven`)."""


def judge(executable: Executable, signatures: Sequence[Signature]) -> Verdict:
    """Return what is wrong with an executable whose kernels have these signatures."""
    verdict = Verdict([*problems(executable), *table_problems(executable, signatures)])
    if verdict.problems:
        return verdict
    verdict.problems.extend(panel_problems(executable, signatures))
    for function in executable.functions:
        state = State(executable, function, signatures)
        verdict.problems.extend(f"@{function.name}: {text}" for text in value_problems(state))
        verdict.doubts += state.doubts
    if not verdict.problems and not proves_memory(executable):
        verdict.doubts += 1
    return verdict


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
        case Copy(device=device) | AllocStorage(device=device) | TakeStorage(device=device):
            yield from _outside("device", device, len(executable.devices))
        case LoadConstant(constant=constant):
            yield from _outside("constant", constant, len(executable.constants))
        case Invoke() | TailInvoke() | MakeClosure():
            yield from _call_problems(executable, instruction)
        case MakeData() | BranchTag() | GetField():
            yield from _data_problems(executable, instruction)
        case _:
            pass


def _call_problems(
    executable: Executable, call: Invoke | TailInvoke | MakeClosure
) -> Iterator[str]:
    yield from _outside("function", call.function, len(executable.functions))
    if not 0 <= call.function < len(executable.functions):
        return
    callee = executable.functions[call.function]
    most = len(callee.params)
    if callee.lent:
        yield f"@{callee.name} is called, but its parameters are lent to it from outside"
    if isinstance(call, MakeClosure):
        if len(call.captured) > most:
            yield f"@{callee.name} takes {most} arguments, but {len(call.captured)} are captured"
    elif len(call.args) != most:
        yield f"@{callee.name} takes {most} arguments, not {len(call.args)}"


def _data_problems(
    executable: Executable, instruction: MakeData | BranchTag | GetField
) -> Iterator[str]:
    yield from _outside("data type", instruction.data_type, len(executable.data_types))
    if not 0 <= instruction.data_type < len(executable.data_types):
        return
    constructors = executable.data_types[instruction.data_type].constructors
    yield from _outside("constructor", instruction.tag, len(constructors))
    if not 0 <= instruction.tag < len(constructors):
        return
    constructor = constructors[instruction.tag]
    if isinstance(instruction, GetField):
        yield from _outside("field", instruction.index, len(constructor.fields))
    elif isinstance(instruction, MakeData):
        found, expected = len(instruction.fields), len(constructor.fields)
        if found != expected:
            yield f"{constructor.name} takes {expected} fields, not {found}"


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
        to = jump_of(instruction)
        if to is not None:
            yield from self._jump(at, to, set(full))
        if isinstance(instruction, Jump) or leaves_frame(instruction):
            self.full = None

    def _jump(self, at: int, to: int, full: set[Register]) -> Iterator[str]:
        if to <= at:
            yield f"{at}: jumps back to {to}"
        elif to >= len(self.function.instructions):
            yield f"{at}: a path does not end in a return"
        else:
            self.waiting[to] = self.waiting[to] & full if to in self.waiting else full
