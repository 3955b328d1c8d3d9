"""Which symbols stand in a type, and which of them it gives a value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from reference_vm.types import (
    AdtType,
    Dim,
    FunctionType,
    Poly,
    ShapeType,
    TensorType,
    TupleType,
    Type,
)
from reference_vm.types.dim import symbols

_NAME: Final = re.compile(r"[a-z_][A-Za-z0-9_]*(\.[a-z_][A-Za-z0-9_]*)*|[A-Z][A-Za-z0-9_]*")


def is_symbol(name: str) -> bool:
    """Whether the language has symbols of this name, ``n`` or ``batch.size``."""
    return _NAME.fullmatch(name) is not None


def symbols_in(type_: Type | None) -> Iterator[str]:
    """Yield the symbols in the dims of a type, in the order of writing."""
    match type_:
        case TensorType(shape=dims) | ShapeType(dims=dims):
            for dim in dims or ():
                yield from sorted(symbols(dim))
        case TupleType(items=items) | AdtType(args=items):
            for item in items:
                yield from symbols_in(item)
        case FunctionType(params=params, result=result):
            for item in (*params, result):
                yield from symbols_in(item)
        case _:
            return


def lone_symbols(type_: Type, *, inside: bool) -> Iterator[str]:
    """Yield the symbols that stand alone as a dim of a tensor or a shape.

    With ``inside``, tensors that lie in data types count too, otherwise only those in tuples.
    """
    match type_:
        case TensorType(shape=dims) | ShapeType(dims=dims):
            yield from (s for d in dims or () if (s := lone_symbol(d)) is not None)
        case TupleType(items=items):
            for item in items:
                yield from lone_symbols(item, inside=inside)
        case AdtType(args=items) if inside:
            for item in items:
                yield from lone_symbols(item, inside=inside)
        case _:
            return


def lone_symbol(dim: Dim) -> str | None:
    """Return the symbol that stands alone as a dim, if one does."""
    match dim:
        case Poly(terms=(((str() as name,), 1),)):
            return name
        case _:
            return None
