"""Fourier transforms as machine code compute what the oracle means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.targets.judged import check, function_of, native

RANDOM = np.random.default_rng(3)


def _number(value: int) -> Any:
    return np.array(value, np.int64)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 2),
    st.integers(1, 70),
    st.integers(0, 90),
    st.integers(1, 20),
    st.booleans(),
    st.booleans(),
    st.sampled_from([np.float32, np.float64]),
)
def test_any_frames(
    signals: int, length: int, more: int, step: int, windowed: bool, onesided: bool, dtype: Any
) -> None:
    signal = RANDOM.normal(size=(signals, length + more)).astype(dtype)
    operands = [signal, _number(step), RANDOM.normal(size=length).astype(dtype), _number(length)]
    if not windowed:
        operands[2] = np.ones(length, dtype)
    function = function_of("stft", operands, onesided=onesided)
    check(function, operands, hosts=frozenset({1, 3}))


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 5),
    st.integers(1, 40),
    st.integers(1, 60),
    st.booleans(),
    st.sampled_from([np.float32, np.float64]),
)
def test_any_transform(rows: int, size: int, points: int, onesided: bool, dtype: Any) -> None:
    operands = [RANDOM.normal(size=(rows, size, 1)).astype(dtype), _number(points), _number(1)]
    function = function_of("dft", operands, onesided=onesided)
    check(function, operands, hosts=frozenset({1, 2}))


@pytest.mark.parametrize("points", [1_024, 1_025])
def test_long_transforms_are_the_librarys(points: int) -> None:
    x = RANDOM.normal(size=(2, points, 1)).astype(np.float32)
    operands = [x, _number(points), _number(1)]
    kernel = native(function_of("dft", operands))
    call = kernel.native([x.shape, *operands[1:]])
    assert (call is None) == (points > 1_024)
