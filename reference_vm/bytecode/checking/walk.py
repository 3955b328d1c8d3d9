"""The walk over one function."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias, final

from reference_vm.bytecode import instructions as bc
from reference_vm.bytecode.checking import calls, data, views, work
from reference_vm.bytecode.checking.held import Anything, Held, HostData, joined
from reference_vm.bytecode.checking.state import Problems, State

Registers: TypeAlias = dict[bc.Register, Held]


def value_problems(state: State) -> Problems:
    """Yield what is wrong with the first instruction of a function that is wrong.

    The indices of the executable all lie in their tables, and jumps go forward. What only a run can
    tell is counted in the state.
    """
    yield from _Walk(state).problems()


@final
@dataclass
class _Walk:
    state: State
    waiting: dict[int, Registers] = field(default_factory=dict)
    """What is known on all the jumps so far to an instruction further on."""

    reached: bool = True

    def problems(self) -> Problems:
        self._enter()
        for at, instruction in enumerate(self.state.function.instructions):
            self._arrive(at)
            if not self.reached:
                continue
            found = list(self._empty(instruction)) or list(_check(self.state, instruction))
            yield from (f"{at}: {text}" for text in found)
            if found:  # what follows may be wrong for that reason alone
                return
            self._leave(instruction)

    def _enter(self) -> None:
        for register, parameter in enumerate(self.state.function.params):
            self.state.held[register] = self.state.of_type(parameter.type)

    def _arrive(self, at: int) -> None:
        waiting = self.waiting.pop(at, None)
        if waiting is not None:
            self.state.held = _joined(self.state.held, waiting) if self.reached else waiting
            self.reached = True

    def _leave(self, instruction: bc.Instruction) -> None:
        to = bc.jump_of(instruction)
        if to is not None:
            other = self.waiting.get(to)
            held = self.state.held
            self.waiting[to] = dict(held) if other is None else _joined(held, other)
        if isinstance(instruction, bc.Jump) or bc.leaves_frame(instruction):
            self.reached = False

    def _empty(self, instruction: bc.Instruction) -> Problems:
        for register in dict.fromkeys(bc.reads(instruction)):
            if register not in self.state.held:
                yield f"register {register} is read, but may be empty"


def _joined(one: Registers, other: Registers) -> Registers:
    """Return what is known where two ways meet."""
    both = {r: joined(one[r], other[r]) for r in one.keys() & other.keys()}
    return {register: held for register, held in both.items() if held is not None}


def _check(state: State, instruction: bc.Instruction) -> Problems:
    match instruction:
        case bc.Launch():
            return work.launch(state, instruction)
        case bc.HostOp():
            return work.host_op(state, instruction)
        case bc.Copy():
            return work.copy(state, instruction)
        case bc.AllocStorage() | bc.TakeStorage():
            return work.alloc_storage(state, instruction)
        case bc.ReadHost():
            return views.read_host(state, instruction)
        case bc.View():
            return views.view(state, instruction)
        case bc.MatchCast():
            return views.match_cast(state, instruction)
        case bc.LoadConstant() | bc.MakeShape() | bc.MakeTuple() | bc.Project() | bc.Move():
            return views.regroup(state, instruction)
        case bc.Share() | bc.Kill() | bc.Poison() | bc.Branch() | bc.Jump() | bc.Fail():
            return _plain(state, instruction)
        case bc.MakeData() | bc.BranchTag() | bc.GetField():
            return data.check(state, instruction)
        case _:
            return calls.check(state, instruction)


def _plain(
    state: State,
    instruction: bc.Share | bc.Kill | bc.Poison | bc.Branch | bc.Jump | bc.Fail,
) -> Problems:
    if isinstance(instruction, bc.Kill):
        for register in instruction.registers:
            state.held.pop(register, None)
    if not isinstance(instruction, bc.Branch):
        return
    if not isinstance(state.held[instruction.condition], HostData | Anything):
        yield state.wrong(instruction.condition, "data that was read on the host")
