"""Tree operators of ``ai.onnx.ml``.

Classifiers of two classes are translated as far as engines agree on what they mean: with votes for
both classes, or for the first alone with weights of one sign or a logistic transform.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from reference_vm.exchange.node import OnnxNode, RuleTable, versions
from reference_vm.exchange.onnx_ops_casts import cast, scalar
from reference_vm.exchange.post_transforms import labels_of, second_class, transformed
from reference_vm.exchange.tree_tables import classical, floats, modern
from reference_vm.ir.nodes import Var
from reference_vm.types.dtype import F16, F32, F64

_AGGREGATES: Final = ("average", "sum", "min", "max")
_TRANSFORMS: Final = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def _features(node: OnnxNode) -> Var:
    """Return the rows as trees compare them: f64 stays, all else is f32."""
    return node.input(0) if node.dtype() == F64 else cast(node, node.input(0), F32)


def _tree_ensemble(node: OnnxNode) -> Var:
    aggregate, transform = node.integer("aggregate_function"), node.integer("post_transform")
    if not 0 <= aggregate < len(_AGGREGATES) or not 0 <= transform < len(_TRANSFORMS):
        raise node.invalid(f"aggregate_function is {aggregate}, post_transform is {transform}")
    targets = node.integer("n_targets") if node.has("n_targets") else 1
    found = modern(node).call(node, _features(node), targets, _AGGREGATES[aggregate])
    found = transformed(node, found, _TRANSFORMS[transform])
    return cast(node, found, F16) if node.dtype() == F16 else found


def _regressor(node: OnnxNode) -> Var:
    aggregate = node.text("aggregate_function").lower()
    if aggregate not in _AGGREGATES:
        raise node.invalid(f"aggregate_function is {aggregate.upper()!r}")
    targets = node.integer("n_targets") if node.has("n_targets") else 1
    if targets == 1 and node.text("post_transform") != "NONE":
        raise node.unsupported("engines read a post_transform of one target differently")
    trees = classical(node, "target", "target_ids")
    found = trees.call(node, _features(node), targets, aggregate)
    found = _with_base(node, found, targets)
    return cast(node, transformed(node, found, node.text("post_transform")), F32)


def _with_base(node: OnnxNode, scores: Var, targets: int) -> Var:
    base = floats(node, "base_values")
    if not base:
        return scores
    if len(base) != targets:
        raise node.invalid(f"there are {len(base)} base_values, expected {targets}")
    values = node.build.constant(np.asarray(base), node.tensor(scores).dtype)
    return node.build.call("add", scores, values)


def _classifier(node: OnnxNode) -> Sequence[Var]:
    labels = labels_of(node, "classlabels_int64s")
    trees = classical(node, "class", "class_ids")
    scores = trees.call(node, _features(node), len(labels), "sum")
    if len(labels) == 1:
        raise node.unsupported("engines read one class alone differently")
    transform = node.text("post_transform")
    voted, base = set(trees.leaf_targets), floats(node, "base_values")
    if len(labels) != 2 or len(voted) == 2:
        if len(labels) == 2 and base:
            raise node.unsupported("engines read the base_values of two classes differently")
        if min(trees.leaf_weights, default=0) < 0 and trees.certain != set(range(len(labels))):
            raise node.unsupported("engines read classes that no leaf votes for differently")
        scores = _with_base(node, scores, len(labels))
        best = node.build.call("argmax", scores, axis=1)
        return (
            node.build.call("take", node.build.ints(labels), best, axis=0),
            cast(node, transformed(node, scores, transform), F32),
        )
    if voted != {0} or len(base) > 1:
        raise node.unsupported("engines read votes for the second of two classes alone differently")
    first = node.build.call("slice", scores, *map(node.build.ints, ((0,), (1,), (1,))))
    first = _with_base(node, first, 1)
    positive = all(weight >= 0 for weight in trees.leaf_weights)
    if (transform, positive) not in (("NONE", True), ("LOGISTIC", False)):
        raise node.unsupported(f"engines read the transform {transform} of one score differently")
    limit = scalar(node, 0.5 if positive else 0.0, node.tensor(first).dtype)
    label, both = second_class(node, first, limit, labels, transform)
    return label, cast(node, both, F32)


RULES: Final[RuleTable] = {
    "TreeEnsemble": versions(_tree_ensemble, 5),
    "TreeEnsembleRegressor": versions(_regressor, 1, 3),
    "TreeEnsembleClassifier": versions(_classifier, 1, 3),
}


__all__ = ["RULES"]
