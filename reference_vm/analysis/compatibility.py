"""How two types relate: does one promise what the other asks, and what do both promise.

``f32[n, 4]`` promises ``f32[?, 4]`` but not the other way round; ``f32[n]`` and ``f32[m]`` may
agree, which only a run can tell; ``f32[4]`` and ``f32[5]`` never do. Devices do not count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from enum import IntEnum

from reference_vm.types import (
    UNKNOWN,
    AdtType,
    Dim,
    FunctionType,
    Poly,
    Shape,
    ShapeType,
    TensorType,
    TupleType,
    Type,
    map_tensors,
)
from reference_vm.types.dim import Relation, Unknown, relate, symbols
from reference_vm.types.types import join_shapes


class Agreement(IntEnum):
    """What is known at compile time of a value's type and the type that is asked of it."""

    NEVER = 0
    MAYBE = 1
    """Only a run can tell."""

    ALWAYS = 2


def agreement(found: Type, asked: Type) -> Agreement:
    """Say whether a value of type ``found`` is one of type ``asked``."""
    match found, asked:
        case TensorType(), TensorType():
            if found.dtype != asked.dtype:
                return Agreement.NEVER
            return _shapes(found.shape, asked.shape)
        case ShapeType(), ShapeType():
            return _shapes(found.dims, asked.dims)
        case (TupleType(items=left), TupleType(items=right)) if len(left) == len(right):
            pairs = zip(left, right, strict=True)
            return min((agreement(f, a) for f, a in pairs), default=Agreement.ALWAYS)
        case (AdtType(name=left, args=given), AdtType(name=right, args=wanted)) if left == right:
            pairs = zip(given, wanted, strict=True)
            return min((agreement(f, a) for f, a in pairs), default=Agreement.ALWAYS)
        case (FunctionType(), FunctionType()) if len(found.params) == len(asked.params):
            pairs = zip(asked.params, found.params, strict=True)  # a call gives what is asked for
            result = agreement(found.result, asked.result)
            return min((result, *(agreement(a, f) for a, f in pairs)))
        case _:
            return Agreement.NEVER


def _unplaced(type_: Type) -> Type:
    return map_tensors(type_, lambda tensor: tensor.on(None))


def _shapes(found: Shape | None, asked: Shape | None) -> Agreement:
    if asked is None:
        return Agreement.ALWAYS
    if found is None:
        return Agreement.MAYBE
    if len(found) != len(asked):
        return Agreement.NEVER
    dims = zip(found, asked, strict=True)
    return min((_dims(f, a) for f, a in dims), default=Agreement.ALWAYS)


def _dims(found: Dim, asked: Dim) -> Agreement:
    if isinstance(asked, Unknown) or found == asked:
        return Agreement.ALWAYS
    if isinstance(found, Unknown):
        return Agreement.MAYBE
    related = relate(found, asked)
    return Agreement.NEVER if related is Relation.DIFFERENT else Agreement.MAYBE


def join(left: Type, right: Type) -> Type | None:
    """Return what a value that has one of the two types promises; ``None`` if nothing.

    Dims that are not written alike become ``?``, ranks that differ an unknown rank. The result
    carries no device.
    """
    match left, right:
        case TensorType(), TensorType():
            if left.dtype != right.dtype:
                return None
            return TensorType(left.dtype, join_shapes(left.shape, right.shape))
        case ShapeType(), ShapeType():
            return ShapeType(join_shapes(left.dims, right.dims))
        case (TupleType(items=first), TupleType(items=second)) if len(first) == len(second):
            items = _joined(first, second)
            return None if items is None else TupleType(items)
        case (AdtType(name=name, args=first), AdtType(name=other, args=second)) if name == other:
            args = _joined(first, second)
            return None if args is None else AdtType(name, args)
        case _:
            return left if _unplaced(left) == _unplaced(right) else None


def _joined(left: Sequence[Type], right: Sequence[Type]) -> tuple[Type, ...] | None:
    joined = [join(a, b) for a, b in zip(left, right, strict=True)]
    known = tuple(t for t in joined if t is not None)
    return known if len(known) == len(joined) else None


