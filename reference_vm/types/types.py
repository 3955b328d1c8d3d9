"""The types of values.

Types are values: equal by content, whatever made them. Only tensors carry a virtual device;
tuples, functions and algebraic data types have those of their leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, Union, final

from reference_vm.types.device import VirtualDevice
from reference_vm.types.dim import UNKNOWN, Dim, Poly, Shape, Unknown, product, substitute
from reference_vm.types.dtype import DType


def _dims(shape: Shape | None) -> str:
    return "..." if shape is None else ", ".join(map(str_dim, shape))


def str_dim(dim: Dim) -> str:
    return "?" if isinstance(dim, Unknown) else str(dim)


def join_shapes(left: Shape | None, right: Shape | None) -> Shape | None:
    """Return the shape of what has one of two: dims that differ are unknown, or the rank is."""
    if left is None or right is None or len(left) != len(right):
        return None
    return tuple(a if a == b else UNKNOWN for a, b in zip(left, right, strict=True))


@final
@dataclass(frozen=True, slots=True)
class TensorType:
    """A tensor: ``f32[n, 4] @accel``."""

    dtype: DType
    shape: Shape | None
    """The dims, outermost first; ``None`` when even the rank is unknown."""

    vdevice: VirtualDevice | None = None
    """The virtual device the tensor lives on; ``None`` while nothing says it."""

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def is_static(self) -> bool:
        """Whether every dim is a number."""
        return self.shape is not None and all(isinstance(d, int) for d in self.shape)

    @property
    def is_sized(self) -> bool:
        """Whether every dim is a number or an expression of symbols."""
        return self.shape is not None and all(isinstance(d, int | Poly) for d in self.shape)

    @property
    def elements(self) -> Dim | None:
        """The number of elements; ``None`` if the rank is unknown."""
        return None if self.shape is None else product(self.shape)

    def on(self, vdevice: VirtualDevice | None) -> TensorType:
        return TensorType(self.dtype, self.shape, vdevice)

    def __str__(self) -> str:
        place = f" {self.vdevice}" if self.vdevice else ""
        return f"{self.dtype}[{_dims(self.shape)}]{place}"


@final
@dataclass(frozen=True, slots=True)
class ShapeType:
    """A shape value, which lives on the host: ``shape[n, 4]``."""

    dims: Shape | None

    def __str__(self) -> str:
        return f"shape[{_dims(self.dims)}]"


@final
@dataclass(frozen=True, slots=True)
class TupleType:
    """A tuple: ``(f32[4], i64[])``."""

    items: tuple[Type, ...]

    def __str__(self) -> str:
        comma = "," if len(self.items) == 1 else ""
        return f"({', '.join(map(str, self.items))}{comma})"


@final
@dataclass(frozen=True, slots=True)
class FunctionType:
    """A function or closure: ``(f32[4]) -> f32[4]``."""

    params: tuple[Type, ...]
    result: Type

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.params))}) -> {self.result}"


@final
@dataclass(frozen=True, slots=True)
class AdtType:
    """An algebraic data type, ``List[f32[4]]``, or a type parameter of one, ``T``."""

    name: str
    args: tuple[Type, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}[{', '.join(map(str, self.args))}]" if self.args else self.name


Type: TypeAlias = Union[TensorType, ShapeType, TupleType, FunctionType, AdtType]


def leaves(type_: Type) -> Iterator[TensorType]:
    """Yield the tensors inside nested tuples, in order; other types have no leaves."""
    stack: list[Type] = [type_]
    while stack:
        top = stack.pop()
        if isinstance(top, TensorType):
            yield top
        elif isinstance(top, TupleType):
            stack.extend(reversed(top.items))


def tensors(type_: Type) -> Iterator[TensorType]:
    """Yield every tensor type in ``type_``, in functions and data types too, in order."""
    stack: list[Type] = [type_]
    while stack:
        top = stack.pop()
        match top:
            case TensorType():
                yield top
            case TupleType(items=items):
                stack.extend(reversed(items))
            case FunctionType(params=params, result=result):
                stack.extend((result, *reversed(params)))
            case AdtType(args=args):
                stack.extend(reversed(args))
            case ShapeType():
                pass


def map_tensors(type_: Type, change: Callable[[TensorType], Type]) -> Type:
    """Return ``type_`` with every tensor type in it changed; ``type_`` itself if none differs."""
    match type_:
        case TensorType():
            return change(type_)
        case TupleType(items=items):
            new = tuple(map_tensors(t, change) for t in items)
            return type_ if new == items else TupleType(new)
        case FunctionType(params=params, result=result):
            inner = tuple(map_tensors(t, change) for t in params)
            return FunctionType(inner, map_tensors(result, change))
        case AdtType(name=name, args=args):
            return AdtType(name, tuple(map_tensors(t, change) for t in args)) if args else type_
        case ShapeType():
            return type_


def substitute_params(type_: Type, values: Mapping[str, Type]) -> Type:
    """Return ``type_`` with the type parameters of a data type replaced."""
    match type_:
        case AdtType(name=name, args=args):
            if not args and name in values:
                return values[name]
            inner = tuple(substitute_params(t, values) for t in args)
            return AdtType(name, inner) if args else type_
        case TupleType(items=items):
            return TupleType(tuple(substitute_params(t, values) for t in items))
        case FunctionType(params=params, result=result):
            given = tuple(substitute_params(t, values) for t in params)
            return FunctionType(given, substitute_params(result, values))
        case TensorType() | ShapeType():
            return type_


def substitute_dims(type_: Type, values: Mapping[str, Dim]) -> Type:
    """Return ``type_`` with symbols replaced in every dim."""
    match type_:
        case TensorType(shape=shape) if shape is not None:
            return replace(type_, shape=tuple(substitute(d, values) for d in shape))
        case ShapeType(dims=dims) if dims is not None:
            return ShapeType(tuple(substitute(d, values) for d in dims))
        case TupleType(items=items):
            return TupleType(tuple(substitute_dims(t, values) for t in items))
        case FunctionType(params=params, result=result):
            inner = tuple(substitute_dims(t, values) for t in params)
            return FunctionType(inner, substitute_dims(result, values))
        case AdtType(name=name, args=args):
            return AdtType(name, tuple(substitute_dims(t, values) for t in args))
        case _:
            return type_
