"""Decision trees: tree_ensemble.

All trees lie in one table of inner nodes. A node asks whether a feature of the row is less than its
threshold (or what else its mode says) and sends the row on: a number from 0 is another inner node,
``-1 - k`` is leaf k. Leaf k adds its weights, those from ``leaf_starts[k]`` to
``leaf_starts[k + 1]``, each to a target. For one tree that gives 10 to rows whose feature 2 is at
most 0.5, and 20 to others::

    features [2]  thresholds [0.5]  modes [0]  yes [-1]  no [-2]  missing [false]
    roots [0]     leaf_starts [0, 1, 2]  leaf_targets [0, 0]  leaf_weights [10, 20]
"""

from __future__ import annotations

from typing import Any, Final

from reference_vm.ops.checks import agree_on_dtype, expect_rank, tensor_of
from reference_vm.ops.definition import (
    REQUIRED,
    Array,
    Attr,
    DataError,
    Namespace,
    OpCall,
    OpDef,
    Operand,
    Trait,
)
from reference_vm.ops.numerics import quiet
from reference_vm.ops.operands import agreed
from reference_vm.types import Dim, TensorType, Type
from reference_vm.types.dtype import BOOL, F32, F64, I64, U8

MODES: Final = ("<=", "<", ">=", ">", "==", "!=")
"""What a node asks of its feature, by the number that ``modes`` holds."""

AGGREGATES: Final = ("sum", "average", "min", "max")

_OPERANDS: Final = (
    *("x", "features", "thresholds", "modes", "yes", "no", "missing"),
    *("roots", "leaf_starts", "leaf_targets", "leaf_weights"),
)
_DTYPES: Final = (
    *((F32, F64), (I64,), (F32, F64), (U8,), (I64,), (I64,), (BOOL,)),
    *((I64,), (I64,), (I64,), (F32, F64)),
)


def _infer(call: OpCall) -> Type:
    types = [tensor_of(call, i, dtypes) for i, dtypes in enumerate(_DTYPES)]
    agree_on_dtype(call, (0, 2, 10))
    expect_rank(call, 0, (2,))
    for index in range(1, len(_OPERANDS)):
        expect_rank(call, index, (1,))
    _same_length(call, (1, 2, 3, 4, 5, 6))
    _same_length(call, (9, 10))
    if call.tensor(8).shape == (0,):
        raise call.error("shape-mismatch", "operand leaf_starts has no elements, expected 0 first")
    targets = call.attrs["targets"]
    if targets < 1:
        raise call.error("attribute-value", f"targets is {targets}, expected at least 1")
    x = types[0]
    return TensorType(x.dtype, None if x.shape is None else (x.shape[0], targets))


def _same_length(call: OpCall, places: tuple[int, ...]) -> None:
    known: Dim | None = None
    for index in places:
        shape = call.tensor(index).shape
        if shape is None:
            continue
        known = shape[0] if known is None else known
        agreed(call, shape[0], known, f"the length of operand {_OPERANDS[index]}")


def _compute(
    xp: Namespace,
    x: Array,
    features: Array,
    thresholds: Array,
    modes: Array,
    yes: Array,
    no: Array,
    missing: Array,
    roots: Array,
    leaf_starts: Array,
    leaf_targets: Array,
    leaf_weights: Array,
    *,
    targets: int,
    aggregate: str,
) -> Array:
    _check(xp, x, features, modes, (yes, no, roots), leaf_starts.shape[0] - 1)
    _check_leaves(xp, leaf_starts, leaf_targets, leaf_weights, targets)
    nodes = (features, thresholds, modes, yes, no, missing)
    with quiet():
        reached = _leaves(xp, x, nodes, roots)
        leaves = (leaf_starts, leaf_targets, leaf_weights)
        return _Table(xp, leaves, targets, aggregate).joined(reached)


def _check(
    xp: Namespace, x: Array, features: Array, modes: Array, places: tuple[Array, ...], leaves: int
) -> None:
    """Check every number that is an index.

    Raises:
        DataError: One is out of range.
    """
    nodes = features.shape[0]
    _within(xp, "feature", features, 0, x.shape[1])
    _within(xp, "mode", modes, 0, len(MODES))
    for place in places:
        _within(xp, "node", place, -leaves, nodes)


def _check_leaves(
    xp: Namespace, starts: Array, places: Array, weights: Array, targets: int
) -> None:
    count = weights.shape[0]
    if not starts.shape[0] or places.shape[0] != count:
        raise DataError("shape-mismatch", "leaf_starts, leaf_targets and leaf_weights do not fit")
    _within(xp, "start of a leaf", starts, 0, count + 1)
    _within(xp, "target", places, 0, targets)
    if bool(xp.any(starts[1:] < starts[:-1])) or int(starts[0]) or int(starts[-1]) != count:
        raise DataError("index-out-of-range", "leaf_starts do not run from 0 up to all weights")