def forget_symbols(type_: Type, known: Collection[str]) -> Type:
    """Return ``type_`` with each dim that names a symbol outside ``known`` made ``?``."""

    def dims(shape: Shape) -> Shape:
        return tuple(d if all(s in known for s in symbols(d)) else UNKNOWN for d in shape)

    match type_:
        case TensorType(shape=shape) if shape is not None:
            return replace(type_, shape=dims(shape))
        case ShapeType(dims=shape) if shape is not None:
            return ShapeType(dims(shape))
        case TupleType(items=items):
            return TupleType(tuple(forget_symbols(t, known) for t in items))
        case AdtType(name=name, args=args):
            return AdtType(name, tuple(forget_symbols(t, known) for t in args))
        case FunctionType(params=params, result=result):
            inner = tuple(forget_symbols(t, known) for t in params)
            return FunctionType(inner, forget_symbols(result, known))
        case _:
            return type_


def placed_as(type_: Type, placed: Type | None) -> Type:
    """Return ``type_`` with the virtual devices that ``placed``, of the same form, has."""
    match type_, placed:
        case TensorType(), TensorType():
            return type_.on(placed.vdevice)
        case TupleType(items=items), TupleType(items=places) if len(items) == len(places):
            return TupleType(tuple(map(placed_as, items, places)))
        case AdtType(name=name, args=args), AdtType(args=places) if len(args) == len(places):
            return AdtType(name, tuple(map(placed_as, args, places)))
        case FunctionType(), FunctionType() if len(type_.params) == len(placed.params):
            params = tuple(map(placed_as, type_.params, placed.params))
            return FunctionType(params, placed_as(type_.result, placed.result))
        case _:
            return type_


def bind_symbols(param: Type, argument: Type, values: dict[str, Dim]) -> None:
    """Add to ``values`` the dims that symbols standing alone in ``param`` have in ``argument``."""
    match param, argument:
        case TensorType(shape=asked), TensorType(shape=found):
            _bind_dims(asked, found, values)
        case ShapeType(dims=asked), ShapeType(dims=found):
            _bind_dims(asked, found, values)
        case TupleType(items=left), TupleType(items=right) if len(left) == len(right):
            for inner, given in zip(left, right, strict=True):
                bind_symbols(inner, given, values)
        case AdtType(args=left), AdtType(args=right) if len(left) == len(right):
            for inner, given in zip(left, right, strict=True):
                bind_symbols(inner, given, values)
        case FunctionType(), FunctionType() if len(param.params) == len(argument.params):
            for inner, given in zip(param.params, argument.params, strict=True):
                bind_symbols(inner, given, values)
            bind_symbols(param.result, argument.result, values)
        case _:
            return


def _bind_dims(asked: Shape | None, found: Shape | None, values: dict[str, Dim]) -> None:
    if asked is None:
        return
    for index, dim in enumerate(asked):
        name = lone_symbol(dim)
        if name is None:
            continue
        given = found[index] if found is not None and index < len(found) else UNKNOWN
        if name not in values or isinstance(values[name], Unknown):
            values[name] = given


def lone_symbol(dim: Dim) -> str | None:
    """Return the symbol's name if ``dim`` is one symbol alone: there it is bound."""
    if isinstance(dim, Poly) and len(dim.terms) == 1:
        ((monomial, coefficient),) = dim.terms
        if coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], str):
            return monomial[0]
    return None


def bound_symbols(type_: Type) -> set[str]:
    """Return the symbols that stand alone as a dim in ``type_``."""
    return {name for dim in _dims_in(type_) if (name := lone_symbol(dim)) is not None}


def symbols_in(type_: Type) -> set[str]:
    """Return every symbol in the dims of ``type_``."""
    return {name for dim in _dims_in(type_) for name in symbols(dim)}


def _dims_in(type_: Type) -> Iterator[Dim]:
    stack: list[Type] = [type_]
    while stack:
        match stack.pop():
            case TensorType(shape=shape) | ShapeType(dims=shape):
                yield from shape or ()
            case TupleType(items=items) | AdtType(args=items):
                stack.extend(items)
            case FunctionType(params=params, result=result):
                stack.extend((*params, result))


__all__ = [
    "Agreement",
    "agreement",
    "bind_symbols",
    "bound_symbols",
    "forget_symbols",
    "join",
    "lone_symbol",
    "placed_as",
    "symbols_in",
]
