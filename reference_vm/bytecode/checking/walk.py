"""The walk over one function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, final

from reference_vm.bytecode import instructions as bc
from reference_vm.bytecode.checking import calls, views, work
from reference_vm.bytecode.checking.held import Anything, Held, HostData, joined, memory_of
from reference_vm.bytecode.checking.lives import Lives
from reference_vm.bytecode.checking.state import Problems, Signature, State
from reference_vm.bytecode.executable import Executable, FunctionCode

Registers: TypeAlias = dict[bc.Register, Held]


def value_problems(
    executable: Executable, function: FunctionCode, signatures: Sequence[Signature] | None
) -> Problems:
    """Yield what is wrong with the first instruction of ``function`` that is wrong.

    Args:
        executable: A program whose indices all lie in their tables.
        function: One of its functions; its jumps go forward.
        signatures: Those of the kernels, if their primitive functions are at hand.
    """
    yield from _Walk(State(executable, function, signatures)).problems()


@final
@dataclass
class _Walk:
    state: State
    waiting: dict[int, tuple[Registers, Lives]] = field(default_factory=dict)
    """What is known on all the jumps so far to an instruction further on."""

    reached: bool = True

    def problems(self) -> Problems:
        self._enter()
        for at, instruction in enumerate(self.state.function.instructions):
            self._arrive(at)
            if not self.reached:
                continue
            found = list(self._unreadable(instruction)) or list(_check(self.state, instruction))
            yield from (f"{at}: {text}" for text in found)
            if found:  # what follows may be wrong for that reason alone
                return
            self._leave(instruction)

    def _enter(self) -> None:
        state = self.state
        for register, parameter in enumerate(state.function.params):
            memory = state.fresh()
            state.held[register] = state.of_type(parameter.type, memory)
            if state.function.lent and not parameter.donated:
                state.lives.lend(*memory)

    def _arrive(self, at: int) -> None:
        waiting = self.waiting.pop(at, None)
        if waiting is None:
            return
        if self.reached:
            waiting = _joined((self.state.held, self.state.lives), waiting)
        self.state.held, self.state.lives = waiting
        self.reached = True

    def _leave(self, instruction: bc.Instruction) -> None:
        to = bc.jump_of(instruction)
        if to is not None:
            going = dict(self.state.held), self.state.lives.copy()
            other = self.waiting.get(to)
            self.waiting[to] = going if other is None else _joined(going, other)
        if isinstance(instruction, bc.Jump) or bc.leaves_frame(instruction):
            self.reached = False

    def _unreadable(self, instruction: bc.Instruction) -> Problems:
        for register in dict.fromkeys(bc.reads(instruction)):
            held = self.state.held.get(register)
            if held is None:
                yield f"register {register} is read, but may be empty"
            elif self.state.lives.is_over(memory_of(held)):
                yield f"register {register} is read, but its memory was given back"


def _joined(
    one: tuple[Registers, Lives], other: tuple[Registers, Lives]
) -> tuple[Registers, Lives]:
    """Return what is known where two ways meet."""
    registers: Registers = {}
    for register in one[0].keys() & other[0].keys():
        held = joined(one[0][register], other[0][register])
        if held is not None:
            registers[register] = held
    return registers, one[1].joined(other[1])


def _check(state: State, instruction: bc.Instruction) -> Problems:
    match instruction:
        case bc.Launch():
            return work.launch(state, instruction)
        case bc.HostOp():
            return work.host_op(state, instruction)
        case bc.Copy():
            return work.copy(state, instruction)
        case bc.AllocStorage():
            return work.alloc_storage(state, instruction)
        case bc.ReadHost():
            return views.read_host(state, instruction)
        case bc.View():
            return views.view(state, instruction)
        case bc.MatchCast():
            return views.match_cast(state, instruction)
        case bc.LoadConstant() | bc.MakeShape() | bc.MakeTuple() | bc.Project() | bc.Move():
            return views.regroup(state, instruction)
        case bc.Share() | bc.Kill() | bc.Branch() | bc.Jump() | bc.Fail():
            return _plain(state, instruction)
        case _:
            return calls.check(state, instruction)


def _plain(
    state: State, instruction: bc.Share | bc.Kill | bc.Branch | bc.Jump | bc.Fail
) -> Problems:
    match instruction:
        case bc.Share(registers=registers):
            for register in registers:
                state.lives.share(memory_of(state.held[register]))
        case bc.Kill(registers=registers):
            for register in registers:
                held = state.held.pop(register, None)
                if held is not None and memory_of(held) & state.lives.lent:
                    yield f"register {register} is killed, but was lent to the function"
                if held is not None:
                    state.lives.release(memory_of(held))
        case bc.Branch(condition=condition):
            if not isinstance(state.held[condition], HostData | Anything):
                yield state.wrong(condition, "data that was read on the host")
        case _:
            pass
