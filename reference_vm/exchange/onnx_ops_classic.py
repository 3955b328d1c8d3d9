"""Operators of ``ai.onnx.ml`` that come down to arithmetic on tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from reference_vm.exchange.label_encoder import label_encoder
from reference_vm.exchange.node import OnnxNode, RuleTable, versions
from reference_vm.exchange.onnx_ops_casts import cast, scalar
from reference_vm.exchange.post_transforms import labels_of, second_class, transformed
from reference_vm.ir.nodes import Var
from reference_vm.types.dtype import F32, I64


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


def _linear(node: OnnxNode, rows: int) -> Var:
    """Return a product with ``coefficients`` of so many rows, and ``intercepts`` added."""
    build, coefficients = node.build, node.numbers("coefficients")
    if rows < 1 or not coefficients or len(coefficients) % rows:
        raise node.invalid(f"{len(coefficients)} coefficients do not divide to {rows} rows")
    weights = np.asarray(coefficients, np.float32).reshape(rows, -1).T
    result = build.call("matmul", cast(node, node.input(0), F32), build.constant(weights))
    intercepts = node.numbers("intercepts") if node.has("intercepts") else ()
    if not intercepts:
        return result
    if len(intercepts) != rows:
        raise node.invalid(f"there are {len(intercepts)} intercepts, expected {rows}")
    return build.call("add", result, build.constant(intercepts, F32))


def _linear_regressor(node: OnnxNode) -> Var:
    targets = node.integer("targets")
    result, transform = _linear(node, targets), node.text("post_transform")
    if targets == 1 and transform != "NONE":
        raise node.unsupported("engines read a post_transform of one target differently")
    return transformed(node, result, transform)


def _linear_classifier(node: OnnxNode) -> Sequence[Var]:
    labels, transform = labels_of(node, "classlabels_ints"), node.text("post_transform")
    build = node.build
    rows = max(1, len(node.numbers("intercepts")) if node.has("intercepts") else len(labels))
    scores = _linear(node, rows)
    if rows == 1 and len(labels) == 2:
        if transform != "LOGISTIC":
            raise node.unsupported(
                f"engines read the transform {transform} of one score differently"
            )
        return second_class(node, scores, scalar(node, 0, F32), labels, transform)
    if rows != len(labels):
        raise node.invalid(f"there are {rows} scores for {len(labels)} labels")
    best = build.call("argmax", scores, axis=1)
    label = build.call("take", build.ints(labels), best, axis=0)
    return label, transformed(node, scores, transform)


def _svm_regressor(node: OnnxNode) -> Var:
    """Weigh each row's kernel with the support vectors; without vectors it is linear itself."""
    build, x = node.build, cast(node, node.input(0), F32)
    weights = np.asarray(node.numbers("coefficients"), np.float32)
    count = node.integer("n_supports")
    if node.text("post_transform") != "NONE":
        raise node.unsupported("a post_transform of one target is not translated")
    if count:
        flat = np.asarray(node.numbers("support_vectors"), np.float32)
        if len(weights) != count or flat.size % count:
            raise node.invalid(f"{count} support vectors have {len(weights)} coefficients")
        x = _kernel(node, x, flat.reshape(count, -1))
    result = build.call("matmul", x, build.constant(weights.reshape(-1, 1)))
    rho = node.numbers("rho")
    if len(rho) != 1:
        raise node.invalid(f"rho has {len(rho)} numbers, expected 1")
    result = build.call("add", result, scalar(node, rho[0], F32))
    if not node.flag("one_class"):
        return result
    positive = build.call("greater", result, scalar(node, 0, F32))
    return build.call("where", positive, scalar(node, 1, F32), scalar(node, -1, F32))


def _kernel(node: OnnxNode, x: Var, vectors: npt.NDArray[np.float32]) -> Var:
    """Return the kernel of each row with each support vector."""
    build, kind = node.build, node.text("kernel_type")
    gamma, shift, degree = (*node.numbers("kernel_params"), 0.0, 0.0, 0.0)[:3]
    if kind == "RBF":
        apart = build.call(
            "subtract", build.call("expand_dims", x, axes=(1,)), build.constant(vectors)
        )
        square = build.call("sum", build.call("square", apart), axis=(2,))
        return build.call("exp", build.call("multiply", square, scalar(node, -gamma, F32)))
    product = build.call("matmul", x, build.constant(vectors.T))
    if kind == "LINEAR":
        return product
    scaled = build.call("multiply", product, scalar(node, gamma, F32))
    scaled = build.call("add", scaled, scalar(node, shift, F32))
    match kind:
        case "POLY":
            return build.call("pow", scaled, scalar(node, degree, F32))
        case "SIGMOID":
            return build.call("tanh", scaled)
        case _:
            raise node.invalid(f"kernel_type is {kind!r}")


def _one_hot_encoder(node: OnnxNode) -> Var:
    """A category that is not listed gives zeros, or by ``zeros = 0`` an error of the run."""
    if node.has("cats_strings") and node.texts("cats_strings"):
        raise node.unsupported("categories that are texts have no dtype here")
    if not node.flag("zeros"):
        raise node.unsupported("zeros is 0: an unknown category would be an error of the run")
    build, x = node.build, cast(node, node.input(0), I64)
    listed = build.ints(node.integers("cats_int64s"))
    equal = build.call("equal", build.call("expand_dims", x, axes=(-1,)), listed)
    return cast(node, equal, F32)


def _imputer(node: OnnxNode) -> Var:
    build, x, dtype = node.build, node.input(0), node.dtype()
    kinds = ("imputed_value_floats", "replaced_value_float")
    if not dtype.is_float:
        kinds = ("imputed_value_int64s", "replaced_value_int64")
    values: Sequence[float] = ()
    if node.has(kinds[0]):
        values = node.numbers(kinds[0]) if dtype.is_float else node.integers(kinds[0])
    if not values:
        raise node.invalid(f"{kinds[0]} is missing, but x is {dtype}")
    old = node.number(kinds[1]) if dtype.is_float else node.integer(kinds[1])
    if isinstance(old, float) and math.isnan(old):
        hit = build.call("isnan", x)
    else:
        hit = build.call("equal", x, scalar(node, old, dtype))
    new = np.asarray(values[0] if len(values) == 1 else values)
    return build.call("where", hit, build.constant(new, dtype), x)


def _feature_vectorizer(node: OnnxNode) -> Var:
    build, parts = node.build, []
    widths = node.integers("inputdimensions") if node.has("inputdimensions") else ()
    for index, x in enumerate(node.present()):
        if node.rank(index) == 1:
            x = build.call("expand_dims", x, axes=(0,))
        shape = node.tensor(x).shape or ()
        if widths and (len(widths) != len(node.inputs) or shape[-1] != widths[index]):
            raise node.unsupported(f"inputdimensions is {list(widths)}, but input {index} {x.type}")
        parts.append(cast(node, x, F32))
    return build.call("concat", *parts, axis=1)


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
    "LinearClassifier": versions(_linear_classifier, 1),
    "SVMRegressor": versions(_svm_regressor, 1),
    "OneHotEncoder": versions(_one_hot_encoder, 1),
    "Imputer": versions(_imputer, 1),
    "FeatureVectorizer": versions(_feature_vectorizer, 1),
    "LabelEncoder": versions(label_encoder, 2, 4),
    "Normalizer": versions(_normalizer, 1),
}


__all__ = ["RULES"]
