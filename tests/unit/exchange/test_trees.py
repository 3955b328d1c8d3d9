"""Tree operators of ``ai.onnx.ml``, beside ONNX's own evaluator, and what is refused of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper
from onnx.reference import ReferenceEvaluator

from reference_vm.compiler import compile as compile_module
from reference_vm.diagnostics import CompileError
from reference_vm.exchange import from_onnx
from reference_vm.session import Session

NODES: dict[str, list[Any]] = {
    "nodes_treeids": [0, 0, 0, 0, 0, 1, 1, 1],
    "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
    "nodes_featureids": [0, 1, 0, 0, 0, 2, 0, 0],
    "nodes_values": [0.5, -1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "BRANCH_GT", *["LEAF"] * 3, "BRANCH_NEQ", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 3, 0, 0, 0, 1, 0, 0],
    "nodes_falsenodeids": [2, 4, 0, 0, 0, 2, 0, 0],
    "nodes_missing_value_tracks_true": [1, 0, 0, 0, 0, 0, 0, 0],
}
LEAVES = [(0, 2), (0, 3), (0, 4), (1, 1), (1, 2)]
X = np.array([[0.5, -1, 2], [0, 3, 1], [1, 0, 2], [7, 7, 7]], np.float32)


def model(op: str, version: int = 1, **attrs: Any) -> ModelProto:
    outputs = ["y"] if op == "TreeEnsembleRegressor" else ["y", "z"]
    node = helper.make_node(op, ["x"], outputs, domain="ai.onnx.ml", **(NODES | attrs))
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
    )
    imports = [helper.make_opsetid("ai.onnx.ml", version), helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=imports)


def votes(word: str, ids: list[int], weights: list[float]) -> dict[str, Any]:
    trees, nodes = zip(*LEAVES, strict=True)
    found = {f"{word}_treeids": trees, f"{word}_nodeids": nodes}
    name = "target_ids" if word == "target" else "class_ids"
    return {**found, name: ids, f"{word}_weights": weights}


def regressor(**attrs: Any) -> ModelProto:
    given = votes("target", [0, 1, 0, 1, 0], [1.5, -2.0, 0.25, 4.0, 0.5])
    return model("TreeEnsembleRegressor", **({"n_targets": 2} | given | attrs))


def classifier(labels: list[int], ids: list[int], weights: list[float], **attrs: Any) -> ModelProto:
    given = votes("class", ids, weights)
    return model("TreeEnsembleClassifier", classlabels_int64s=labels, **given, **attrs)


def check(source: ModelProto, x: np.ndarray[Any, Any] = X) -> None:
    expected = ReferenceEvaluator(source).run(None, {"x": x})
    for device in ("cpu:0", "sim:0"):
        found = Session(compile_module(from_onnx(source), default=device)).run("main", x)
        found = found if isinstance(found, tuple) else (found,)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_a_regressor_joins_what_leaves_say(aggregate: str) -> None:
    check(regressor(aggregate_function=aggregate, target_ids=[0] * 5, n_targets=1))


def test_a_regressor_adds_base_values() -> None:
    check(regressor(base_values=[0.5, -0.25]))


def test_a_feature_that_is_missing_goes_where_the_node_says() -> None:
    found = Session(compile_module(from_onnx(regressor()))).run(
        "main", np.full((1, 3), np.nan, "f4")
    )
    assert np.asarray(found).tolist() == [[0.25, 4.0]]


def test_a_classifier_of_three_classes_gives_the_greatest() -> None:
    source = classifier([7, 5, 9], [0, 1, 2, 1, 2], [1.0, 2.0, 3.0, 0.5, 4.0])
    check(source)


def test_a_classifier_of_two_classes_with_votes_for_both() -> None:
    check(classifier([5, 9], [0, 1, 1, 0, 1], [1.0, 2.0, 3.0, 0.5, 4.0]))


@pytest.mark.parametrize(
    ("weights", "transform"), [([0.1, 0.2, 0.3, 0.1, 0.4], "NONE"), ([-1, 2, 3, -4, 1], "LOGISTIC")]
)
def test_a_score_of_one_class_gives_the_other(weights: list[float], transform: str) -> None:
    check(classifier([5, 9], [0] * 5, [float(w) for w in weights], post_transform=transform))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (classifier([5, 9], [1] * 5, [1.0] * 5), "second of two classes alone"),
        (classifier([5, 9], [0] * 5, [1.0] * 5, post_transform="PROBIT"), "transform PROBIT"),
        (classifier([5, 9, 4], [0, 1, 0, 1, 0], [-1.0] * 5), "no leaf votes for"),
        (classifier([5], [0] * 5, [1.0] * 5), "one class alone"),
        (regressor(aggregate_function="MIN"), "extreme of no votes"),
        (model("TreeEnsembleClassifier", classlabels_strings=["a", "b"]), "texts"),
    ],
)
def test_what_engines_read_differently_is_refused(source: ModelProto, reason: str) -> None:
    with pytest.raises(CompileError, match=reason) as caught:
        from_onnx(source)
    assert caught.value.diagnostics[0].code == "unsupported-operator"


@pytest.mark.parametrize(
    ("attrs", "reason"),
    [
        ({"nodes_truenodeids": [1, 0, 0, 0, 0, 1, 0, 0]}, "cycle|two roots"),
        ({"nodes_truenodeids": [1, 8, 0, 0, 0, 1, 0, 0]}, "has no node 8"),
        ({"nodes_nodeids": [0, 1, 2, 3, 3, 0, 1, 2]}, "listed twice"),
        ({"nodes_values": [0.5]}, "different lengths"),
        ({"nodes_modes": ["BRANCH_LEQ", "?", *["LEAF"] * 3, "LEAF", "LEAF", "LEAF"]}, "mode"),
        ({"target_ids": [0, 1, 2, 1, 0]}, "outside 0 to 1"),
    ],
)
def test_tables_that_do_not_fit_are_refused(attrs: dict[str, Any], reason: str) -> None:
    with pytest.raises(CompileError, match=reason) as caught:
        from_onnx(regressor(**attrs))
    assert caught.value.diagnostics[0].code == "invalid-model"
