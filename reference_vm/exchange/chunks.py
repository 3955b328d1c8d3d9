"""Loops that collect many rows: in chunks, so that a row is not copied once for each trip.

Writing a row into memory for all of them copies all of them, since values never change. So a loop
within a loop collects `CHUNK` rows at a time, and the outer one the chunks::

    carried, chunks = for each chunk: carried, chunk = for each row: carried, row = body(carried)

A row is copied at most `CHUNK` times, and once more for each chunk that follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from reference_vm.exchange.builder import Builder
from reference_vm.exchange.collecting import at_least_0
from reference_vm.exchange.loops import Left, Plan, Trip, make_loop
from reference_vm.ir.nodes import Var
from reference_vm.types import UNKNOWN, Dim, TensorType
from reference_vm.types.dim import Unknown, apply
from reference_vm.types.dtype import I64

CHUNK: Final = 256
"""Rows of a chunk where the number of trips is known before the run, by number or symbol."""

SMALL_CHUNK: Final = 64
"""Rows of a chunk where it is not: there may be a few only, and large ones."""


def make_collecting_loop(plan: Plan, build: Builder) -> Left:
    """Append a loop that collects rows, and return what it leaves.

    It is one loop where there are few rows, or where their dims are not known beforehand.

    Raises:
        CompileError: As for `make_loop`.
    """
    if plan.length is not None or _is_short(plan, build):
        return make_loop(plan, build)
    made, bindings = len(build.made), len(build.bindings)
    left = _Chunked(plan, build).made()
    if left is not None:
        return left
    del build.made[made:], build.bindings[bindings:]
    return make_loop(plan, build)


def _is_short(plan: Plan, build: Builder) -> bool:
    known = build.static(plan.limit) if plan.limit is not None else None
    return known is not None and known[0] <= CHUNK


def _number(build: Builder, value: int) -> Var:
    return build.constant(np.asarray(value), I64)


class _Chunked:
    """Makes one loop of loops."""

    def __init__(self, plan: Plan, build: Builder) -> None:
        self.plan = plan
        self.build = build
        content = None if plan.limit is None else build.content(plan.limit)
        self.count: Dim = UNKNOWN if content is None else content[0]
        """The trips that there are at most."""

        self.chunk = SMALL_CHUNK if isinstance(self.count, Unknown) else CHUNK
        self.room: Dim = self.chunk
        if not isinstance(self.count, Unknown):
            self.room = apply("min", at_least_0(self.count), CHUNK)
        self.rows_known = True
        self.may_stop = plan.go is not None

    def made(self) -> Left | None:
        """Return what the loop leaves, or ``None`` if it cannot be made so."""
        build, plan = self.build, self.plan
        limit = None
        if plan.limit is not None:
            more = build.call("add", plan.limit, _number(build, self.chunk - 1))
            limit = build.call("floor_divide", more, _number(build, self.chunk))
        start = [*plan.carried, _number(build, 0)]
        left = make_loop(Plan(f"{plan.name}s", start, self._trip, limit, plan.go), build)
        if not (self.rows_known and left.rows_known and left.rows):
            return None
        *carried, trips = left.carried
        return Left(carried, [self._flat(row, trips) for row in left.rows])

    def _trip(self, inner: Builder, number: Var, carried: Sequence[Var]) -> Trip:
        """Translate one trip of the outer loop: the trips of the inner one."""
        *values, trips = carried
        done = inner.call("multiply", number, _number(inner, self.chunk))
        limit = _number(inner, self.chunk)
        if self.plan.limit is not None:
            limit = inner.call("minimum", inner.call("subtract", self.plan.limit, done), limit)

        def body(innermost: Builder, trip: Var, carried: Sequence[Var]) -> Trip:
            return self.plan.body(innermost, innermost.call("add", done, trip), carried)

        plan = Plan(self.plan.name, values, body, limit, length=self.room, tells=True)
        left = make_loop(plan, inner)
        assert left.trips is not None
        self.rows_known = left.rows_known
        self.may_stop = self.plan.go is not None or left.go is not None
        return Trip((*left.carried, inner.call("add", trips, left.trips)), left.rows, left.go)

    def _flat(self, rows: Var, trips: Var) -> Var:
        """Return the rows of all chunks one after the other, without the room that is left."""
        build, (_, _, *dims) = self.build, rows.tensor.shape or ()
        rest = build.call("shape_to_tensor", build.shape(tuple(dims)))
        shape = build.call("concat", build.ints((-1,)), rest, axis=0) if dims else build.ints((-1,))
        flat = build.call("reshape", rows, shape)
        zero = build.ints((0,))
        ends = build.call("reshape", trips, build.shape((1,)))
        cut = build.call("slice", flat, zero, ends, zero)
        if self.may_stop or isinstance(self.count, Unknown):
            return cut
        return build.match_cast(cut, TensorType(rows.tensor.dtype, (at_least_0(self.count), *dims)))


__all__ = ["CHUNK", "SMALL_CHUNK", "make_collecting_loop"]