def _within(xp: Namespace, what: str, indices: Array, low: int, high: int) -> None:
    bad = (indices < low) | (indices >= high)
    if bool(xp.any(bad)):
        found = int(indices[bad][0])
        raise DataError("index-out-of-range", f"{what} {found} is outside [{low}, {high - 1}]")


def _leaves(xp: Namespace, x: Array, nodes: tuple[Array, ...], roots: Array) -> Array:
    """Return the leaf that each row reaches in each tree.

    Raises:
        DataError: Nodes form a cycle.
    """
    features, thresholds, modes, yes, no, missing = nodes
    rows = xp.arange(x.shape[0])[:, None]
    at = xp.broadcast_to(roots, (x.shape[0], roots.shape[0])).copy()
    for _ in range(features.shape[0] + 1):
        inner = at >= 0
        if not bool(xp.any(inner)):
            return -1 - at
        node = xp.where(inner, at, 0)
        value = x[rows, features[node]]
        holds = _holds(xp, value, thresholds[node], modes[node])
        holds |= missing[node] & xp.isnan(value)
        at = xp.where(inner, xp.where(holds, yes[node], no[node]), at)
    raise DataError("index-out-of-range", "the nodes of a tree form a cycle")


def _holds(xp: Namespace, value: Array, threshold: Array, mode: Array) -> Array:
    answers: tuple[Any, ...] = (
        *(value <= threshold, value < threshold, value >= threshold),
        *(value > threshold, value == threshold, value != threshold),
    )
    found = answers[-1]
    for number, answer in enumerate(answers[:-1]):
        found = xp.where(mode == number, answer, found)
    return found


class _Table:
    """What each leaf says of each target, and how that is joined."""

    def __init__(
        self,
        xp: Namespace,
        leaves: tuple[Array, Array, Array],
        targets: int,
        aggregate: str,
    ) -> None:
        starts, places, weights = leaves
        self.xp = xp
        self.aggregate = aggregate
        shape = (starts.shape[0] - 1, targets)
        leaf = xp.repeat(xp.arange(shape[0]), xp.diff(starts))
        self.weights = xp.zeros(shape, dtype=weights.dtype)
        self.speaks = xp.zeros(shape, dtype=bool)
        for entry in _rounds(xp, leaf * targets + places):
            at = leaf[entry], places[entry]
            self.weights[at] = self._joined(self.weights[at], self.speaks[at], weights[entry])
            self.speaks[at] = True

    def _joined(self, old: Array, known: Array, new: Array) -> Array:
        """Return ``new`` joined with ``old`` where that is known."""
        if self.aggregate in ("sum", "average"):
            return old + new
        pick = self.xp.minimum if self.aggregate == "min" else self.xp.maximum
        return self.xp.where(known, pick(old, new), new)

    def joined(self, reached: Array) -> Array:
        """Return what the leaves that were reached, one for each row and tree, say together."""
        xp, trees = self.xp, reached.shape[1]
        shape = (reached.shape[0], self.weights.shape[1])
        total = xp.zeros(shape, dtype=self.weights.dtype)
        known = xp.zeros(shape, dtype=bool)
        for tree in range(trees):
            leaf = reached[:, tree]
            speaks = self.speaks[leaf]
            total = xp.where(speaks, self._joined(total, known, self.weights[leaf]), total)
            known |= speaks
        return total / max(trees, 1) if self.aggregate == "average" else total


def _rounds(xp: Namespace, keys: Array) -> list[Array]:
    """Return the places of ``keys`` in rounds, in each of which all are distinct."""
    order = xp.argsort(keys, kind="stable")
    ordered = keys[order]
    turn = xp.arange(keys.shape[0]) - xp.searchsorted(ordered, ordered)
    return [order[turn == i] for i in range(int(xp.max(turn)) + 1 if keys.shape[0] else 0)]


TREE_ENSEMBLE: Final = OpDef(
    name="tree_ensemble",
    summary="Send each row down decision trees, and join what the leaves it reaches say.",
    operands=tuple(Operand(name) for name in _OPERANDS),
    infer=_infer,
    compute=_compute,
    attrs={
        "targets": Attr((int,), REQUIRED),
        "aggregate": Attr((str,), "sum", AGGREGATES),
    },
    traits=frozenset({Trait.CAN_FAIL}),
    origin="onnx",
)

OPS: Final = (TREE_ENSEMBLE,)
