"""Convolutions agree with onnxruntime and ONNX's evaluator, and their types with what they give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference_vm.diagnostics import CompileError
from reference_vm.ops import correlation, sharing
from reference_vm.ops.convolution import CONV, CONV_INTEGER
from reference_vm.ops.convolution_transpose import CONV_TRANSPOSE
from reference_vm.ops.definition import DataError
from reference_vm.types import DTYPES, UNKNOWN, TensorType
from reference_vm.types.dim import symbol
from tests.unit.ops_nn.onnx_nodes import (
    array_type,
    by_evaluator,
    by_onnxruntime,
    check_inferred,
    compute,
    infer,
)

F32 = DTYPES["f32"]

CONVS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "1d": ((2, 3, 11), (4, 3, 3), {}),
    "2d": ((2, 3, 7, 9), (4, 3, 3, 2), {}),
    "3d": ((1, 2, 5, 6, 4), (3, 2, 2, 3, 2), {"strides": (1, 2, 1)}),
    "asymmetric pads": ((1, 2, 6, 7), (3, 2, 3, 3), {"pads": (0, 1, 2, 3)}),
    "strides": ((1, 2, 9, 10), (3, 2, 3, 3), {"strides": (2, 3), "pads": (1, 1, 1, 1)}),
    "dilations": ((1, 2, 9, 10), (3, 2, 3, 2), {"dilations": (2, 3)}),
    "groups": ((2, 4, 6, 5), (6, 2, 3, 3), {"group": 2}),
    "depthwise": ((2, 4, 6, 5), (8, 1, 3, 3), {"group": 4, "pads": (1, 1, 1, 1)}),
    "same upper": ((1, 2, 6, 7), (3, 2, 2, 3), {"auto_pad": "SAME_UPPER", "strides": (2, 2)}),
    "same lower": ((1, 2, 6, 7), (3, 2, 2, 4), {"auto_pad": "SAME_LOWER", "strides": (1, 2)}),
    "valid": ((1, 2, 6, 7), (3, 2, 2, 3), {"auto_pad": "VALID", "strides": (2, 2)}),
    "pointwise": ((2, 3, 4, 5), (7, 3, 1, 1), {}),
    "empty batch": ((0, 3, 4, 5), (7, 3, 2, 2), {}),
}


def random(*shape: int, seed: int = 0, dtype: Any = np.float32) -> Any:
    return np.random.default_rng((seed, *shape)).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("bias", [False, True], ids=["no bias", "bias"])
@pytest.mark.parametrize("case", CONVS)
def test_conv_agrees_with_onnxruntime(case: str, bias: bool) -> None:
    x_shape, w_shape, attrs = CONVS[case]
    inputs = [random(*x_shape), random(*w_shape), random(w_shape[0]) if bias else None]

    found = compute(CONV, *inputs, **attrs)

    (expected,) = by_onnxruntime("Conv", inputs, **attrs)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    check_inferred(
        infer(CONV, [None if x is None else array_type(x) for x in inputs], **attrs), found, {}
    )


def test_conv_of_four_axes_is_the_sum_over_windows() -> None:
    x, w = random(1, 2, 3, 3, 4, 3), random(3, 2, 2, 2, 2, 2)

    found = compute(CONV, x, w)

    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3, 4, 5))
    np.testing.assert_allclose(found, np.einsum("ncabdeijkl,mcijkl->nmabde", windows, w), rtol=1e-4)


@pytest.mark.parametrize("limit", [1, 500, 4000])
def test_conv_in_blocks_is_conv_at_once(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = random(3, 4, 7, 9), random(6, 2, 3, 3)
    whole = compute(CONV, x, w, group=2, pads=(1, 1, 1, 1))

    monkeypatch.setattr(correlation, "BLOCK_BYTES", limit)
    monkeypatch.setattr(correlation, "LEAST_PLACES", 1)
    monkeypatch.setattr(sharing, "WORTH", 1)

    np.testing.assert_allclose(
        compute(CONV, x, w, group=2, pads=(1, 1, 1, 1)), whole, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("limit", [1, 4000, 1 << 20])
def test_conv_by_long_strided_windows_is_the_sum_over_windows(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, w = random(2, 4, 5, 40), random(6, 2, 2, 9)
    monkeypatch.setattr(correlation, "BLOCK_BYTES", limit)
    monkeypatch.setattr(correlation, "LEAST_PLACES", 1)

    found = compute(CONV, x, w, group=2, strides=(1, 3))

    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 9), axis=(2, 3))[:, :, :, ::3]
    per_group = windows.reshape(2, 2, 2, *windows.shape[2:])
    expected = np.einsum("ngcabij,gmcij->ngmab", per_group, w.reshape(2, 3, 2, 2, 9))
    np.testing.assert_allclose(found, expected.reshape(found.shape), rtol=1e-4, atol=1e-5)


def test_conv_writes_its_result_where_it_is_to_be() -> None:
    x, w, b = random(2, 3, 7, 9), random(4, 3, 3, 3), random(4)
    attrs = {"strides": (1, 1), "pads": (1, 1, 1, 1), "dilations": None, "auto_pad": "NOTSET"}
    out = np.full((2, 4, 7, 9), np.nan, np.float32)

    assert CONV.compute(np, x, w, b, group=1, out=out, **attrs) is out
    np.testing.assert_array_equal(out, compute(CONV, x, w, b, pads=(1, 1, 1, 1)))


@pytest.mark.parametrize("shape", [(2, 4, 9, 7), (2, 4, 14, 9)])
def test_conv_leaves_alone_what_its_result_does_not_fit(shape: tuple[int, ...]) -> None:
    x, w = random(2, 3, 7, 9), random(4, 3, 3, 3)
    attrs = {"strides": None, "pads": (1, 1, 1, 1), "dilations": None, "auto_pad": "NOTSET"}
    out = np.zeros(shape, np.float32)[:, :, :: shape[2] // 7]

    found = CONV.compute(np, x, w, None, group=1, out=out, **attrs)

    np.testing.assert_array_equal(found, compute(CONV, x, w, pads=(1, 1, 1, 1)))
    assert not out.any()


def test_conv_of_f16_computes_in_f32_and_rounds_once() -> None:
    x, w, b = (random(*s, dtype=np.float16) for s in ((1, 3, 5, 5), (2, 3, 3, 3), (2,)))

    found = compute(CONV, x, w, b)

    wide = compute(CONV, *(v.astype(np.float32) for v in (x, w, b)))
    assert found.dtype == np.float16
    np.testing.assert_array_equal(found, wide.astype(np.float16))


def test_the_type_of_conv_follows_symbols() -> None:
    n, h = symbol("n"), symbol("h")
    type_ = infer(
        CONV,
        [TensorType(F32, (n, 3, h, 9)), TensorType(F32, (4, 3, 3, 2))],
        strides=(2, 1),
        pads=(1, 0, 1, 0),
    )

    assert str(type_) == "f32[n, 4, floordiv(h - 1, 2) + 1, 8]"
    found = compute(CONV, random(2, 3, 8, 9), random(4, 3, 3, 2), strides=(2, 1), pads=(1, 0, 1, 0))
    check_inferred(type_, found, {"n": 2, "h": 8})


def test_the_rank_of_conv_may_come_from_the_weights() -> None:
    type_ = infer(CONV, [TensorType(F32, None), TensorType(F32, (4, 3, 3, 2))])

    assert type_ == TensorType(F32, (UNKNOWN, 4, UNKNOWN, UNKNOWN))


@pytest.mark.parametrize(
    ("x", "w", "attrs", "code"),
    [
        ((1, 3, 5, 5), (4, 2, 3, 3), {}, "shape-mismatch"),
        ((1, 3, 5, 5), (4, 3, 3), {}, "rank-mismatch"),
        ((1, 3), (4, 3), {}, "rank-mismatch"),
        ((1, 3, 5, 5), (4, 3, 6, 6), {}, "shape-mismatch"),
        ((1, 4, 5, 5), (3, 2, 3, 3), {"group": 2}, "shape-mismatch"),
        ((1, 3, 5, 5), (4, 3, 3, 3), {"strides": (1,)}, "attribute-value"),
        ((1, 3, 5, 5), (4, 3, 3, 3), {"strides": (0, 1)}, "attribute-value"),
        ((1, 3, 5, 5), (4, 3, 3, 3), {"pads": (-1, 0, 0, 0)}, "attribute-value"),
        ((1, 3, 5, 5), (4, 3, 3, 3), {"group": 0}, "attribute-value"),
    ],
)
def test_a_wrong_conv_is_refused(x: Any, w: Any, attrs: dict[str, Any], code: str) -> None:
    with pytest.raises(CompileError) as caught:
        infer(CONV, [TensorType(F32, x), TensorType(F32, w)], **attrs)

    assert caught.value.diagnostics[0].code == code


def test_a_kernel_that_turns_out_larger_than_its_axis_is_an_error_of_the_run() -> None:
    with pytest.raises(DataError, match="does not fit"):
        compute(CONV, random(1, 3, 5, 5), random(4, 3, 6, 3))


TRANSPOSED: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "1d": ((2, 3, 5), (3, 4, 3), {}),
    "2d": ((1, 2, 4, 5), (2, 3, 3, 2), {"strides": (2, 3)}),
    "3d": ((1, 2, 3, 4, 2), (2, 3, 2, 3, 2), {"strides": (2, 1, 2)}),
    "pads": ((1, 2, 4, 5), (2, 3, 3, 3), {"strides": (2, 2), "pads": (1, 0, 2, 1)}),
    "output padding": ((1, 2, 4, 5), (2, 3, 3, 3), {"strides": (3, 2), "output_padding": (2, 1)}),
    "dilations": ((1, 2, 4, 5), (2, 3, 3, 2), {"dilations": (2, 3)}),
    "groups": ((2, 4, 3, 3), (4, 3, 2, 2), {"group": 2, "strides": (2, 2)}),
    "same upper": ((1, 2, 4, 5), (2, 3, 4, 4), {"auto_pad": "SAME_UPPER", "strides": (2, 3)}),
    "same lower": ((1, 2, 4, 5), (2, 3, 5, 4), {"auto_pad": "SAME_LOWER", "strides": (2, 3)}),
    "valid": ((1, 2, 4, 5), (2, 3, 4, 4), {"auto_pad": "VALID", "strides": (2, 3)}),
    "output shape": ((1, 2, 4, 5), (2, 3, 3, 3), {"strides": (3, 2), "output_shape": (10, 8)}),
    "odd output shape": (
        (1, 2, 4, 5),
        (2, 3, 3, 3),
        {"strides": (3, 2), "output_shape": (9, 8), "auto_pad": "SAME_UPPER"},
    ),
}


@pytest.mark.parametrize("case", TRANSPOSED)
def test_conv_transpose_agrees_with_onnxruntime(case: str) -> None:
    x_shape, w_shape, attrs = TRANSPOSED[case]
    inputs = [random(*x_shape), random(*w_shape), random(w_shape[1] * attrs.get("group", 1))]

    found = compute(CONV_TRANSPOSE, *inputs, **attrs)

    (expected,) = by_onnxruntime("ConvTranspose", inputs, **attrs)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    check_inferred(infer(CONV_TRANSPOSE, [array_type(x) for x in inputs], **attrs), found, {})


def test_the_type_of_conv_transpose_follows_symbols() -> None:
    n, h = symbol("n"), symbol("h")
    attrs: dict[str, Any] = {"strides": (2, 3), "pads": (1, 0, 0, 1)}
    type_ = infer(
        CONV_TRANSPOSE, [TensorType(F32, (n, 2, h, 5)), TensorType(F32, (2, 3, 3, 3))], **attrs
    )

    assert str(type_) == "f32[n, 3, 2*h, 14]"
    found = compute(CONV_TRANSPOSE, random(2, 2, 4, 5), random(2, 3, 3, 3), **attrs)
    check_inferred(type_, found, {"n": 2, "h": 4})


@pytest.mark.parametrize("per_channel", [False, True], ids=["one zero point", "per channel"])
def test_conv_integer_agrees_with_the_evaluator(per_channel: bool) -> None:
    draw = np.random.default_rng(3)
    x = draw.integers(0, 256, (2, 4, 6, 5), dtype=np.uint8)
    w = draw.integers(-128, 128, (6, 2, 3, 3), dtype=np.int8)
    x_zero = np.array(100, np.uint8)
    w_zero = draw.integers(-9, 9, 6 if per_channel else (), dtype=np.int8)
    attrs: dict[str, Any] = {"group": 2, "pads": (1, 0, 1, 2), "strides": (2, 1)}

    found = compute(CONV_INTEGER, x, w, x_zero, np.asarray(w_zero), **attrs)

    wide_w = w.astype(np.float64) - np.reshape(w_zero, (-1, 1, 1, 1))
    exact = compute(CONV, x.astype(np.float64) - 100, wide_w, **attrs)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, exact)


def test_conv_integer_without_zero_points() -> None:
    x = np.arange(9, dtype=np.uint8).reshape(1, 1, 3, 3)

    found = compute(CONV_INTEGER, x, np.ones((1, 1, 2, 2), np.uint8))

    np.testing.assert_array_equal(found, [[[[8, 12], [20, 24]]]])
    (expected,) = by_evaluator("ConvInteger", [x, np.ones((1, 1, 2, 2), np.uint8)])
    np.testing.assert_array_equal(found, expected)


def test_conv_of_no_channels_is_zero() -> None:
    found = compute(CONV, np.zeros((1, 0, 4, 5), np.float32), np.zeros((2, 0, 2, 2), np.float32))

    np.testing.assert_array_equal(found, np.zeros((1, 2, 3, 4)))
