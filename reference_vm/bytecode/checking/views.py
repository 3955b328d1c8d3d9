"""Instructions that give values other names, forms or groups, and make no memory."""

from __future__ import annotations

from typing import TypeAlias, Union

from reference_vm.bytecode.checking.held import Anything, Dims, HostData, Items, Tensor
from reference_vm.bytecode.checking.state import HOST, Problems, State
from reference_vm.bytecode.checking.work import arguments
from reference_vm.bytecode.instructions import (
    LoadConstant,
    MakeShape,
    MakeTuple,
    MatchCast,
    Move,
    Project,
    ReadHost,
    View,
)
from reference_vm.types import ShapeType, TensorType, Unknown

Regrouping: TypeAlias = Union[LoadConstant, MakeShape, MakeTuple, Move, Project]


def read_host(state: State, instruction: ReadHost) -> Problems:
    source = state.held[instruction.source]
    if isinstance(source, Anything):
        state.doubts += 1
        state.held[instruction.target] = source
        return
    if not isinstance(source, Tensor):
        yield state.wrong(instruction.source, "a tensor")
        return
    if source.device not in (None, HOST):
        yield f"register {instruction.source} is read on the host, but lies elsewhere"
    state.held[instruction.target] = HostData(source.dtype, source.shape)


def view(state: State, instruction: View) -> Problems:
    source, target = state.held[instruction.source], instruction.target
    if isinstance(source, Anything):
        state.doubts += 1
        source = Tensor(target.dtype, None, None)
    if not isinstance(source, Tensor) or source.dtype != target.dtype:
        yield state.wrong(instruction.source, f"a tensor of {target.dtype}")
        return
    yield from state.unknown(target.shape)
    if target.storage is not None:
        yield "a view has the memory of what it shows, not a storage"
    if instruction.kernel is None and not target.is_sized:
        yield "a view has neither a shape nor a kernel that computes it"
    if instruction.kernel is not None:
        signature = state.signatures[instruction.kernel]
        yield from arguments(state, (instruction.source, *instruction.args), signature)
    seen = Tensor(target.dtype, target.shape, source.device)
    state.held[target.register] = seen


def match_cast(state: State, instruction: MatchCast) -> Problems:
    source, type_ = state.held[instruction.source], instruction.type
    shape = type_.shape if isinstance(type_, TensorType) else type_.dims
    for axis, symbol in instruction.binds:
        if shape is None or not 0 <= axis < len(shape):
            yield f"there is no axis {axis} in {type_}"
        if symbol not in state.known:
            yield f"{symbol} is no symbol of the function"
    yield from state.unknown(shape)
    match source, type_:
        case Tensor(dtype=dtype), TensorType() if dtype == type_.dtype:
            state.held[instruction.target] = Tensor(dtype, shape, source.device)
        case Dims(), ShapeType():
            state.held[instruction.target] = Dims(shape)
        case Anything(), _:
            state.held[instruction.target] = source
        case _:
            yield state.wrong(instruction.source, str(type_))


def regroup(state: State, instruction: Regrouping) -> Problems:
    match instruction:
        case LoadConstant(target=target, constant=constant):
            slot = state.executable.constants[constant]
            state.held[target] = Tensor(slot.dtype, slot.shape, slot.device)
        case MakeShape(target=target, dims=dims):
            yield from state.unknown(dims)
            if any(isinstance(d, Unknown) for d in dims):
                yield "a shape value has a dim that is not known"
            state.held[target] = Dims(dims)
        case MakeTuple(target=target, items=items):
            state.held[target] = Items(tuple(state.held[i] for i in items))
        case Move(target=target, source=source):
            state.held[target] = state.held[source]
        case Project(target=target, source=source, index=index):
            held = state.held[source]
            if isinstance(held, Items) and 0 <= index < len(held.items):
                state.held[target] = held.items[index]
            elif isinstance(held, Anything):
                state.held[target] = held
            else:
                yield state.wrong(source, f"a tuple with an item {index}")
