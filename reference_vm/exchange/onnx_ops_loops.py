"""ONNX's loops: ``Loop`` and ``Scan``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from reference_vm.exchange.builder import Builder
from reference_vm.exchange.chunks import make_collecting_loop
from reference_vm.exchange.collecting import Length
from reference_vm.exchange.loops import Left, Plan, Trip, make_loop
from reference_vm.exchange.node import OnnxNode, RuleTable, versions
from reference_vm.ir.nodes import Var
from reference_vm.types.dtype import BOOL, I64


def _loop(node: OnnxNode) -> Sequence[Var]:
    graph = node.graph("body")
    starts = [node.input(i) for i in range(2, len(node.inputs))]
    if len(graph.output) < 1 + len(starts):
        message = f"the body has {len(graph.output)} outputs"
        raise node.invalid(f"{message}, expected a condition and {len(starts)} carried values")

    def body(inner: Builder, trip: Var, carried: Sequence[Var]) -> Trip:
        true = inner.constant(np.asarray(True))
        go, *results = node.translate(graph, (trip, true, *carried), inner)
        if go.tensor.dtype != BOOL:
            raise node.invalid(f"the body's condition is {go.type}, expected a bool")
        stays = inner.static(go) == (1,)
        count = len(carried)
        return Trip(results[:count], results[count:], None if stays else _scalar(inner, go))

    limit, go = node.optional(0), node.optional(1)
    if go is not None and node.build.static(go) == (1,):
        go = None
    if limit is not None and node.tensor(limit).dtype != I64:
        raise node.invalid(f"the number of trips is {limit.type}, expected an i64")
    plan = Plan(
        name="loop",
        carried=starts,
        body=body,
        limit=None if limit is None else _scalar(node.build, limit),
        go=None if go is None else _scalar(node.build, go),
    )
    collects = len(graph.output) > 1 + len(starts)
    left = (make_collecting_loop if collects else make_loop)(plan, node.build)
    return (*left.carried, *left.rows)


def _scalar(build: Builder, var: Var) -> Var:
    """Return a tensor of one element as one of rank 0."""
    if var.tensor.rank == 0:
        return var
    return build.call("reshape", var, build.shape(()))


@final
@dataclass(frozen=True, slots=True)
class _Scan:
    """A walk over sequences, once."""

    node: OnnxNode
    states: Sequence[Var]
    scanned: Sequence[Var]
    axes: Sequence[int]
    backwards: Sequence[bool]
    limit: Var
    """How many elements are walked over."""

    length: Length = None
    """How many rows the outputs have, if not as many."""

    def made(self, build: Builder) -> Left:
        return make_loop(
            Plan("scan", self.states, self._body, self.limit, None, self.length), build
        )

    def _body(self, inner: Builder, trip: Var, carried: Sequence[Var]) -> Trip:
        taken = [
            inner.call("take", x, self._place(inner, trip, back), axis=axis)
            for x, axis, back in zip(self.scanned, self.axes, self.backwards, strict=True)
        ]
        results = self.node.translate(self.node.graph("body"), (*carried, *taken), inner)
        if len(results) < len(carried):
            message = f"the body has {len(results)} outputs, expected {len(carried)} states first"
            raise self.node.invalid(message)
        return Trip(results[: len(carried)], results[len(carried) :])

    def _place(self, inner: Builder, trip: Var, back: bool) -> Var:
        """Return which element is read: the last one first if the walk goes backwards."""
        if not back:
            return trip
        last = inner.call("subtract", self.limit, inner.constant(np.asarray(1), I64))
        return inner.call("subtract", last, trip)


def _scan(node: OnnxNode) -> Sequence[Var]:
    states, scanned = _operands(node, node.present())
    axes = _axes(node, "scan_input_axes", scanned)
    backwards = _directions(node, "scan_input_directions", len(scanned))
    limit = _common_length(node, scanned, axes)
    left = _Scan(node, states, scanned, axes, backwards, limit).made(node.build)
    rows = list(left.rows)
    prepended = _directions(node, "scan_output_directions", len(rows))
    places = _axes(node, "scan_output_axes", rows)
    for index, (prepend, axis) in enumerate(zip(prepended, places, strict=True)):
        if prepend:
            rows[index] = node.build.call("flip", rows[index], axes=(0,))
        rows[index] = _moved(node.build, rows[index], axis)
    return (*left.carried, *rows)


def _batched_scan(node: OnnxNode) -> Sequence[Var]:
    """Translate version 8, which walks over each sequence of a batch: a loop in a loop."""
    states, scanned = _operands(node, tuple(node.input(i) for i in range(1, len(node.inputs))))
    backwards = _directions(node, "directions", len(scanned))
    batch = _common_length(node, (*states, *scanned), [0] * (len(states) + len(scanned)))
    longest = _common_length(node, scanned, [1] * len(scanned))
    lengths = node.optional(0)

    def body(inner: Builder, trip: Var, carried: Sequence[Var]) -> Trip:
        def item(var: Var) -> Var:
            return inner.call("take", var, trip, axis=0)

        limit = longest if lengths is None else item(lengths)
        inside = (list(map(item, states)), list(map(item, scanned)), [0] * len(scanned))
        walk = _Scan(node, *inside, backwards, limit, _known(inner, longest))
        left = walk.made(inner)
        return Trip((), (*left.carried, *left.rows))

    return make_collecting_loop(Plan("batch", (), body, batch), node.build).rows


def _known(build: Builder, length: Var) -> Length:
    content = build.content(length)
    return length if content is None else content[0]


def _operands(node: OnnxNode, given: Sequence[Var]) -> tuple[Sequence[Var], Sequence[Var]]:
    """Return the states and what is scanned."""
    count = node.integer("num_scan_inputs")
    if not 1 <= count <= len(given):
        raise node.invalid(f"num_scan_inputs is {count}, expected 1 to {len(given)}")
    return given[: len(given) - count], given[len(given) - count :]


def _axes(node: OnnxNode, name: str, values: Sequence[Var]) -> Sequence[int]:
    """Return an axis for each value, the first if none is given."""
    if not node.has(name):
        return [0] * len(values)
    axes = node.integers(name)
    if len(axes) != len(values):
        raise node.invalid(f"{name} has {len(axes)} axes, expected {len(values)}")
    return [
        node.positive(axis, _rank(node, value)) for axis, value in zip(axes, values, strict=True)
    ]


def _rank(node: OnnxNode, var: Var) -> int:
    rank = node.tensor(var).rank
    if rank is None:
        raise node.unsupported(f"the rank of %{var.name} is not known")
    return rank


def _directions(node: OnnxNode, name: str, count: int) -> Sequence[bool]:
    """Return for each value whether it goes the other way."""
    if not node.has(name):
        return [False] * count
    flags = node.integers(name)
    if len(flags) != count or not set(flags) <= {0, 1}:
        raise node.invalid(f"{name} is {list(flags)}, expected {count} of 0 or 1")
    return [flag == 1 for flag in flags]


def _common_length(node: OnnxNode, values: Sequence[Var], axes: Sequence[int]) -> Var:
    """Return the dim that all values have along their axes, as an i64 of rank 0."""
    build = node.build
    found: list[Var] = []
    for value, axis in zip(values, axes, strict=True):
        if _rank(node, value) <= axis:
            raise node.invalid(f"%{value.name} is {value.type}, expected an axis {axis}")
        shape = build.call("shape_of", value, start=axis, end=axis + 1)
        tensor = build.call("shape_to_tensor", shape)
        found.append(build.call("reshape", tensor, build.shape(())))
    known = {n for v in found for n in build.static(v) or ()}
    if len(known) > 1:
        raise node.invalid(f"what is scanned has lengths {sorted(known)}, expected equal ones")
    return next((v for v in found if build.content(v) is not None), found[0])


def _moved(build: Builder, rows: Var, axis: int) -> Var:
    """Return ``rows`` with its first axis at place ``axis``."""
    if axis == 0:
        return rows
    rank = len(rows.tensor.shape or ())
    axes = (*range(1, axis + 1), 0, *range(axis + 1, rank))
    return build.call("permute_dims", rows, axes=axes)


RULES: Final[RuleTable] = {
    "Loop": versions(_loop, 1, 11, 13, 16, 19, 21, 23, 24, 25),
    "Scan": {8: _batched_scan, **versions(_scan, 9, 11, 16, 19, 21, 23, 24, 25)},
}


__all__ = ["RULES"]
