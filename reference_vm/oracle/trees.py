"""What decision trees mean: each row is followed from root to leaf, one tree after the other."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
@dataclass(slots=True)
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
    close: bool = field(default=False, init=False)
    """Whether a node was met whose answer an operand's error could tip."""

    def leaf(self, root: int, row: Wide, errors: Wide) -> int:
        """Return the leaf that a row reaches from a root."""
        node, steps = root, 0
        while node >= 0:
            if steps > len(self.features):
                raise DataError("index-out-of-range", "tree_ensemble: the nodes form a cycle")
            node, steps = self._next(node, row, errors), steps + 1
        return -1 - node

    def _next(self, node: int, row: Wide, errors: Wide) -> int:
        feature = _index("feature", self.features[node], 0, len(row))
        value, threshold = row[feature], self.thresholds[node]
        holds = bool(_ASKS[_index("mode", self.modes[node], 0, len(_ASKS))](value, threshold))
        holds = holds or bool(self.missing[node] and np.isnan(value))
        if errors[feature] and abs(value - threshold) <= errors[feature]:
            self.close = True
        chosen = self.yes[node] if holds else self.no[node]
        return _index("node", chosen, 1 - len(self.starts), len(self.features))

    def entries(self, leaf: int) -> list[tuple[int, Any]]:
        """Return the targets and weights of a leaf."""
        whole = range(int(self.starts[leaf]), int(self.starts[leaf + 1]))
        return [(int(self.targets[entry]), self.weights[entry]) for entry in whole]


def _index(what: str, found: Any, low: int, high: int) -> int:
    if not low <= found < high:
        message = f"tree_ensemble: {what} {int(found)} is outside [{low}, {high - 1}]"
        raise DataError("index-out-of-range", message)
    return int(found)


def _tree_ensemble(call: Operands) -> Estimate:
    x, trees = call[0], _Trees(*(call[i].value for i in range(1, 11)))
    targets, aggregate = int(call.attrs["targets"]), str(call.attrs["aggregate"])
    for node in np.concatenate([trees.roots, trees.yes, trees.no]):
        _index("node", node, 1 - len(trees.starts), len(trees.features))
    for target in trees.targets:
        _index("target", target, 0, targets)
    shape = (x.value.shape[0], targets)
    value, size = np.zeros(shape, x.value.dtype), np.zeros(shape)
    undecided = np.zeros(shape, np.bool_)
    for number, (row, errors) in enumerate(zip(x.value, x.errors, strict=True)):
        trees.close = False
        said: list[list[Any]] = [[] for _ in range(targets)]
        for root in trees.roots:
            for target, weight in trees.entries(trees.leaf(int(root), row, errors)):
                said[target].append(weight)
        undecided[number] = trees.close
        for target, weights in enumerate(said):
            value[number, target] = _joined(weights, aggregate, len(trees.roots))
            size[number, target] = float(np.sum(np.abs(weights)))
    slack = size * unit(x.dtype) * (len(trees.roots) + 2)
    undecided |= any(call[i].error is not None and np.any(call[i].error) for i in range(1, 11))
    own = np.where(undecided, np.inf, 0.0 if aggregate in ("min", "max") else slack)
    return call.rounding.result(value, x.dtype, own=np.asarray(own))


def _joined(weights: Sequence[Any], aggregate: str, trees: int) -> Any:
    if not weights:
        return 0
    match aggregate:
        case "min":
            return min(weights)
        case "max":
            return max(weights)
        case "average":
            return sum(weights) / trees
        case _:
            return sum(weights)


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType({"tree_ensemble": _tree_ensemble})
