"""Calls and closures: what is passed, and what comes back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, Union

from reference_vm.bytecode.checking.held import (
    Anything,
    Held,
    Made,
    fits,
    surely,
    word,
)
from reference_vm.bytecode.checking.sizes import bound_by, filled_type
from reference_vm.bytecode.checking.state import Problems, State
from reference_vm.bytecode.instructions import (
    Invoke,
    InvokeClosure,
    MakeClosure,
    Register,
    Return,
    TailInvoke,
    TailInvokeClosure,
    handed_over,
)
from reference_vm.types import FunctionType, Type

Call: TypeAlias = Union[Invoke, InvokeClosure, MakeClosure, TailInvoke, TailInvokeClosure]


def check(state: State, instruction: Call | Return) -> Problems:
    """Yield what is wrong with an instruction of this module's kinds."""
    if isinstance(instruction, Return):
        source = instruction.source
        return _returned(state, state.held[source], f"register {source} holds")
    return call(state, instruction)


def call(state: State, instruction: Call) -> Problems:
    """Check a call, or the making of a closure."""
    type_ = _callee(state, instruction)
    if type_ is None:
        yield state.wrong(handed_over(instruction)[0], "a closure")
        return
    result: Type | None = None
    if isinstance(type_, FunctionType):
        args = _arguments(instruction)
        wrong = list(_passed(state, args, type_.params))
        yield from wrong
        if wrong:
            return
        bound, _ = bound_by([state.held[a] for a in args], type_.params)
        result = filled_type(type_.result, bound)
    made = Anything() if result is None else state.of_type(result)
    if isinstance(instruction, TailInvoke | TailInvokeClosure):
        yield from _returned(state, made, "what is called returns")
    else:
        state.held[instruction.target] = made


def _callee(state: State, instruction: Call) -> FunctionType | Anything | None:
    """Return what is called, as a function of the arguments that it is given here.

    What is left of a function whose first arguments are captured is a result like any other.
    """
    if isinstance(instruction, InvokeClosure | TailInvokeClosure):
        held = state.held[instruction.closure]
        if isinstance(held, Made):
            return held.type if isinstance(held.type, FunctionType) else None
        return held if isinstance(held, Anything) else None
    callee = state.executable.functions[instruction.function]
    params = tuple(p.type for p in callee.params)
    if not isinstance(instruction, MakeClosure):
        return FunctionType(params, callee.result)
    given = len(instruction.captured)
    return FunctionType(params[:given], FunctionType(params[given:], callee.result))


def _arguments(instruction: Call) -> tuple[Register, ...]:
    return instruction.captured if isinstance(instruction, MakeClosure) else instruction.args


def _passed(state: State, args: Sequence[Register], types: Sequence[Type]) -> Problems:
    """Yield a problem for each argument that is not of its parameter's type."""
    if len(args) != len(types):
        yield f"{len(args)} values are passed, but {len(types)} are taken"
        return
    for register, type_ in zip(args, types, strict=True):
        if not fits(state.held[register], type_):
            yield state.wrong(register, str(type_))
            return
    held = [state.held[a] for a in args]
    bound, fit = bound_by(held, types)
    others = [(h, t) for h, t in zip(held, types, strict=True) if isinstance(h, Made | Anything)]
    state.doubts += not (fit and all(surely(h, filled_type(t, bound)) for h, t in others))


def _returned(state: State, held: Held, what: str) -> Problems:
    expected = state.function.result
    if not fits(held, expected):
        yield f"{what} {word(held)}, expected {expected}"
    elif not surely(held, expected):
        state.doubts += 1
