"""Calls, closures, and values of data types: what is passed, and what is handed over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, Union

from reference_vm.bytecode.checking.held import (
    Anything,
    Held,
    Items,
    Made,
    Memory,
    agree,
    memory_of,
    type_of,
)
from reference_vm.bytecode.checking.state import Problems, State
from reference_vm.bytecode.executable import DataTypeSlot
from reference_vm.bytecode.instructions import (
    BranchTag,
    GetField,
    Invoke,
    InvokeClosure,
    MakeClosure,
    MakeData,
    Return,
    TailInvoke,
    TailInvokeClosure,
    handed_over,
)
from reference_vm.types import AdtType, FunctionType, TupleType, Type

Call: TypeAlias = Union[Invoke, InvokeClosure, MakeClosure, TailInvoke, TailInvokeClosure]


def check(state: State, instruction: Call | MakeData | BranchTag | GetField | Return) -> Problems:
    """Yield what is wrong with an instruction of this module's kinds."""
    match instruction:
        case MakeData():
            return make_data(state, instruction)
        case BranchTag() | GetField():
            return data(state, instruction)
        case Return(source=source):
            return state.passed((source,), (state.function.result,))
        case _:
            return call(state, instruction)


def call(state: State, instruction: Call) -> Problems:
    """Check a call, or the making of a closure; what is handed over is the frame's no more."""
    match instruction:
        case (
            InvokeClosure(closure=closure, args=args)
            | TailInvokeClosure(closure=closure, args=args)
        ):
            held = state.held[closure]
            if isinstance(held, Made) and isinstance(held.type, FunctionType):
                params, result = held.type.params, held.type.result
            elif isinstance(held, Anything):
                params, result = None, None
            else:
                yield state.wrong(closure, "a closure")
                return
        case MakeClosure(function=index, captured=args):
            callee = state.executable.functions[index]
            types = tuple(p.type for p in callee.params)
            params = types[: len(args)]
            result = FunctionType(types[len(args) :], callee.result)
        case _:
            callee = state.executable.functions[instruction.function]
            args, params = instruction.args, tuple(p.type for p in callee.params)
            result = callee.result
    if params is not None:
        yield from state.passed(args, params)
    _hand_over(state, instruction)
    if isinstance(instruction, TailInvoke | TailInvokeClosure):
        if result is not None and not agree(result, state.function.result):
            yield f"what is called returns {result}, expected {state.function.result}"
        return
    memory = state.fresh()
    made = Anything(memory) if result is None else state.of_type(result, memory)
    state.held[instruction.target] = made


def make_data(state: State, instruction: MakeData) -> Problems:
    data_type = state.executable.data_types[instruction.data_type]
    constructor = data_type.constructors[instruction.tag]
    bound: dict[str, Type] = {}
    for register, type_ in zip(instruction.fields, constructor.fields, strict=True):
        if not _unify(type_, state.held[register], bound, data_type):
            yield state.wrong(register, f"{type_}, a field of {constructor.name}")
    args = [bound[p] for p in data_type.params if p in bound]
    known = tuple(args) if len(args) == len(data_type.params) else ()
    _hand_over(state, instruction)
    state.held[instruction.target] = Made(AdtType(data_type.name, known), state.fresh())


def data(state: State, instruction: BranchTag | GetField) -> Problems:
    data_type = state.executable.data_types[instruction.data_type]
    source = state.held[instruction.source]
    args: Sequence[Type] = ()
    if isinstance(source, Made) and isinstance(source.type, AdtType):
        if source.type.name != data_type.name:
            yield state.wrong(instruction.source, data_type.name)
        args = source.type.args
    elif not isinstance(source, Anything):
        yield state.wrong(instruction.source, data_type.name)
        return
    if isinstance(instruction, GetField):
        type_ = data_type.constructors[instruction.tag].fields[instruction.index]
        known = dict(zip(data_type.params, args, strict=False))
        memory = memory_of(source)
        state.held[instruction.target] = _field(state, type_, known, data_type.params, memory)


def _hand_over(state: State, instruction: Call | MakeData) -> None:
    for register in handed_over(instruction):
        state.lives.release(memory_of(state.held[register]))


def _unify(type_: Type, held: Held, bound: dict[str, Type], data_type: DataTypeSlot) -> bool:
    """Whether a value may be a field of this type; notes what the type's parameters are then."""
    found = type_of(held)
    if isinstance(held, Anything) or (isinstance(held, Items) and found is None):
        return True
    return found is not None and _unify_types(type_, found, bound, data_type)


def _unify_types(type_: Type, found: Type, bound: dict[str, Type], data_type: DataTypeSlot) -> bool:
    match type_, found:
        case AdtType(name=name, args=()), _ if name in data_type.params:
            return agree(bound.setdefault(name, found), found)
        case AdtType(), AdtType(args=given) if type_.name == found.name:
            pairs = list(zip(type_.args, given, strict=False))
        case TupleType(), TupleType() if len(type_.items) == len(found.items):
            pairs = list(zip(type_.items, found.items, strict=True))
        case FunctionType(), FunctionType() if len(type_.params) == len(found.params):
            left, right = (*type_.params, type_.result), (*found.params, found.result)
            pairs = list(zip(left, right, strict=True))
        case _:
            return agree(type_, found)
    return all(_unify_types(t, f, bound, data_type) for t, f in pairs)


def _field(
    state: State, type_: Type, known: Mapping[str, Type], params: Sequence[str], memory: Memory
) -> Held:
    """Return a field of this type, as far as the parameters of its data type are known."""
    filled = _filled(type_, known, params)
    return Anything(memory) if filled is None else state.of_type(filled, memory)


def _filled(type_: Type, known: Mapping[str, Type], params: Sequence[str]) -> Type | None:
    """Return a type without parameters; ``None`` if one of them is not known."""
    match type_:
        case AdtType(name=name, args=()) if name in params:
            return known.get(name)
        case AdtType(name=name, args=args):
            filled = _all_filled(args, known, params)
            return None if filled is None else AdtType(name, filled)
        case TupleType(items=items):
            filled = _all_filled(items, known, params)
            return None if filled is None else TupleType(filled)
        case FunctionType(params=inner, result=result):
            filled = _all_filled((*inner, result), known, params)
            return None if filled is None else FunctionType(filled[:-1], filled[-1])
        case _:
            return type_


def _all_filled(
    types: Sequence[Type], known: Mapping[str, Type], params: Sequence[str]
) -> tuple[Type, ...] | None:
    filled = [_filled(t, known, params) for t in types]
    return None if None in filled else tuple(t for t in filled if t is not None)
