"""How a loop gathers the rows that its trips make.

Where the number of rows is known before the first trip, their memory is made before it. Else it
holds `INITIAL` rows at first and is doubled whenever it is full; what is left over is cut off in
the end. Either way a row is written once, and copied at most twice on the average.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias, Union, final

import numpy as np

from reference_vm.analysis.compatibility import lone_symbol
from reference_vm.exchange.builder import Builder
from reference_vm.exchange.refusals import unsupported
from reference_vm.ir.nodes import Block, Var
from reference_vm.types import UNKNOWN, Dim, DType, Shape, TensorType
from reference_vm.types.dim import Poly, apply, symbols
from reference_vm.types.dtype import I64

INITIAL: Final = 2
"""Rows that fit at first when their number is not known."""

Length: TypeAlias = Union[Dim, Var, None]
"""How many rows there will be: a dim, an i64 of rank 0, or not known."""


@final
@dataclass(frozen=True, slots=True)
class Collector:
    """The rows of one output."""

    start: Var
    """In the graph around the loop: memory for the rows."""

    param: Var
    """In the loop's function: the memory with the rows of the trips so far."""

    grows: bool
    rows_known: bool
    """Whether the dims of a row are known before the first trip."""

    @property
    def result(self) -> TensorType:
        """The type of the rows when the loop ends."""
        shape = self.param.tensor.shape
        assert shape is not None
        if not self.grows:
            return self.param.tensor
        rest = shape[1:] if self.rows_known else (UNKNOWN,) * (len(shape) - 1)
        return TensorType(self.param.tensor.dtype, (UNKNOWN, *rest))

    def written(self, row: Var, trip: Var, inner: Builder) -> Var:
        """Append to ``inner`` what puts ``row`` at the place of a trip; return the rows."""
        rows = self._with_room(row, trip, inner) if self.grows else self.param
        at = inner.call("reshape", trip, inner.shape((1,)))
        return inner.call("scatter_nd", rows, at, row)

    def _with_room(self, row: Var, trip: Var, inner: Builder) -> Var:
        """Append what doubles the memory when it is full."""
        length = inner.call("shape_to_tensor", inner.call("shape_of", self.param, start=0, end=1))
        length = inner.call("reshape", length, inner.shape(()))
        then = inner.nested()
        double = then.call("concat", self.param, self.param, axis=0)
        grown = double if self.rows_known else self._first(row, trip, double, then)
        blocks = (Block(tuple(then.bindings), grown), Block((), self.param))
        return inner.branch(inner.call("equal", trip, length), *blocks, self.result)

    def _first(self, row: Var, trip: Var, double: Var, then: Builder) -> Var:
        """Append what makes memory for rows like ``row`` on the first trip."""
        made = then.nested()
        single = made.call("expand_dims", row, axes=(0,))
        repeats = made.ints((INITIAL, *(1,) * len(row.tensor.shape or ())))
        rows = made.call("tile", single, repeats)
        is_first = then.call("equal", trip, then.constant(np.asarray(0), I64))
        blocks = (Block(tuple(made.bindings), rows), Block((), double))
        return then.branch(is_first, *blocks, self.result)

    def cut(self, build: Builder, rows: Var, count: Var) -> Var:
        """Append what leaves the first ``count`` rows alone."""
        ends = build.call("reshape", count, build.shape((1,)))
        zero = build.ints((0,))
        return build.call("slice", rows, zero, ends, zero)


def collector(
    row: Var, length: Length, varying: frozenset[str], build: Builder, inner: Builder
) -> Collector:
    """Return how to collect rows like ``row``, with the memory made in ``build``.

    Args:
        row: A row, in the loop's function.
        length: How many there will be.
        varying: Symbols that only the loop's function knows.
        build: The graph around the loop.
        inner: The loop's function, which gets a parameter.
    """
    dims = row.tensor.shape
    if dims is None:
        raise unsupported(build.where, f"the rank of the rows %{row.name} is not known")
    known = all(isinstance(d, int | Poly) and not symbols(d) & varying for d in dims)
    if not known:
        start = _zeros(build, row.tensor.dtype, build.shape((0,) * (1 + len(dims))))
        inside: Shape = tuple(inner.symbols.fresh() for _ in start.tensor.shape or ())
    else:
        start = _zeros(
            build, row.tensor.dtype, _rows(build, INITIAL if length is None else length, dims)
        )
        outside = start.tensor.shape or ()
        fixed = length is not None and isinstance(outside[0], int | Poly)
        inside = (outside[0] if fixed else inner.symbols.fresh(), *dims)
    name = inner.names.given.get(row, row.name)
    param = inner.parameter(f"{name}.rows", TensorType(row.tensor.dtype, inside))
    return Collector(start, param, length is None or not known, known)


def at_least_0(dim: Dim) -> Dim:
    """Return a number of trips as a dim: a negative one means none."""
    return dim if lone_symbol(dim) is not None else apply("max", dim, 0)


def _zeros(build: Builder, dtype: DType, shape: Var) -> Var:
    return build.call("full", shape, build.constant(np.asarray(0), dtype))


def _rows(build: Builder, length: Dim | Var, dims: Shape) -> Var:
    """Return the shape of so many rows."""
    if not isinstance(length, Var):
        return build.shape((length, *dims))
    zero = build.constant(np.asarray(0), I64)
    first = build.call("reshape", build.call("maximum", length, zero), build.shape((1,)))
    if not dims:
        return first
    rest = build.call("shape_to_tensor", build.shape(dims))
    return build.call("concat", first, rest, axis=0)


__all__ = ["INITIAL", "Collector", "Length", "at_least_0", "collector"]
