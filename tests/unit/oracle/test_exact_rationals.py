"""The oracle's arithmetic against exact rationals: its value is right, its bound holds a run."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reference_vm.oracle.estimate import Estimate
from tests.unit.oracle.programs import evaluate_call

Rational = Callable[[Fraction, Fraction], Fraction]
Run = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]

BINARY: dict[str, tuple[Rational, Run]] = {
    "add": (lambda x, y: x + y, np.add),
    "subtract": (lambda x, y: x - y, np.subtract),
    "multiply": (lambda x, y: x * y, np.multiply),
    "divide": (lambda x, y: x / y, np.divide),
    "maximum": (max, np.maximum),
    "minimum": (min, np.minimum),
}


def _operands(dtype: type[np.floating[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(3)
    x = (rng.standard_normal(200) * 10.0 ** rng.integers(-3, 4, 200)).astype(dtype)
    y = (rng.standard_normal(200) * 10.0 ** rng.integers(-3, 4, 200)).astype(dtype)
    return x, np.where(y == 0, dtype(1), y)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("op", BINARY)
def test_value_is_the_exact_one_and_the_bound_holds_a_run(op: str, dtype: type[Any]) -> None:
    x, y = _operands(dtype)
    exact, run = BINARY[op]

    estimate = evaluate_call(op, x, y).result

    assert isinstance(estimate, Estimate)
    with np.errstate(over="ignore"):
        seen = run(x, y)
    fine = Fraction(1, 2**52 if dtype is not np.float64 else 2**62)
    for i in range(x.size):
        right = exact(Fraction(float(x[i])), Fraction(float(y[i])))
        if not np.isfinite(seen[i]):
            continue
        assert abs(_fraction(estimate.value[i]) - right) <= abs(right) * fine
        assert abs(Fraction(float(seen[i])) - right) <= Fraction(float(estimate.errors[i]))


def _fraction(value: Any) -> Fraction:
    high = float(value)
    return Fraction(high) + Fraction(float(value - high))


@pytest.mark.parametrize("op", ["add", "multiply", "divide"])
def test_a_result_two_units_off_is_outside_the_bound(op: str) -> None:
    x, y = _operands(np.float32)

    estimate = evaluate_call(op, x, y).result

    assert isinstance(estimate, Estimate)
    wrong = estimate.value * (1 + 2.0**-22)
    assert np.all(np.abs(wrong - estimate.value) > estimate.errors)


def test_a_sum_in_half_precision_is_outside_the_bound_and_a_reordered_one_inside() -> None:
    x = np.full(4096, 0.1, np.float16)

    estimate = evaluate_call("sum", x, axis=(0,)).result

    assert isinstance(estimate, Estimate)
    half = np.float16(0)
    for value in x:
        half = np.float16(half + value)
    reordered = np.float16(np.sum(x[::-1].reshape(64, 64).astype(np.float32).sum(0)))
    assert abs(float(half) - float(estimate.value)) > float(estimate.errors)
    assert abs(float(reordered) - float(estimate.value)) <= float(estimate.errors)


@pytest.mark.parametrize(
    ("op", "left", "right", "expected"),
    [
        ("floor_divide", [7, -7, 7, -7, -(2**31)], [2, 2, -2, -2, -1], [3, -4, -4, 3, -(2**31)]),
        ("trunc_divide", [7, -7, 7, -7, -(2**31)], [2, 2, -2, -2, -1], [3, -3, -3, 3, -(2**31)]),
        ("remainder", [7, -7, 7, -7, -(2**31)], [3, 3, -3, -3, -1], [1, 2, -2, -1, 0]),
        ("fmod", [7, -7, 7, -7, -(2**31)], [3, 3, -3, -3, -1], [1, -1, 1, -1, 0]),
        ("multiply", [2**30, 3], [4, 5], [0, 15]),
        ("bitwise_left_shift", [1, 1, -1], [31, 32, 40], [-(2**31), 0, 0]),
        ("bitwise_right_shift", [-8, -8, 8], [1, 40, 40], [-4, -1, 0]),
    ],
)
def test_integers_are_exact(
    op: str, left: list[int], right: list[int], expected: list[int]
) -> None:
    estimate = evaluate_call(op, np.asarray(left, np.int32), np.asarray(right, np.int32)).result

    assert isinstance(estimate, Estimate)
    assert estimate.error is None
    assert estimate.value.tolist() == expected
