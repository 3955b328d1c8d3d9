"""Softmax and the normalizations agree with onnxruntime and ONNX's evaluator."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from reference_vm.diagnostics import CompileError
from reference_vm.ops.definition import OpDef
from reference_vm.ops.normalization import (
    BATCH_NORM,
    INSTANCE_NORM,
    LAYER_NORM,
    LOG_SOFTMAX,
    LRN,
    SOFTMAX,
)
from reference_vm.types import DTYPES, TensorType
from reference_vm.types.dim import symbol
from tests.unit.ops_nn.onnx_nodes import (
    array_type,
    by_onnxruntime,
    check_inferred,
    compute,
    infer,
)

F32, F16 = DTYPES["f32"], DTYPES["f16"]


def random(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng((seed, *shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize(("op", "name"), [(SOFTMAX, "Softmax"), (LOG_SOFTMAX, "LogSoftmax")])
def test_softmax_agrees_with_onnxruntime(op: OpDef, name: str, axis: int) -> None:
    x = random(2, 3, 4) * 10

    found = compute(op, x, axis=axis)

    (expected,) = by_onnxruntime(name, [x], axis=axis)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    check_inferred(infer(op, [array_type(x)], axis=axis), found, {})


def test_softmax_of_a_row_of_minus_infinity_is_nan() -> None:
    x = np.array([[-np.inf, -np.inf], [-np.inf, 0]], np.float32)

    np.testing.assert_array_equal(compute(SOFTMAX, x), [[np.nan, np.nan], [0, 1]])


def test_log_softmax_does_not_underflow() -> None:
    np.testing.assert_array_equal(compute(LOG_SOFTMAX, np.array([0, 200], np.float32)), [-200, 0])


@pytest.mark.parametrize("op", [SOFTMAX, LOG_SOFTMAX])
def test_softmax_of_nothing_is_nothing(op: OpDef) -> None:
    assert compute(op, np.zeros((3, 0), np.float32)).shape == (3, 0)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_softmax_of_short_floats_rounds_once(dtype: Any) -> None:
    x = random(4, 5).astype(dtype)

    found = compute(SOFTMAX, x)

    np.testing.assert_array_equal(found, compute(SOFTMAX, x.astype(np.float32)).astype(dtype))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("axis", [1, 2, -1])
def test_layer_norm_agrees_with_onnxruntime(axis: int, bias: bool) -> None:
    x = random(2, 3, 4)
    scale = random(*x.shape[axis:], seed=1)
    inputs = [x, scale, random(*x.shape[axis:], seed=2) if bias else None]

    found = compute(LAYER_NORM, *inputs, axis=axis, epsilon=0.01)

    (expected,) = by_onnxruntime("LayerNormalization", inputs, axis=axis, epsilon=0.01)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    types = [None if v is None else array_type(v) for v in inputs]
    check_inferred(infer(LAYER_NORM, types, axis=axis), found, {})


def test_the_scale_of_layer_norm_must_broadcast_to_the_operand() -> None:
    x = TensorType(F32, (2, symbol("n"), 4))

    assert infer(LAYER_NORM, [x, TensorType(F32, (4,))]) == x
    for wrong in ((3,), (5, 2, 1, 4)):
        with pytest.raises(CompileError) as caught:
            infer(LAYER_NORM, [x, TensorType(F32, wrong)])
        assert caught.value.diagnostics[0].code == "shape-mismatch"


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 3, 4, 5)])
def test_batch_norm_agrees_with_onnxruntime(shape: tuple[int, ...]) -> None:
    inputs = [random(*shape), random(3), random(3, seed=1), random(3, seed=2)]
    inputs.append(np.abs(random(3, seed=3)))

    found = compute(BATCH_NORM, *inputs, epsilon=0.01)

    (expected,) = by_onnxruntime("BatchNormalization", inputs, opset=15, epsilon=0.01)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    check_inferred(infer(BATCH_NORM, [array_type(v) for v in inputs]), found, {})


def test_batch_norm_takes_statistics_of_another_dtype() -> None:
    x = random(2, 3, 4).astype(np.float16)
    given = [random(3), random(3), random(3), np.abs(random(3))]

    found = compute(BATCH_NORM, x, *given)

    assert found.dtype == np.float16
    wide = compute(BATCH_NORM, x.astype(np.float32), *given)
    np.testing.assert_array_equal(found, wide.astype(np.float16))
    assert infer(BATCH_NORM, [array_type(v) for v in (x, *given)]) == TensorType(F16, (2, 3, 4))


def test_the_parameters_of_batch_norm_have_one_value_a_channel() -> None:
    three, four = TensorType(F32, (3,)), TensorType(F32, (4,))
    with pytest.raises(CompileError, match="length of operand mean"):
        infer(BATCH_NORM, [TensorType(F32, (2, 3, 5)), three, three, four, three])


def test_instance_norm_agrees_with_onnxruntime() -> None:
    inputs = [random(2, 3, 4, 5), random(3), random(3, seed=1)]

    found = compute(INSTANCE_NORM, *inputs, epsilon=0.01)

    (expected,) = by_onnxruntime("InstanceNormalization", inputs, epsilon=0.01)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    check_inferred(infer(INSTANCE_NORM, [array_type(v) for v in inputs]), found, {})


@pytest.mark.parametrize("size", [1, 3, 5, 9])
def test_lrn_agrees_with_onnxruntime(size: int) -> None:
    x = random(2, 5, 3, 2)
    attrs: dict[str, Any] = {"alpha": 0.5, "beta": 0.6, "bias": 1.5, "size": size}

    found = compute(LRN, x, **attrs)

    (expected,) = by_onnxruntime("LRN", [x], **attrs)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    check_inferred(infer(LRN, [array_type(x)], size=size), found, {})


def test_an_even_region_of_lrn_reaches_further_behind() -> None:
    x = np.array([[1, 2, 3, 4]], np.float32)

    found = compute(LRN, x, size=2, alpha=2.0, beta=1.0, bias=0.0)

    np.testing.assert_allclose(found, [[1 / 5, 2 / 13, 3 / 25, 4 / 16]], rtol=1e-6)


def test_an_axis_that_is_not_there_is_refused() -> None:
    with pytest.raises(CompileError) as caught:
        infer(SOFTMAX, [TensorType(F32, (2, 3))], axis=2)

    assert caught.value.diagnostics[0].code == "axis-out-of-range"
