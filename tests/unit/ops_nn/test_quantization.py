"""Quantization agrees with onnxruntime and ONNX's evaluator; integer products are exact."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from reference_vm.diagnostics import CompileError
from reference_vm.ops.quantization import (
    DEQUANTIZE_LINEAR,
    DYNAMIC_QUANTIZE_LINEAR,
    MATMUL_INTEGER,
    QUANTIZE_LINEAR,
)
from reference_vm.types import DTYPES, TensorType
from reference_vm.types.dim import symbol
from tests.unit.ops_nn.onnx_nodes import (
    array_type,
    by_evaluator,
    by_onnxruntime,
    check_inferred,
    compute,
    infer,
)

F32, U8, I8, I32 = (DTYPES[n] for n in ("f32", "u8", "i8", "i32"))
INTEGERS = pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16])

GRANULARITIES: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "one": ((), {}),
    "per axis": ((4,), {"axis": 1}),
    "per last axis": ((6,), {"axis": -1}),
    "in blocks": ((3, 4, 2), {"axis": 2, "block_size": 3}),
    "in ragged blocks": ((3, 1, 6), {"axis": 1, "block_size": 5}),
}


def parameters(shape: tuple[int, ...], dtype: Any) -> tuple[Any, Any]:
    draw = np.random.default_rng(7)
    scale = (draw.random(shape) + 0.1).astype(np.float32)
    bounds = np.iinfo(dtype)
    return scale, draw.integers(bounds.min // 4, bounds.max // 4, shape).astype(dtype)


@INTEGERS
@pytest.mark.parametrize("case", GRANULARITIES)
def test_quantize_agrees_with_onnxruntime(case: str, dtype: Any) -> None:
    shape, attrs = GRANULARITIES[case]
    scale, zero = parameters(shape, dtype)
    x = (np.random.default_rng(1).standard_normal((3, 4, 6)) * 60).astype(np.float32)
    given = [x, np.asarray(scale), np.asarray(zero)]

    found = compute(QUANTIZE_LINEAR, *given, **attrs)

    (expected,) = by_onnxruntime("QuantizeLinear", given, opset=21, **attrs)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, expected)
    check_inferred(infer(QUANTIZE_LINEAR, [array_type(v) for v in given], **attrs), found, {})


@INTEGERS
@pytest.mark.parametrize("case", GRANULARITIES)
def test_dequantize_agrees_with_onnxruntime(case: str, dtype: Any) -> None:
    shape, attrs = GRANULARITIES[case]
    scale, zero = parameters(shape, dtype)
    bounds = np.iinfo(dtype)
    x = np.random.default_rng(2).integers(bounds.min, bounds.max, (3, 4, 6)).astype(dtype)
    given = [x, np.asarray(scale), np.asarray(zero)]

    found = compute(DEQUANTIZE_LINEAR, *given, **attrs)

    (expected,) = by_onnxruntime("DequantizeLinear", given, opset=21, **attrs)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    check_inferred(infer(DEQUANTIZE_LINEAR, [array_type(v) for v in given], **attrs), found, {})


def test_halves_round_to_even_and_the_rest_saturates() -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, 1e9, -1e9, np.inf, -np.inf, np.nan], np.float32)

    found = compute(QUANTIZE_LINEAR, x, np.array(1, np.float32), np.array(3, np.int8))

    np.testing.assert_array_equal(found, [3, 5, 5, 3, 127, -128, 127, -128, 0])


def test_quantize_without_zero_point_gives_u8_or_what_is_named() -> None:
    x, scale = np.array([-3, 2], np.float32), np.array(0.5, np.float32)

    np.testing.assert_array_equal(compute(QUANTIZE_LINEAR, x, scale), np.array([0, 4], np.uint8))
    found = compute(QUANTIZE_LINEAR, x, scale, output_dtype=I8)
    np.testing.assert_array_equal(found, np.array([-6, 4], np.int8))
    assert found.dtype == np.int8


def test_dequantize_of_i32_and_to_a_named_dtype() -> None:
    x, scale = np.array([3, -7], np.int32), np.array(0.5, np.float16)

    found = compute(DEQUANTIZE_LINEAR, x, scale)
    named = compute(DEQUANTIZE_LINEAR, x, scale, output_dtype=F32)

    assert found.dtype == np.float16
    assert named.dtype == np.float32
    np.testing.assert_array_equal(found, [1.5, -3.5])


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_short_floats_divide_in_f32(dtype: Any) -> None:
    x = np.linspace(-9, 9, 50).astype(dtype)
    scale = np.array(0.07, dtype)

    found = compute(QUANTIZE_LINEAR, x, scale, np.array(0, np.int8))

    wide = compute(
        QUANTIZE_LINEAR, x.astype(np.float32), scale.astype(np.float32), np.array(0, np.int8)
    )
    np.testing.assert_array_equal(found, wide)


@pytest.mark.parametrize(
    ("x", "scale", "zero", "attrs", "code"),
    [
        ((3, 4), (3,), (3,), {}, "shape-mismatch"),
        ((3, 4), (4,), (3,), {}, "shape-mismatch"),
        ((3, 4), (4,), (), {}, "rank-mismatch"),
        ((3, 4), (4,), (4,), {"axis": 2}, "axis-out-of-range"),
        ((3, 4), (3, 4), (3, 4), {}, "rank-mismatch"),
        ((3, 4), (3, 3), (3, 3), {"block_size": 2}, "shape-mismatch"),
        ((3, 4), (), (), {"block_size": -1}, "attribute-value"),
        ((3, 4), (), (), {"output_dtype": I8}, "dtype-mismatch"),
    ],
)
def test_a_wrong_quantization_is_refused(
    x: Any, scale: Any, zero: Any, attrs: dict[str, Any], code: str
) -> None:
    types = [TensorType(F32, x), TensorType(F32, scale), TensorType(U8, zero)]

    with pytest.raises(CompileError) as caught:
        infer(QUANTIZE_LINEAR, types, **attrs)

    assert caught.value.diagnostics[0].code == code


@pytest.mark.parametrize("values", [[0, 2, -3, -2.5, 1.34, 0.5], [-1, -2.1, -1.3], [1, 2.1, 4]])
def test_dynamic_quantization_agrees_with_onnxruntime(values: list[float]) -> None:
    x = np.array(values, np.float32)

    found = compute(DYNAMIC_QUANTIZE_LINEAR, x)

    for ours, theirs in zip(
        found, by_onnxruntime("DynamicQuantizeLinear", [x], outputs=3), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    check_inferred(infer(DYNAMIC_QUANTIZE_LINEAR, [array_type(x)]), found, {})


@pytest.mark.parametrize("count", [0, 3])
def test_zeros_are_quantized_to_zeros_with_scale_zero(count: int) -> None:
    found = compute(DYNAMIC_QUANTIZE_LINEAR, np.zeros(count, np.float32))

    np.testing.assert_array_equal(found[0], np.zeros(count))
    assert [v.item() for v in found[1:]] == [0, 0]


@pytest.mark.parametrize("left", [np.uint8, np.int8])
@pytest.mark.parametrize("right", [np.uint8, np.int8])
@pytest.mark.parametrize("zeros", ["none", "scalars", "vectors"])
def test_integer_products_are_exact(left: Any, right: Any, zeros: str) -> None:
    draw = np.random.default_rng(3)

    def bytes_(shape: tuple[int, ...], dtype: Any) -> Any:
        return np.asarray(
            draw.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape)
        ).astype(dtype)

    a, b = bytes_((2, 5, 300), left), bytes_((300, 4), right)
    given = [a, b]
    wide_a, wide_b = a.astype(np.int64), b.astype(np.int64)
    if zeros != "none":
        given.append(bytes_((2, 5, 1) if zeros == "vectors" else (), left))
        given.append(bytes_((4,) if zeros == "vectors" else (), right))
        wide_a, wide_b = wide_a - given[2].astype(np.int64), wide_b - given[3].astype(np.int64)

    found = compute(MATMUL_INTEGER, *given)

    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, wide_a @ wide_b)
    check_inferred(infer(MATMUL_INTEGER, [array_type(v) for v in given]), found, {})


def test_a_vector_of_zero_points_belongs_to_the_rows_of_a_matrix() -> None:
    a = np.array([[11, 7, 3], [10, 6, 2], [9, 5, 1], [8, 4, 0]], np.uint8)
    b = np.array([[1, 4], [2, 5], [3, 6]], np.uint8)
    zero = np.array([1, 2, 3, 4], np.uint8)

    found = compute(MATMUL_INTEGER, a, b, zero)

    np.testing.assert_array_equal(found, (a.astype(int) - zero[:, None]) @ b)


@pytest.mark.parametrize(
    ("a", "b"), [((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((5, 1, 2, 3), (4, 3, 6))]
)
def test_products_of_any_rank_have_the_type_that_they_get(a: Any, b: Any) -> None:
    left, right = np.ones(a, np.uint8), np.ones(b, np.int8)

    found = compute(MATMUL_INTEGER, left, right)

    check_inferred(infer(MATMUL_INTEGER, [array_type(left), array_type(right)]), found, {})


def test_the_type_of_an_integer_product_follows_symbols() -> None:
    n = symbol("n")

    assert infer(MATMUL_INTEGER, [TensorType(U8, (n, 8)), TensorType(I8, (8, 3))]) == TensorType(
        I32, (n, 3)
    )
    with pytest.raises(CompileError, match="rows"):
        infer(MATMUL_INTEGER, [TensorType(U8, (n, 8)), TensorType(I8, (7, 3))])


def test_matmul_integer_agrees_with_the_evaluator() -> None:
    a, b = np.array([[11, 7, 3]], np.uint8), np.array([[1, 4], [2, 5], [3, 6]], np.uint8)
    given = [a, b, np.array([12], np.uint8), np.array([0], np.uint8)]

    (expected,) = by_evaluator("MatMulInteger", given)

    np.testing.assert_array_equal(compute(MATMUL_INTEGER, *given), expected)
