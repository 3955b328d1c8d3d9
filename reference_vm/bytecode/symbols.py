"""Which symbols stand in a type, and which of them it gives a value."""

from __future__ import annotations

from collections.abc import Iterator

from reference_vm.types import Dim, Poly, ShapeType, TensorType, TupleType, Type
from reference_vm.types.dim import symbols


def symbols_in(type_: Type | None) -> Iterator[str]:
    """Yield the symbols in the dims of a type, in the order of writing."""
    match type_:
        case TensorType(shape=dims) | ShapeType(dims=dims):
            for dim in dims or ():
                yield from sorted(symbols(dim))
        case TupleType(items=items):
            for item in items:
                yield from symbols_in(item)
        case _:
            return


def lone_symbol(dim: Dim) -> str | None:
    """Return the symbol that stands alone as a dim, if one does."""
    match dim:
        case Poly(terms=(((str() as name,), 1),)):
            return name
        case _:
            return None
