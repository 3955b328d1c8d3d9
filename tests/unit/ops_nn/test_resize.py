"""Resizing agrees with onnxruntime and ONNX's evaluator; ties are exact.

The two differ from ONNX's text, and from each other, where a scaled length is no whole number and
where f32 rounds a coordinate onto a tie or off it; such cases are written out here.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import onnx
import pytest

from reference_vm.diagnostics import CompileError
from reference_vm.ops.definition import DataError
from reference_vm.ops.resize import RESIZE
from reference_vm.ops.resize_axis import Axis, Method, plan
from reference_vm.ops.resize_shape import scaled
from reference_vm.types import DTYPES, UNKNOWN, ShapeType, TensorType
from reference_vm.types.dim import symbol
from tests.unit.ops_nn.onnx_nodes import (
    array_type,
    by_evaluator,
    by_onnxruntime,
    check_inferred,
    compute,
    infer,
    node_model,
)

F32, I64 = DTYPES["f32"], DTYPES["i64"]
X = np.random.default_rng(5).standard_normal((1, 2, 8, 6)).astype(np.float32)
COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
)
TARGETS: dict[str, dict[str, Any]] = {
    "longer": {"scales": (1, 1, 2, 1.5)},
    "shorter": {"scales": (1, 1, 0.5, 0.75)},
    "to sizes": {"sizes": (1, 2, 3, 9)},
}
ROI = np.array([0, 0, 0.125, 0.25, 1, 1, 0.875, 1.25], np.float32)


def operands(x: Any, mode: str, target: dict[str, Any]) -> list[Any]:
    scales, sizes = target.get("scales"), target.get("sizes")
    return [
        x,
        ROI if mode == "tf_crop_and_resize" else None,
        None if scales is None else np.array(scales, np.float32),
        None if sizes is None else np.array(sizes, np.int64),
    ]


def as_onnx(attrs: dict[str, Any]) -> dict[str, Any]:
    return {k: int(v) if isinstance(v, bool) else v for k, v in attrs.items()}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize(
    "more",
    [
        {"mode": "linear"},
        {"mode": "linear", "antialias": True},
        {"mode": "cubic", "cubic_coeff_a": -0.5},
        {"mode": "cubic", "exclude_outside": True},
        {"mode": "cubic", "antialias": True},
        {"mode": "cubic", "antialias": True, "exclude_outside": True},
    ],
    ids=lambda more: " ".join(map(str, more.values())),
)
def test_interpolation_agrees_with_onnx(
    more: dict[str, Any], coordinates: str, target: str
) -> None:
    attrs = {**more, "coordinate_transformation_mode": coordinates, "extrapolation_value": 9.0}
    given = operands(X, coordinates, TARGETS[target])

    found = compute(RESIZE, *given, **attrs)

    unrounded = coordinates == "align_corners" and target == "shorter"
    judge = by_evaluator if unrounded else by_onnxruntime
    (expected,) = judge("Resize", given, opset=19, **as_onnx(attrs))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("nearest", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_nearest_agrees_with_onnx(nearest: str, coordinates: str, target: str) -> None:
    attrs: dict[str, Any] = {
        "nearest_mode": nearest,
        "coordinate_transformation_mode": coordinates,
    }
    given = operands(X, coordinates, TARGETS[target])

    found = compute(RESIZE, *given, **attrs)

    by_width = coordinates == "tf_crop_and_resize" and target == "shorter"
    judge = by_onnxruntime if by_width else by_evaluator
    (expected,) = judge("Resize", given, opset=19, **attrs)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("round_prefer_floor", [0, 1, 3, 4]),
        ("round_prefer_ceil", [0, 2, 3, 5]),
        ("floor", [0, 1, 3, 4]),
        ("ceil", [0, 2, 3, 5]),
    ],
)
def test_ties_go_as_the_mode_says(mode: str, expected: list[int]) -> None:
    """Six to four: the coordinates are 0, 3/2, 3, 9/2."""
    found = compute(
        RESIZE,
        np.arange(6, dtype=np.float32),
        None,
        None,
        np.array([4]),
        nearest_mode=mode,
        coordinate_transformation_mode="asymmetric",
    )

    np.testing.assert_array_equal(found, expected)


def test_a_tie_that_f32_misses_is_seen() -> None:
    """Seven to one: the coordinate is 3 exactly; in f32, a seventh rounds it to below 3."""
    x = np.arange(7, dtype=np.float32)

    found = compute(RESIZE, x, None, None, np.array([1]), nearest_mode="floor")

    np.testing.assert_array_equal(found, [3])


def test_align_corners_counts_the_length_before_rounding_down() -> None:
    """ONNX's own test data and its evaluator do; its text speaks of the result's length."""
    x = np.array([0, 1, 2, 3], np.float32)
    scales = np.array([0.6], np.float32)

    found = compute(
        RESIZE, x, None, scales, mode="linear", coordinate_transformation_mode="align_corners"
    )

    np.testing.assert_allclose(found, [0, 15 / 7], rtol=1e-6)


@pytest.mark.parametrize("policy", ["stretch", "not_larger", "not_smaller"])
@pytest.mark.parametrize("axes", [(2, 3), (3, 2), (-1,)])
def test_policies_and_axes_agree_with_the_evaluator(policy: str, axes: tuple[int, ...]) -> None:
    sizes = np.array([5, 7][: len(axes)], np.int64)
    given = [X, None, None, sizes]

    found = compute(RESIZE, *given, axes=axes, keep_aspect_ratio_policy=policy, mode="linear")

    positive = [a % 4 for a in axes]
    (expected,) = by_evaluator(
        "Resize", given, opset=19, axes=positive, keep_aspect_ratio_policy=policy, mode="linear"
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    type_ = infer(
        RESIZE,
        [array_type(X), None, None, array_type(sizes)],
        [None, None, None, tuple(sizes.tolist())],
        axes=axes,
        keep_aspect_ratio_policy=policy,
    )
    check_inferred(type_, found, {})


@pytest.mark.parametrize("scale", [0.6, 0.7, 0.8, 1.1, 2.7, 3.3, 1 / 3])
def test_scaled_sizes_are_those_of_onnx_shape_inference(scale: float) -> None:
    """The scale counts as the f32 that it is: 0.7 makes 6 of 10."""
    scales = np.array([scale], np.float32)
    for size in range(1, 40):
        model = node_model("Resize", [np.zeros(size, np.float32), None, scales], 1, 19, {})
        model.graph.initializer.append(onnx.numpy_helper.from_array(scales, "x2"))
        del model.graph.input[1]
        inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True)
        (dim,) = inferred.graph.output[0].type.tensor_type.shape.dim
        assert scaled(size, Fraction(float(scales[0]))) == dim.dim_value


def test_resizing_to_the_same_size_changes_nothing() -> None:
    found = compute(RESIZE, X, None, np.ones(4, np.float32), mode="cubic")

    np.testing.assert_array_equal(found, X)


def test_integers_round_and_saturate() -> None:
    x = np.array([0, 255, 255, 0], np.uint8)

    found = compute(RESIZE, x, None, None, np.array([9]), mode="cubic")

    exact = compute(RESIZE, x.astype(np.float64), None, None, np.array([9]), mode="cubic")
    assert exact.max() > 255
    np.testing.assert_array_equal(found, np.clip(np.rint(exact), 0, 255).astype(np.uint8))


def test_nearest_keeps_any_dtype() -> None:
    for dtype in (np.bool_, np.int64, np.float16):
        found = compute(RESIZE, np.array([0, 1], dtype), None, None, np.array([4]))
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, np.array([0, 0, 1, 1], dtype))


def test_sizes_may_be_a_shape_value_with_symbols() -> None:
    n = symbol("n")
    type_ = infer(
        RESIZE, [TensorType(F32, (1, 2, n, n)), None, None, ShapeType((1, 2, 2 * n, n + 1))]
    )

    assert type_ == TensorType(F32, (1, 2, 2 * n, n + 1))
    found = compute(RESIZE, np.zeros((1, 2, 3, 3), np.float32), None, None, (1, 2, 6, 4))
    check_inferred(type_, found, {"n": 3})


def test_the_sizes_that_scales_make_are_known_in_the_run() -> None:
    type_ = infer(RESIZE, [TensorType(F32, (1, 8)), None, TensorType(F32, (2,))])

    assert type_ == TensorType(F32, (UNKNOWN, UNKNOWN))


@pytest.mark.parametrize(
    ("types", "attrs", "code"),
    [
        ([None, None, None], {}, "type-mismatch"),
        ([None, TensorType(F32, (2,)), TensorType(I64, (2,))], {}, "type-mismatch"),
        ([None, TensorType(F32, (3,)), None], {}, "shape-mismatch"),
        ([None, None, TensorType(I64, (1,))], {}, "shape-mismatch"),
        ([None, None, TensorType(I64, (1,))], {"axes": (2,)}, "axis-out-of-range"),
        (
            [None, TensorType(F32, (2,)), None],
            {"coordinate_transformation_mode": "tf_crop_and_resize"},
            "type-mismatch",
        ),
        ([None, TensorType(F32, (2,)), None], {"antialias": True}, "attribute-value"),
    ],
)
def test_a_wrong_resize_is_refused(types: Any, attrs: dict[str, Any], code: str) -> None:
    with pytest.raises(CompileError) as caught:
        infer(RESIZE, [TensorType(F32, (4, 5)), *types], **attrs)

    assert caught.value.diagnostics[0].code == code


@pytest.mark.parametrize("scales", [(0.0, 1.0), (1.0,), (float("nan"), 1.0)])
def test_wrong_scales_are_an_error_of_the_run(scales: tuple[float, ...]) -> None:
    with pytest.raises(DataError, match="scales"):
        compute(RESIZE, np.zeros((4, 5), np.float32), None, np.array(scales, np.float32))


def test_plans_are_made_once() -> None:
    method = Method("linear", "half_pixel", "floor", -0.75, False, False)

    assert plan(Axis(4, 8, Fraction(2)), method) is plan(Axis(4, 8, Fraction(2)), method)
