"""Operators of ``ai.onnx.ml`` that come down to arithmetic on tensors."""

from __future__ import annotations

from typing import Final

from reference_vm.exchange.node import OnnxNode, RuleTable, versions
from reference_vm.exchange.onnx_ops_casts import cast, scalar
from reference_vm.ir.nodes import Var
from reference_vm.types.dtype import F32


def _scaler(node: OnnxNode) -> Var:
    """Subtract the offset, then multiply by the scale: one number, or one for each feature."""
    x = cast(node, node.input(0), F32)
    if node.has("offset"):
        x = node.build.call("subtract", x, _features(node, "offset"))
    if node.has("scale"):
        x = node.build.call("multiply", x, _features(node, "scale"))
    return x


def _features(node: OnnxNode, name: str) -> Var:
    values = node.numbers(name)
    return scalar(node, values[0], F32) if len(values) == 1 else node.build.constant(values, F32)


def _binarizer(node: OnnxNode) -> Var:
    threshold = scalar(node, node.number("threshold"), node.dtype())
    return cast(node, node.build.call("greater", node.input(0), threshold), node.dtype())


def _feature_extractor(node: OnnxNode) -> Var:
    """Take along the last axis; the indices are a vector, with or without a first axis of one."""
    indices = node.input(1)
    if node.rank(1) != 1:
        indices = node.build.call("reshape", indices, node.build.ints((-1,)))
    return node.build.call("take", node.input(0), indices, axis=node.rank(0) - 1)


def _linear_regressor(node: OnnxNode) -> Var:
    build, targets = node.build, node.integer("targets")
    coefficients = node.numbers("coefficients")
    if node.text("post_transform") != "NONE":
        raise node.unsupported(f"post_transform {node.text('post_transform')} is not translated")
    if targets < 1 or len(coefficients) % targets:
        raise node.invalid(f"{len(coefficients)} coefficients do not divide to {targets} targets")
    weights = build.constant(coefficients, F32)
    weights = build.call("reshape", weights, build.ints((targets, -1)))
    weights = build.call("permute_dims", weights, axes=(1, 0))
    result = build.call("matmul", cast(node, node.input(0), F32), weights)
    if not node.has("intercepts"):
        return result
    return build.call("add", result, build.constant(node.numbers("intercepts"), F32))


def _normalizer(node: OnnxNode) -> Var:
    """Divide each row by its norm."""
    build, x = node.build, cast(node, node.input(0), F32)
    match node.text("norm"):
        case "MAX":
            norm = build.call("max", build.call("abs", x), axis=(-1,), keepdims=True)
        case "L1":
            norm = build.call("sum", build.call("abs", x), axis=(-1,), keepdims=True)
        case "L2":
            squares = build.call("sum", build.call("square", x), axis=(-1,), keepdims=True)
            norm = build.call("sqrt", squares)
        case found:
            raise node.invalid(f"norm is {found!r}, expected MAX, L1 or L2")
    zero, one = scalar(node, 0, F32), scalar(node, 1, F32)
    return build.call("divide", x, build.call("where", build.call("equal", norm, zero), one, norm))


RULES: Final[RuleTable] = {
    "Scaler": versions(_scaler, 1),
    "Binarizer": versions(_binarizer, 1),
    "ArrayFeatureExtractor": versions(_feature_extractor, 1),
    "LinearRegressor": versions(_linear_regressor, 1),
    "Normalizer": versions(_normalizer, 1),
}


__all__ = ["RULES"]
