"""What a register holds, as far as is known before a run.

A value is known by its type, a tensor also by its device. Dims that only a run tells are unknown,
and so may a whole type be (a field whose type is a parameter of its data type). Two things *may
agree* unless they certainly differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, Union, final

from reference_vm.types import (
    AdtType,
    Dim,
    DType,
    FunctionType,
    Shape,
    ShapeType,
    TensorType,
    TupleType,
    Type,
    Unknown,
)
from reference_vm.types.types import join_shapes


@final
@dataclass(frozen=True, slots=True)
class Tensor:
    dtype: DType
    shape: Shape | None
    device: int | None
    """By index; ``None`` if only the run tells."""


@final
@dataclass(frozen=True, slots=True)
class Storage:
    device: int
    size: Dim


@final
@dataclass(frozen=True, slots=True)
class HostData:
    """A NumPy array, read to decide a shape or a branch."""

    dtype: DType
    shape: Shape | None


@final
@dataclass(frozen=True, slots=True)
class Dims:
    """A tuple of ints."""

    dims: Shape | None


@final
@dataclass(frozen=True, slots=True)
class Items:
    """A tuple."""

    items: tuple[Held, ...]


@final
@dataclass(frozen=True, slots=True)
class Made:
    """A value of a data type, or a closure."""

    type: AdtType | FunctionType


@final
@dataclass(frozen=True, slots=True)
class Anything:
    """A value whose type is a parameter of a data type."""


Held: TypeAlias = Union[Tensor, Storage, HostData, Dims, Items, Made, Anything]


def word(held: Held) -> str:
    """Return what a message calls a value."""
    match held:
        case Tensor(dtype=dtype, shape=shape):
            return str(TensorType(dtype, shape))
        case HostData(dtype=dtype, shape=shape):
            return f"{TensorType(dtype, shape)} read on the host"
        case Dims(dims=dims):
            return str(ShapeType(dims))
        case Items(items=items):
            return f"a tuple of {len(items)}"
        case Made(type=type_):
            return str(type_)
        case Storage():
            return "a storage"
        case Anything():
            return "a value of any type"


def of_type(type_: Type, device: int | None) -> Held:
    """Return a value of this type, all of whose tensors are on one device."""
    match type_:
        case TensorType(dtype=dtype, shape=shape):
            return Tensor(dtype, shape, device)
        case ShapeType(dims=dims):
            return Dims(dims)
        case TupleType(items=items):
            return Items(tuple(of_type(item, device) for item in items))
        case FunctionType() | AdtType():
            return Made(type_)


def type_of(held: Held) -> Type | None:
    """Return the type of a value; ``None`` if it is not known, or no value of the language."""
    match held:
        case Tensor(dtype=dtype, shape=shape):
            return TensorType(dtype, shape)
        case Dims(dims=dims):
            return ShapeType(dims)
        case Items(items=items):
            types = [type_of(i) for i in items]
            return None if None in types else TupleType(tuple(t for t in types if t is not None))
        case Made(type=type_):
            return type_
        case _:
            return None


def fits(held: Held, type_: Type) -> bool:
    """Whether a value may be one of this type."""
    if isinstance(held, Anything):
        return True
    if isinstance(held, Items) and isinstance(type_, TupleType):
        return len(held.items) == len(type_.items) and all(map(fits, held.items, type_.items))
    found = type_of(held)
    return found is not None and agree(found, type_)


def surely(held: Held, type_: Type) -> bool:
    """Whether a value that fits a type is certainly of it, each known dim included."""
    match held, type_:
        case Tensor(), TensorType():
            return _surely(held.shape, type_.shape)
        case Dims(), ShapeType():
            return _surely(held.dims, type_.dims)
        case Items(), TupleType():
            return all(map(surely, held.items, type_.items))
        case Made(), _:
            return joined_types(held.type, type_) == type_
        case _:
            return False


def _surely(found: Shape | None, asked: Shape | None) -> bool:
    if asked is None:
        return True
    return (
        found is not None
        and len(found) == len(asked)
        and all(isinstance(a, Unknown) or a == f for f, a in zip(found, asked, strict=True))
    )


def agree(left: Type, right: Type) -> bool:
    """Whether a value may be of both types."""
    match left, right:
        case TensorType(), TensorType():
            return left.dtype == right.dtype and shapes_agree(left.shape, right.shape)
        case ShapeType(), ShapeType():
            return shapes_agree(left.dims, right.dims)
        case TupleType(), TupleType():
            return _all_agree(left.items, right.items)
        case FunctionType(), FunctionType():
            return _all_agree((*left.params, left.result), (*right.params, right.result))
        case AdtType(), AdtType():
            unknown = not left.args or not right.args
            return left.name == right.name and (unknown or _all_agree(left.args, right.args))
        case _:
            return False


def _all_agree(left: Sequence[Type], right: Sequence[Type]) -> bool:
    return len(left) == len(right) and all(map(agree, left, right))


def shapes_agree(left: Shape | None, right: Shape | None) -> bool:
    """Whether two shapes may be one: of one rank, with the same numbers where both are known."""
    if left is None or right is None:
        return True
    return len(left) == len(right) and all(
        a == b
        for a, b in zip(left, right, strict=True)
        if isinstance(a, int) and isinstance(b, int)
    )


def joined(left: Held, right: Held) -> Held | None:
    """Return what is known of a value that is one of two; ``None`` if they have nothing in common.

    What is known of neither more than the other is kept.
    """
    if left == right:
        return left
    match left, right:
        case (Tensor(), Tensor()) if left.dtype == right.dtype:
            device = left.device if left.device == right.device else None
            shape = join_shapes(left.shape, right.shape)
            return Tensor(left.dtype, shape, device)
        case (HostData(), HostData()) if left.dtype == right.dtype:
            return HostData(left.dtype, join_shapes(left.shape, right.shape))
        case Dims(), Dims():
            return Dims(join_shapes(left.dims, right.dims))
        case (Items(), Items()) if len(left.items) == len(right.items):
            items = tuple(map(joined, left.items, right.items))
            return None if None in items else Items(tuple(i for i in items if i is not None))
        case (Made(), Made()) if agree(left.type, right.type):
            type_ = joined_types(left.type, right.type)
            assert isinstance(type_, AdtType | FunctionType)
            return Made(type_)
        case (Anything(), _) | (_, Anything()):
            return Anything()
        case _:
            return None


def joined_types(left: Type, right: Type) -> Type:
    """Return the type of what is of one of two types that agree; dims that differ are unknown.

    A data type whose parameters are not known holds nothing of them, and takes those of the other.
    """
    match left, right:
        case TensorType(), TensorType():
            return TensorType(left.dtype, join_shapes(left.shape, right.shape), right.vdevice)
        case ShapeType(), ShapeType():
            return ShapeType(join_shapes(left.dims, right.dims))
        case TupleType(), TupleType():
            return TupleType(tuple(map(joined_types, left.items, right.items)))
        case FunctionType(), FunctionType():
            params = tuple(map(joined_types, left.params, right.params))
            return FunctionType(params, joined_types(left.result, right.result))
        case AdtType(), AdtType():
            if not left.args or not right.args:
                return left if left.args else right
            return AdtType(left.name, tuple(map(joined_types, left.args, right.args)))
        case _:
            return right
