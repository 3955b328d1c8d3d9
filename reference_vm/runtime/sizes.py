"""Dims worked out while a program runs.

A dim is compiled once to a function of the frame's symbols, a tuple of ints in the order of
`FunctionCode.symbols`; results are remembered for the last few sets of symbols.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from reference_vm.diagnostics import DataError
from reference_vm.types import Dim, Poly, Shape, Unknown
from reference_vm.types.dim import Atom, Opaque

Symbols: TypeAlias = tuple[int, ...]
Number: TypeAlias = Callable[[Symbols], int]
Numbers: TypeAlias = Callable[[Symbols], tuple[int, ...]]
Extent: TypeAlias = Callable[[Symbols], tuple[tuple[int, ...], int]]

ADDRESSES: Final = 1 << 63
"""No array spans as many bytes, though one without elements would take no memory."""

_REMEMBERED: Final = 64
"""Sets of symbols that a shape is remembered for."""


def compile_dim(dim: Dim, slots: Mapping[str, int]) -> Number:
    """Return the function from symbols to what ``dim`` is.

    It raises `DataError` where ``dim`` divides by an expression that is 0.
    """
    if isinstance(dim, int):
        return lambda _: dim
    assert isinstance(dim, Poly), "an unknown dim has no value before the run"
    terms = [
        (coefficient, [_compile_atom(atom, slots) for atom in monomial])
        for monomial, coefficient in dim.terms
    ]
    return lambda symbols: sum(c * math.prod(a(symbols) for a in atoms) for c, atoms in terms)


def _compile_atom(atom: Atom, slots: Mapping[str, int]) -> Number:
    if isinstance(atom, Opaque):
        left, right = compile_dim(atom.left, slots), compile_dim(atom.right, slots)
        function = _FUNCTIONS[atom.function]

        def applied(symbols: Symbols) -> int:
            try:
                return function(left(symbols), right(symbols))
            except ZeroDivisionError:
                message = f"the dim {atom} divides by {atom.right}, which is 0 in this run"
                raise DataError("division-by-zero", message) from None

        return applied
    slot = slots[atom]
    return lambda symbols: symbols[slot]


def compile_shape(shape: Shape, slots: Mapping[str, int]) -> Numbers:
    """Return the function from symbols to the dims of ``shape``, none of which is unknown."""
    assert not any(isinstance(d, Unknown) for d in shape)
    fixed = tuple(d for d in shape if isinstance(d, int))
    if len(fixed) == len(shape):
        return lambda _: fixed
    dims = [compile_dim(d, slots) for d in shape]
    known: dict[Symbols, tuple[int, ...]] = {}

    def numbers(symbols: Symbols) -> tuple[int, ...]:
        found = known.get(symbols)
        if found is None:
            if len(known) >= _REMEMBERED:
                known.clear()
            found = known[symbols] = tuple(d(symbols) for d in dims)
        return found

    return numbers


def compile_extent(shape: Shape, itemsize: int, slots: Mapping[str, int]) -> Extent:
    """Return the function from symbols to the dims of ``shape`` and the bytes of such a tensor.

    It raises `DataError` where a dim comes out negative or no array can have such dims.
    """
    fixed = tuple(d for d in shape if isinstance(d, int))
    if len(fixed) == len(shape) and _span(fixed, itemsize) < ADDRESSES:
        known_extent = fixed, math.prod(fixed) * itemsize
        return lambda _: known_extent
    numbers = compile_shape(shape, slots)
    known: dict[Symbols, tuple[tuple[int, ...], int]] = {}

    def extent(symbols: Symbols) -> tuple[tuple[int, ...], int]:
        found = known.get(symbols)
        if found is None:
            if len(known) >= _REMEMBERED:
                known.clear()
            found = known[symbols] = _extent(shape, numbers(symbols), itemsize)
        return found

    return extent


def _extent(shape: Shape, dims: tuple[int, ...], itemsize: int) -> tuple[tuple[int, ...], int]:
    return dims, bytes_of(dims, itemsize, shape)


def bytes_of(dims: tuple[int, ...], itemsize: int, promised: Shape | None = None) -> int:
    """Return the bytes of a tensor with such dims, which were ``promised`` in these words.

    Raises:
        DataError: A dim is negative, or no array can have such dims.
    """
    if any(d < 0 for d in dims):
        words = ", ".join(map(str, promised if promised is not None else ("?",) * len(dims)))
        raise DataError("negative-dim", f"the shape [{words}] is {list(dims)} in this run")
    check_extent(dims, itemsize)
    return math.prod(dims) * itemsize


def check_extent(dims: tuple[int, ...], itemsize: int) -> None:
    """Raise `DataError` if no array has such dims: those that are not 0 span the address space."""
    if _span(dims, itemsize) >= ADDRESSES:
        raise DataError("out-of-memory", f"no array is as large as {list(dims)}")


def _span(dims: tuple[int, ...], itemsize: int) -> int:
    return math.prod(d for d in dims if d) * itemsize


_FUNCTIONS: Final[Mapping[str, Callable[[int, int], int]]] = {
    "floordiv": lambda x, y: x // y,
    "ceildiv": lambda x, y: -(-x // y),
    "mod": lambda x, y: x % y,
    "min": min,
    "max": max,
}
