"""What is known of sizes before a run: what symbols are bound to, and how expressions compare."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from reference_vm.bytecode.checking.held import Dims, Held, HostData, Items, Tensor
from reference_vm.bytecode.symbols import lone_symbol
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
    substitute_dims,
)
from reference_vm.types.dim import Opaque, substitute, subtract, symbols


def bound_by(held: Sequence[Held], types: Sequence[Type]) -> tuple[dict[str, Dim], bool]:
    """Return what the symbols of ``types`` are for these values, and whether all dims fit for sure.

    The values may be of the types (`held.fits`).
    """
    pairs = [p for h, t in zip(held, types, strict=True) for p in _dims(h, t)]
    bound: dict[str, Dim] = {}
    for found, asked in pairs:
        name = lone_symbol(asked)
        if name is not None:
            bound.setdefault(name, found)
    return bound, all(found == filled(asked, bound) for found, asked in pairs)


def _dims(held: Held, type_: Type) -> Iterator[tuple[Dim, Dim]]:
    match held, type_:
        case (Tensor() | HostData(), TensorType()):
            yield from _pairs(held.shape, type_.shape)
        case Dims(), ShapeType():
            yield from _pairs(held.dims, type_.dims)
        case Items(), TupleType():
            for item, part in zip(held.items, type_.items, strict=True):
                yield from _dims(item, part)
        case _:
            pass


def _pairs(found: Shape | None, asked: Shape | None) -> Iterator[tuple[Dim, Dim]]:
    if asked is not None:
        known = (UNKNOWN,) * len(asked) if found is None else found
        yield from zip(known, asked, strict=True)


def filled(dim: Dim, bound: Mapping[str, Dim]) -> Dim:
    """Return a dim with its symbols replaced; unknown if one of them is not bound."""
    if symbols(dim) - bound.keys():
        return UNKNOWN
    return substitute(dim, bound)


def filled_type(type_: Type, bound: Mapping[str, Dim]) -> Type:
    """Return a type with its symbols replaced, those that are not bound by unknown dims."""
    missing = dict.fromkeys(_symbols(type_) - bound.keys(), UNKNOWN)
    return substitute_dims(type_, {**missing, **bound})


def _symbols(type_: Type) -> frozenset[str]:
    match type_:
        case TensorType(shape=dims) | ShapeType(dims=dims):
            return frozenset().union(*map(symbols, dims or ()))
        case TupleType(items=parts) | AdtType(args=parts):
            return frozenset().union(*map(_symbols, parts))
        case FunctionType(params=params, result=result):
            return frozenset().union(*map(_symbols, (*params, result)))


def is_at_most(part: Dim, whole: Dim, limits: Mapping[str, int | None]) -> bool:
    """Whether one size is certainly not more than another.

    ``limits`` has the greatest size of a symbol, ``None`` where there is none; the least is 0.
    """
    rest = subtract(whole, part)
    if isinstance(rest, int):
        return rest >= 0
    least = _least(rest, limits) if isinstance(rest, Poly) else None
    return least is not None and least >= 0


def _least(poly: Poly, limits: Mapping[str, int | None]) -> int | None:
    """Return a number that a polynomial over sizes is not less than, if one is found."""
    least = 0
    for monomial, coefficient in poly.terms:
        if not monomial:
            least += coefficient
        elif any(isinstance(atom, Opaque) for atom in monomial):
            return None
        elif coefficient < 0:
            greatest = [limits.get(atom) for atom in monomial if isinstance(atom, str)]
            if None in greatest:
                return None
            least += coefficient * math.prod(g for g in greatest if g is not None)
    return least
