"""What decision trees mean: each row is followed from root to leaf, all trees and rows at once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, final

import numpy as np

from reference_vm.diagnostics import DataError
from reference_vm.oracle.definition import Meaning, Operands
from reference_vm.oracle.estimate import Estimate, Wide, unit

_ASKS: Final[tuple[Callable[[Any, Any], Any], ...]] = (
    *(operator.le, operator.lt, operator.ge, operator.gt, operator.eq, operator.ne),
)


@final
@dataclass(frozen=True, slots=True)
class _Trees:
    """The tables of an ensemble, by the names of the operands."""

    features: Wide
    thresholds: Wide
    modes: Wide
    yes: Wide
    no: Wide
    missing: Wide
    roots: Wide
    starts: Wide
    targets: Wide
    weights: Wide

    def leaves(self, x: Estimate) -> tuple[Wide, Wide]:
        """Return the leaf of each row in each tree, and the rows that errors could lead astray."""
        rows = x.value.shape[0]
        nodes = np.broadcast_to(self.roots.astype(np.int64), (rows, len(self.roots))).copy()
        close = np.zeros(rows, np.bool_)
        steps = 0
        while np.any(nodes >= 0):
            if steps > len(self.features):
                raise DataError("index-out-of-range", "tree_ensemble: the nodes form a cycle")
            row, tree = np.nonzero(nodes >= 0)
            nodes[row, tree], near = self._next(nodes[row, tree], row, x)
            close[row[near]] = True
            steps += 1
        return -1 - nodes, close

    def _next(self, nodes: Wide, row: Wide, x: Estimate) -> tuple[Wide, Wide]:
        """Return the nodes that follow, and which answers an error could tip."""
        feature = _checked("feature", self.features[nodes], 0, x.value.shape[1])
        mode = _checked("mode", self.modes[nodes], 0, len(_ASKS))
        value, error = x.value[row, feature], x.errors[row, feature]
        threshold = self.thresholds[nodes]
        holds = np.choose(mode, [ask(value, threshold) for ask in _ASKS]).astype(np.bool_)
        holds |= self.missing[nodes].astype(np.bool_) & np.isnan(value)
        near = (error > 0) & (np.abs(value - threshold) <= error)
        chosen = np.where(holds, self.yes[nodes], self.no[nodes])
        return _checked("node", chosen, 1 - len(self.starts), len(self.features)), near

    def entries(self, leaves: Wide) -> tuple[Wide, Wide]:
        """Return the entries of leaves, one leaf after the other, and of which leaf each is."""
        first = self.starts[leaves].astype(np.int64)
        counts = np.maximum(self.starts[leaves + 1].astype(np.int64) - first, 0)
        which = np.repeat(np.arange(leaves.size), counts)
        within = np.arange(which.size) - np.repeat(np.cumsum(counts) - counts, counts)
        return first[which] + within, which


def _checked(what: str, found: Wide, low: int, high: int) -> Wide:
    whole = np.asarray(found).astype(np.int64)
    wrong = (whole < low) | (whole >= high)
    if np.any(wrong):
        message = f"tree_ensemble: {what} {int(whole[wrong][0])} is outside [{low}, {high - 1}]"
        raise DataError("index-out-of-range", message)
    return whole


def _tree_ensemble(call: Operands) -> Estimate:
    x, trees = call[0], _Trees(*(call[i].value for i in range(1, 11)))
    targets, aggregate = int(call.attrs["targets"]), str(call.attrs["aggregate"])
    for nodes in (trees.roots, trees.yes, trees.no):
        _checked("node", nodes, 1 - len(trees.starts), len(trees.features))
    _checked("target", trees.targets, 0, targets)
    leaves, close = trees.leaves(x)
    entry, which = trees.entries(np.ravel(leaves))
    place = (which // max(1, leaves.shape[1]), trees.targets[entry].astype(np.int64))
    shape = (x.value.shape[0], targets)
    value = _joined(shape, place, trees.weights[entry], aggregate, len(trees.roots))
    size = np.zeros(shape)
    np.add.at(size, place, np.abs(trees.weights[entry]).astype(np.float64))
    slack = size * unit(x.dtype) * (len(trees.roots) + 2)
    undecided = np.broadcast_to(close[:, None], shape)
    if any(call[i].error is not None and np.any(call[i].errors) for i in range(1, 11)):
        undecided = np.ones(shape, np.bool_)
    own = np.where(undecided, np.inf, 0.0 if aggregate in ("min", "max") else slack)
    return call.rounding.result(value.astype(x.value.dtype), x.dtype, own=np.asarray(own))


def _joined(
    shape: tuple[int, ...], place: tuple[Wide, Wide], weights: Wide, aggregate: str, trees: int
) -> Wide:
    """Return what the entries of each row and target come to; 0 where there are none."""
    if aggregate in ("min", "max"):
        joined = np.full(shape, np.inf if aggregate == "min" else -np.inf, weights.dtype)
        (np.minimum if aggregate == "min" else np.maximum).at(joined, place, weights)
        some = np.zeros(shape, np.bool_)
        some[place] = True
        return np.where(some, joined, 0)
    joined = np.zeros(shape, weights.dtype)
    np.add.at(joined, place, weights)
    return joined / trees if aggregate == "average" else joined


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType({"tree_ensemble": _tree_ensemble})
