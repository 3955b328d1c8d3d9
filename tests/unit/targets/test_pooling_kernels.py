"""Pools as machine code compute what the oracle means, whatever their windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reference_vm.diagnostics import CompileError
from tests.unit.targets.judged import check, function_of

POOLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("max_pool", {}),
    ("average_pool", {"count_include_pad": False}),
    ("average_pool", {"count_include_pad": True}),
    ("lp_pool", {"p": 1}),
    ("lp_pool", {"p": 2}),
)


@st.composite
def _windows(draw: st.DrawFn) -> tuple[dict[str, Any], tuple[int, ...]]:
    rank = draw(st.integers(1, 3))

    def each(least: int, most: int) -> tuple[int, ...]:
        return tuple(draw(st.integers(least, most)) for _ in range(rank))

    kernel, strides, dilations = each(1, 3), each(1, 3), each(1, 2)
    sizes = tuple(n + (k - 1) * 2 for n, k in zip(each(1, 9), kernel, strict=True))
    attrs: dict[str, Any] = {"kernel_shape": kernel, "strides": strides, "dilations": dilations}
    auto_pad = draw(st.sampled_from(["NOTSET"] * 3 + ["VALID", "SAME_UPPER", "SAME_LOWER"]))
    least = min(kernel) - 1
    pads = {"pads": each(0, least) + each(0, least)}
    attrs |= {"auto_pad": auto_pad} if auto_pad != "NOTSET" else pads
    attrs["ceil_mode"] = auto_pad != "VALID" and draw(st.booleans())
    return attrs, (*(draw(st.integers(1, 3)) for _ in range(2)), *sizes)


@pytest.mark.parametrize(("op", "more"), POOLS, ids=lambda x: x if isinstance(x, str) else None)
@settings(max_examples=25, deadline=None)
@given(_windows(), st.sampled_from([np.float32, np.float64]))
def test_any_pool(op: str, more: Any, windows: Any, dtype: Any) -> None:
    attrs, shape = windows
    x = np.random.default_rng(2).normal(size=shape).astype(dtype)
    try:
        function = function_of(op, [x], **attrs, **more)
    except CompileError:
        assume(False)
    check(function, [x])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_the_greatest_integer_of_each_window(dtype: Any) -> None:
    info = np.iinfo(dtype)
    x = np.random.default_rng(2).integers(info.min, info.max, (2, 3, 9, 8), dtype=dtype)
    check(function_of("max_pool", [x], kernel_shape=(3, 2), strides=(2, 2), pads=(1, 0, 1, 1)), [x])


def test_nan_is_the_greatest_of_its_windows_only() -> None:
    x = np.random.default_rng(2).normal(size=(1, 1, 9, 40)).astype(np.float32)
    x[0, 0, 4, 7], x[0, 0, 2, 30], x[0, 0, 7] = np.nan, np.inf, -np.inf
    check(function_of("max_pool", [x], kernel_shape=(3, 3), pads=(1, 1, 1, 1)), [x])


@pytest.mark.parametrize("stride", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("width", [7, 70, 133])
def test_rows_of_many_vectors(stride: int, width: int) -> None:
    x = np.random.default_rng(4).normal(size=(2, 3, 6, width)).astype(np.float32)
    x[1, 2, 3, width // 2] = np.nan
    for op, more in POOLS:
        windows = {"kernel_shape": (2, 3), "strides": (2, stride), "pads": (0, 1, 1, 1)}
        check(function_of(op, [x], **windows, **more), [x])


@pytest.mark.parametrize("kernel", [1, 3, 4])
def test_rows_that_windows_tile(kernel: int) -> None:
    x = np.random.default_rng(4).normal(size=(2, 3, 5, 3, 20)).astype(np.float32)
    for op, more in POOLS:
        windows = {"kernel_shape": (1, 1, kernel), "strides": (1, 1, 4)}
        check(function_of(op, [x], **windows, **more), [x])


def test_the_last_window_of_a_row_ends_with_it() -> None:
    x = np.random.default_rng(4).normal(size=(1, 2, 3, 8)).astype(np.float32)
    for op, more in POOLS:
        windows = {"kernel_shape": (1, 3), "strides": (1, 2), "ceil_mode": True}
        check(function_of(op, [x], **windows, **more), [x])
