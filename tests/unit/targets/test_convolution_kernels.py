"""Convolutions as machine code compute what the oracle means, whatever their shapes."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_vm.ir.nodes import Binding, Block, Call, Var
from reference_vm.ops.definition import DataError
from reference_vm.types import Attrs
from tests.unit.targets.judged import check, function_of, native

RANDOM = np.random.default_rng(7)


def _numbers(*shape: int, dtype: Any = np.float32) -> Any:
    return RANDOM.normal(size=shape).astype(dtype)


def _bytes(*shape: int, dtype: Any = np.uint8) -> Any:
    info = np.iinfo(dtype)
    return RANDOM.integers(info.min, info.max, shape, endpoint=True).astype(dtype)


@st.composite
def _convolutions(draw: st.DrawFn) -> tuple[dict[str, Any], tuple[int, ...], tuple[int, ...], bool]:
    """Attributes, the shapes of operand and weights, and whether there is a bias."""
    rank = draw(st.integers(1, 3))
    small = {1: 40, 2: 14, 3: 6}[rank]

    def each(strategy: Any) -> tuple[int, ...]:
        return tuple(draw(strategy) for _ in range(rank))

    kernel, strides, dilations = (each(st.integers(1, 3)) for _ in range(3))
    pads = each(st.integers(0, 2)) + each(st.integers(0, 2))
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    sizes = tuple(draw(st.integers(e, e + small)) for e in extents)
    group = draw(st.sampled_from([1, 1, 2, 3]))
    channels, features = draw(st.integers(1, 4)), draw(st.integers(1, 19))
    auto_pad = draw(st.sampled_from(["NOTSET"] * 3 + ["VALID", "SAME_UPPER", "SAME_LOWER"]))
    attrs: dict[str, Any] = {"strides": strides, "dilations": dilations, "group": group}
    attrs |= {"auto_pad": auto_pad} if auto_pad != "NOTSET" else {"pads": pads}
    x = (draw(st.integers(1, 3)), channels * group, *sizes)
    return attrs, x, (features * group, channels, *kernel), draw(st.booleans())


@settings(max_examples=60, deadline=None)
@given(_convolutions(), st.sampled_from([np.float32, np.float64]))
def test_any_convolution(convolution: Any, dtype: Any) -> None:
    attrs, x, w, biased = convolution
    operands = [_numbers(*x, dtype=dtype), _numbers(*w, dtype=dtype)]
    operands += [_numbers(w[0], dtype=dtype)] if biased else []
    check(function_of("conv", operands, **attrs), operands)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=["f16", "bf16"])
def test_narrow_floats_are_summed_wide(dtype: Any) -> None:
    operands = [_numbers(2, 6, 9, 11, dtype=dtype), _numbers(10, 3, 3, 3, dtype=dtype)]
    operands.append(_numbers(10, dtype=dtype))
    check(function_of("conv", operands, group=2, pads=(1, 0, 2, 1)), operands)


@pytest.mark.parametrize("zero_points", ["none", "one", "each"])
def test_bytes_are_summed_exactly(zero_points: str) -> None:
    operands = [_bytes(2, 3, 7, 40), _bytes(9, 3, 3, 3, dtype=np.int8)]
    if zero_points != "none":
        operands += [np.uint8(200).reshape(()), np.int8(-3).reshape(())]
    if zero_points == "each":
        operands[3] = _bytes(9, dtype=np.int8)
    check(function_of("conv_integer", operands, pads=(1, 1, 1, 1)), operands)


@pytest.mark.parametrize(
    ("x", "w", "attrs"),
    [
        ((1, 32, 50, 7), (32, 1, 3, 3), {"group": 32, "pads": (1, 1, 1, 1)}),
        ((1, 1, 4_000), (20, 1, 400), {"strides": (160,)}),
        ((2, 1, 1, 5_512), (9, 1, 1, 455), {"strides": (1, 441), "pads": (0, 7, 0, 448)}),
        ((1, 40, 300), (24, 40, 1), {}),
        ((1, 40, 90, 90), (6, 40, 3, 1), {"pads": (1, 0, 1, 0)}),
        ((1, 40, 9_000), (9, 40, 1), {}),
        ((2, 2, 20, 37), (38, 1, 3, 3), {"group": 2, "pads": (1, 1, 1, 1)}),
        ((3, 70, 4), (33, 70, 3), {"pads": (1, 1)}),
        ((1, 64, 1, 1), (8, 64, 1, 1), {}),
        ((1, 2, 3, 3), (1, 2, 3, 3), {}),
        ((2, 3, 5, 0), (4, 3, 1, 1), {}),
        ((2, 0, 5, 5), (4, 0, 3, 3), {}),
        ((0, 2, 5, 5), (4, 2, 3, 3), {}),
    ],
    ids=[
        "depthwise",
        "frames",
        "padded",
        "pointwise",
        "large",
        "large in place",
        "shallow",
        "short",
        "one place",
        "one",
        "0",
        "no channel",
        "none",
    ],
)
def test_a_form_of_convolution(x: Any, w: Any, attrs: Any) -> None:
    operands = [_numbers(*x), _numbers(*w), _numbers(w[0])]
    check(function_of("conv", operands, **attrs), operands)


def test_what_is_not_a_number_spreads_over_its_windows_only() -> None:
    operands = [_numbers(1, 2, 6, 30), _numbers(5, 2, 3, 3)]
    operands[0][0, 1, 3, 10] = np.nan
    operands[0][0, 0, 0, 0] = np.inf
    check(function_of("conv", operands, pads=(1, 1, 1, 1)), operands)


def test_a_shallow_convolution_writes_few_channels_at_a_time() -> None:
    shape = (1, 32, 40, 40)
    kernel = native(function_of("conv", [_numbers(1, 1, 40, 40), _numbers(32, 1, 1, 5)]))

    call = kernel.native([(1, 1, 40, 40), (32, 1, 1, 5)])

    assert call is not None
    assert call.shapes == ((*shape[:3], 36),)
    x, w, y = _numbers(1, 1, 40, 40), _numbers(32, 1, 1, 5), np.full(call.shapes[0], np.nan, "f4")
    workspace = np.empty(call.workspace + 64, np.uint8)
    for stage in call.stages:
        block = stage.block.copy()
        block[:3] = [a.ctypes.data for a in (x, w, y)]
        block[stage.workspace_word] = workspace.ctypes.data + -workspace.ctypes.data % 64
        entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        last = stage is call.stages[-1]
        entry(stage.entry)(block.ctypes.data, stage.low, stage.high // 2 if last else stage.high)
    written = ~np.isnan(y[0]).any(axis=(1, 2))
    assert written.tolist() == [True] * 16 + [False] * 16


def test_dims_that_do_not_fit_are_refused() -> None:
    kernel = native(function_of("conv", [_numbers(1, 4, 8), _numbers(2, 4, 3)]))
    with pytest.raises(DataError, match="3 channels do not fit"):
        kernel.native([(1, 3, 8), (2, 4, 3)])


@pytest.mark.parametrize("shapes", [((2, 3, 9, 30), (9, 3, 3, 3)), ((1, 40, 4), (9, 40, 3))])
def test_relu_of_a_convolution_is_one_kernel_and_the_same_bits(shapes: Any) -> None:
    x, w = (_numbers(*shape) for shape in shapes)
    x[0, 0, 1] = np.nan
    conv = function_of("conv", [x, w])
    (plain,) = native(conv)(np, [x, w], [None])
    whole = Var("y", conv.body.result.tensor)
    relu = Binding(whole, Call("relu", (conv.body.result,)))
    body = Block((*conv.body.bindings(), relu), whole)

    kernel = native(replace(conv, body=body))

    assert kernel.ops == ("conv", "relu")
    (found,) = kernel(np, [x, w], [None])
    np.testing.assert_array_equal(found, np.where(plain <= 0, np.float32(0), plain))
    assert not np.signbit(found[found == 0]).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("alpha", [0.1, 0.0, -2.0])
@pytest.mark.parametrize(
    "shapes", [((2, 3, 9, 30), (9, 3, 3, 3)), ((1, 40, 4), (9, 40, 3)), ((1, 40, 1), (3, 40, 1))]
)
def test_leaky_relu_of_a_convolution_is_one_kernel_and_the_same_bits(
    shapes: Any, alpha: float, dtype: Any
) -> None:
    x, w = (_numbers(*shape, dtype=dtype) for shape in shapes)
    x[0, 0, 0] = np.nan
    x[-1, :, -1] = 0
    conv = function_of("conv", [x, w])
    (plain,) = native(conv)(np, [x, w], [None])
    whole = Var("y", conv.body.result.tensor)
    leaky = Call("leaky_relu", (conv.body.result,), Attrs(alpha=alpha))
    body = Block((*conv.body.bindings(), Binding(whole, leaky)), whole)

    kernel = native(replace(conv, body=body))

    assert kernel.ops == ("conv", "leaky_relu")
    (found,) = kernel(np, [x, w], [None])
    expected = np.where(plain < 0, plain * dtype(alpha), plain)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
