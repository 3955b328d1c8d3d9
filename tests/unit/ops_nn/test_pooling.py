"""Pools agree with onnxruntime, and where it strays from ONNX's text, with the text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference_vm.diagnostics import CompileError
from reference_vm.ops.pooling import AVERAGE_POOL, LP_POOL, MAX_POOL, MAX_POOL_WITH_INDICES
from reference_vm.types import DTYPES, TensorType
from reference_vm.types.dim import symbol
from tests.unit.ops_nn.onnx_nodes import array_type, by_onnxruntime, check_inferred, compute, infer

F32 = DTYPES["f32"]

WINDOWS: dict[str, dict[str, Any]] = {
    "plain": {"kernel_shape": (3, 3)},
    "strides": {"kernel_shape": (3, 3), "strides": (2, 3)},
    "asymmetric pads": {"kernel_shape": (3, 2), "pads": (1, 1, 2, 0), "strides": (2, 3)},
    "dilations": {"kernel_shape": (2, 3), "dilations": (2, 3)},
    "same upper": {"kernel_shape": (3, 3), "strides": (2, 3), "auto_pad": "SAME_UPPER"},
    "same lower": {"kernel_shape": (3, 4), "strides": (3, 3), "auto_pad": "SAME_LOWER"},
    "valid": {"kernel_shape": (3, 4), "strides": (3, 3), "auto_pad": "VALID"},
}


def random(*shape: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(shape).standard_normal(shape).astype(dtype)


def onnx_attrs(attrs: dict[str, Any]) -> dict[str, Any]:
    return {k: int(v) if isinstance(v, bool) else v for k, v in attrs.items()}


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("case", WINDOWS)
@pytest.mark.parametrize(
    ("op", "name", "more"),
    [
        (MAX_POOL, "MaxPool", {}),
        (AVERAGE_POOL, "AveragePool", {"count_include_pad": False}),
        (AVERAGE_POOL, "AveragePool", {"count_include_pad": True}),
        (LP_POOL, "LpPool", {"p": 1}),
        (LP_POOL, "LpPool", {"p": 3}),
    ],
    ids=["max", "average", "average with pads", "1-norm", "3-norm"],
)
def test_pools_agree_with_onnxruntime(
    op: Any, name: str, more: dict[str, Any], case: str, ceil_mode: bool
) -> None:
    attrs = {**WINDOWS[case], **more, "ceil_mode": ceil_mode and case != "valid"}
    x = random(2, 3, 7, 8)

    found = compute(op, x, **attrs)

    (expected,) = by_onnxruntime(name, [x], **onnx_attrs(attrs))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    check_inferred(infer(op, [array_type(x)], **attrs), found, {})


@pytest.mark.parametrize("storage_order", [0, 1])
@pytest.mark.parametrize("case", WINDOWS)
def test_indices_of_maxima_agree_with_onnxruntime(case: str, storage_order: int) -> None:
    attrs = {**WINDOWS[case], "storage_order": storage_order}
    x = random(2, 3, 7, 8)

    found = compute(MAX_POOL_WITH_INDICES, x, **attrs)

    expected = by_onnxruntime("MaxPool", [x], outputs=2, **attrs)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    check_inferred(infer(MAX_POOL_WITH_INDICES, [array_type(x)], **attrs), found, {})


def test_valid_windows_all_lie_inside_even_with_ceil_mode() -> None:
    """ONNX's text; onnxruntime lets the last window reach beyond."""
    attrs: dict[str, Any] = {"kernel_shape": (3,), "strides": (3,), "auto_pad": "VALID"}

    found = compute(MAX_POOL, random(1, 1, 7), **attrs, ceil_mode=True)

    assert found.shape == (1, 1, 2)


@pytest.mark.parametrize("shape", [(2, 3, 9), (1, 2, 5, 4, 6)])
def test_pools_take_any_number_of_spatial_axes(shape: tuple[int, ...]) -> None:
    x, kernel = random(*shape), (2,) * (len(shape) - 2)

    for op, name in ((MAX_POOL, "MaxPool"), (AVERAGE_POOL, "AveragePool")):
        (expected,) = by_onnxruntime(name, [x], kernel_shape=kernel)
        np.testing.assert_allclose(compute(op, x, kernel_shape=kernel), expected, rtol=1e-5)


def test_nan_propagates_through_max_pool() -> None:
    x = np.array([[[1, np.nan, 2, 0]]], np.float32)

    values, indices = compute(MAX_POOL_WITH_INDICES, x, kernel_shape=(2,))

    np.testing.assert_array_equal(values, [[[np.nan, np.nan, 2]]])
    np.testing.assert_array_equal(indices, [[[1, 1, 2]]])
    np.testing.assert_array_equal(compute(MAX_POOL, x, kernel_shape=(2,)), values)


def test_the_first_of_equal_maxima_has_the_index() -> None:
    x = np.array([[[-np.inf, -np.inf, 3, 3]]], np.float32)

    _, indices = compute(MAX_POOL_WITH_INDICES, x, kernel_shape=(2,), pads=(1, 0))

    np.testing.assert_array_equal(indices, [[[0, 0, 2, 2]]])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32])
def test_max_pool_of_integers_pads_with_the_least_value(dtype: Any) -> None:
    x = np.array([[[1, 5, 2]]], dtype) - dtype(1)

    found = compute(MAX_POOL, x, kernel_shape=(3,), pads=(1, 1))

    assert found.dtype == dtype
    np.testing.assert_array_equal(found, [[[4, 4, 4]]])


def test_average_pool_of_f16_rounds_once() -> None:
    x = random(1, 2, 6, 6, dtype=np.float16)

    found = compute(AVERAGE_POOL, x, kernel_shape=(3, 3))

    wide = compute(AVERAGE_POOL, x.astype(np.float32), kernel_shape=(3, 3))
    np.testing.assert_array_equal(found, wide.astype(np.float16))


@pytest.mark.parametrize("size", range(3, 14))
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_the_type_of_a_pool_follows_symbols(size: int, ceil_mode: bool) -> None:
    attrs: dict[str, Any] = {"kernel_shape": (3,), "strides": (2,), "pads": (1, 1)}
    attrs["ceil_mode"] = ceil_mode
    type_ = infer(MAX_POOL, [TensorType(F32, (1, 1, symbol("n")))], **attrs)

    check_inferred(type_, compute(MAX_POOL, random(1, 1, size), **attrs), {"n": size})


@pytest.mark.parametrize(
    ("attrs", "code"),
    [
        ({"kernel_shape": (3,)}, "rank-mismatch"),
        ({"kernel_shape": (9, 2)}, "shape-mismatch"),
        ({"kernel_shape": (0, 2)}, "attribute-value"),
        ({"kernel_shape": (2, 2), "pads": (1, 1)}, "attribute-value"),
    ],
)
def test_a_wrong_pool_is_refused(attrs: dict[str, Any], code: str) -> None:
    with pytest.raises(CompileError) as caught:
        infer(MAX_POOL, [TensorType(F32, (1, 2, 7, 8))], **attrs)

    assert caught.value.diagnostics[0].code == code
