"""Values of data types: their fields are of the types that the constructor says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reference_vm.bytecode.checking.held import (
    Anything,
    Held,
    Items,
    Made,
    agree,
    joined_types,
    surely,
    type_of,
)
from reference_vm.bytecode.checking.state import Problems, State
from reference_vm.bytecode.executable import DataTypeSlot
from reference_vm.bytecode.instructions import BranchTag, GetField, MakeData
from reference_vm.types import AdtType, FunctionType, TupleType, Type


def check(state: State, instruction: MakeData | BranchTag | GetField) -> Problems:
    """Yield what is wrong with an instruction of this module's kinds."""
    if isinstance(instruction, MakeData):
        return make(state, instruction)
    return look(state, instruction)


def make(state: State, instruction: MakeData) -> Problems:
    data_type = state.executable.data_types[instruction.data_type]
    constructor = data_type.constructors[instruction.tag]
    bound: dict[str, Type] = {}
    for register, type_ in zip(instruction.fields, constructor.fields, strict=True):
        if not _unify(type_, state.held[register], bound, data_type):
            yield state.wrong(register, f"{type_}, a field of {constructor.name}")
            return
    for register, type_ in zip(instruction.fields, constructor.fields, strict=True):
        filled = _filled(type_, bound, data_type.params)
        state.doubts += filled is None or not surely(state.held[register], filled)
    args = [bound[p] for p in data_type.params if p in bound]
    known = tuple(args) if len(args) == len(data_type.params) else ()
    state.held[instruction.target] = Made(AdtType(data_type.name, known))


def look(state: State, instruction: BranchTag | GetField) -> Problems:
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
        state.held[instruction.target] = _field(state, type_, known, data_type.params)


def _unify(type_: Type, held: Held, bound: dict[str, Type], data_type: DataTypeSlot) -> bool:
    """Whether a value may be a field of this type; notes what the type's parameters are then."""
    found = type_of(held)
    if isinstance(held, Anything) or (isinstance(held, Items) and found is None):
        return True
    return found is not None and _unify_types(type_, found, bound, data_type)


def _unify_types(type_: Type, found: Type, bound: dict[str, Type], data_type: DataTypeSlot) -> bool:
    match type_, found:
        case AdtType(name=name, args=()), _ if name in data_type.params:
            before = bound.get(name, found)
            bound[name] = joined_types(before, found) if agree(before, found) else found
            return agree(before, found)
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


def _field(state: State, type_: Type, known: Mapping[str, Type], params: Sequence[str]) -> Held:
    """Return a field of this type, as far as the parameters of its data type are known."""
    filled = _filled(type_, known, params)
    return Anything() if filled is None else state.of_type(filled)


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
