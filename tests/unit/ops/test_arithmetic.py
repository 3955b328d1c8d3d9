"""Arithmetic, comparisons and bits on all pairs of special values, against plain Python."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from reference_vm.ops.catalog import OPS
from reference_vm.ops.definition import DataError
from reference_vm.types import DType
from reference_vm.types.dtype import BOOL, COMPUTED, FLOATS, I8, I32, I64, INTEGERS, NUMERIC, U8
from tests.unit.ops.values import Number, array, assert_same, lift, pairs, rounded, special

FloatRule = Callable[[float, float], float]


def _float_sum(x: float, y: float) -> float:
    return x + y


def _float_product(x: float, y: float) -> float:
    return x * y


def _float_quotient(x: float, y: float) -> float:
    if math.isnan(x) or math.isnan(y) or (x == 0 and y == 0):
        return math.nan
    if y == 0:
        return math.copysign(math.inf, x) * math.copysign(1, y)
    return x / y


def _float_maximum(x: float, y: float) -> float:
    return math.nan if math.isnan(x) or math.isnan(y) else max(x, y)


def _float_minimum(x: float, y: float) -> float:
    return math.nan if math.isnan(x) or math.isnan(y) else min(x, y)


def _quiet(rule: FloatRule) -> FloatRule:
    def run(x: float, y: float) -> float:
        try:
            return rule(x, y)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    return run


FLOAT_RULES: dict[str, FloatRule] = {
    "add": _float_sum,
    "subtract": lambda x, y: x - y,
    "multiply": _float_product,
    "divide": _float_quotient,
    "maximum": _float_maximum,
    "minimum": _float_minimum,
    "fmod": _quiet(math.fmod),
}


def _truncated(x: int, y: int) -> int:
    return math.trunc(Fraction(x, y))


INTEGER_RULES: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "maximum": max,
    "minimum": min,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "trunc_divide": _truncated,
    "fmod": lambda x, y: x - _truncated(x, y) * y,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}
DIVISIONS = ("floor_divide", "remainder", "trunc_divide", "fmod")

COMPARISONS: dict[str, Callable[[Number, Number], bool]] = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", FLOAT_RULES)
def test_float_operators_round_the_exact_result_once(name: str, dtype: DType) -> None:
    x, y = pairs(dtype)
    found = OPS[name].compute(np, x, y)
    assert found.dtype == x.dtype
    expected = [rounded(v, dtype) for v in lift(FLOAT_RULES[name], x, y)]
    if name in ("maximum", "minimum"):  # the sign of a zero is not judged
        found, expected = found + 0, [v + 0.0 for v in expected]
        assert np.array_equal(found.astype(np.float64), np.asarray(expected), equal_nan=True)
    else:
        assert_same(found, expected, x, y)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("name", INTEGER_RULES)
def test_integer_operators_wrap(name: str, dtype: DType) -> None:
    x, y = pairs(dtype)
    if name in DIVISIONS:
        x, y = x[y != 0], y[y != 0]
    found = OPS[name].compute(np, x, y)
    assert found.dtype == x.dtype
    assert_same(found, [rounded(v, dtype) for v in lift(INTEGER_RULES[name], x, y)], x, y)


@pytest.mark.parametrize("dtype", COMPUTED, ids=str)
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_are_pythons(name: str, dtype: DType) -> None:
    if dtype == BOOL and name not in ("equal", "not_equal"):
        return
    x, y = pairs(dtype)
    found = OPS[name].compute(np, x, y)
    assert found.dtype == np.bool_
    assert_same(found, lift(COMPARISONS[name], x, y), x, y)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("name", DIVISIONS)
def test_an_integer_divided_by_0_is_an_error(name: str, dtype: DType) -> None:
    with pytest.raises(DataError) as raised:
        OPS[name].compute(np, array(dtype, [7, 7]), array(dtype, [1, 0]))
    assert raised.value.code == "division-by-zero"
    assert raised.value.help is not None
    assert "where" in raised.value.help


@pytest.mark.parametrize("dtype", [I8, I32, I64], ids=str)
def test_the_minimum_divided_by_minus_1_wraps_and_leaves_0(dtype: DType) -> None:
    x, y = array(dtype, [dtype.minimum]), array(dtype, [-1])
    for name, expected in zip(DIVISIONS, (dtype.minimum, 0, dtype.minimum, 0), strict=True):
        assert OPS[name].compute(np, x, y).item() == expected, name


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_floor_divide_and_remainder_of_floats_are_pythons(dtype: DType) -> None:
    values = [v for v in special(dtype) if math.isfinite(v) and 0.4 < abs(v) < 100]
    x = array(dtype, (a for a in values for _ in values))
    y = array(dtype, (b for _ in values for b in values))
    quotients = [rounded(v, dtype) for v in lift(operator.floordiv, x, y)]
    rests = [rounded(v, dtype) for v in lift(operator.mod, x, y)]
    assert_same(OPS["floor_divide"].compute(np, x, y), quotients, x, y)
    assert_same(OPS["remainder"].compute(np, x, y), rests, x, y)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_powers_wrap(dtype: DType) -> None:
    exponents = (0, 1, 2, 3, 9)
    x = array(dtype, (v for v in special(dtype) for _ in exponents))
    y = array(dtype, (e for _ in special(dtype) for e in exponents))
    expected = [rounded(v, dtype) for v in lift(pow, x, y)]
    assert_same(OPS["pow"].compute(np, x, y), expected, x, y)


def test_an_integer_to_a_negative_power_is_an_error() -> None:
    with pytest.raises(DataError) as raised:
        OPS["pow"].compute(np, array(I32, [2, 1]), array(I32, [3, -1]))
    assert raised.value.code == "negative-exponent"


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_shifts_from_the_width_on_leave_0_or_the_sign(dtype: DType) -> None:
    counts = [0, 1, dtype.bits - 1, dtype.bits, dtype.bits + 1, dtype.maximum]
    x = array(dtype, (v for v in special(dtype) for _ in counts))
    y = array(dtype, (c for _ in special(dtype) for c in counts))
    left = [
        rounded(v << c if c < dtype.bits else 0, dtype)
        for v, c in zip(x.tolist(), y.tolist(), strict=True)
    ]
    right = [v >> min(c, 64) for v, c in zip(x.tolist(), y.tolist(), strict=True)]
    assert_same(OPS["bitwise_left_shift"].compute(np, x, y), left, x, y)
    assert_same(OPS["bitwise_right_shift"].compute(np, x, y), right, x, y)


def test_a_shift_by_a_negative_number_is_one_beyond_the_width() -> None:
    x, y = array(I8, [5, -5]), array(I8, [-1, -3])
    assert OPS["bitwise_left_shift"].compute(np, x, y).tolist() == [0, 0]
    assert OPS["bitwise_right_shift"].compute(np, x, y).tolist() == [0, -1]


UNARY: dict[str, Callable[[Number], Number]] = {
    "abs": abs,
    "negative": operator.neg,
    "square": lambda x: x * x,
    "sign": lambda x: x + 0 if x != x or x == 0 else math.copysign(1, x),
    "relu": lambda x: x if x != x or x > 0 else 0.0,
    "floor": lambda x: x if not math.isfinite(x) or x == 0 else math.floor(x),
    "ceil": lambda x: x if not math.isfinite(x) or x == 0 else math.copysign(math.ceil(x), x),
    "round": lambda x: x if not math.isfinite(x) or x == 0 else math.copysign(round(x), x),
}


@pytest.mark.parametrize("dtype", NUMERIC, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_unary_operators_are_pythons(name: str, dtype: DType) -> None:
    x = array(dtype, special(dtype))
    found = OPS[name].compute(np, x)
    assert found.dtype == x.dtype
    if dtype.is_integer and name in ("floor", "ceil", "round"):
        expected = x.tolist()
    else:
        expected = [rounded(v, dtype) for v in lift(UNARY[name], x)]
    assert_same(found + 0 if name in ("sign", "relu") else found, expected, x)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sqrt_and_reciprocal_are_rounded_once(dtype: DType) -> None:
    x = array(dtype, special(dtype))
    roots = [
        rounded(math.sqrt(v) if v >= 0 else v if v == 0 else math.nan, dtype) for v in map(float, x)
    ]
    inverses = [rounded(_float_quotient(1.0, v), dtype) for v in map(float, x)]
    assert_same(OPS["sqrt"].compute(np, x), roots, x)
    assert_same(OPS["reciprocal"].compute(np, x), inverses, x)


def test_logic_is_that_of_bools() -> None:
    x, y = pairs(BOOL)
    assert_same(OPS["logical_and"].compute(np, x, y), lift(lambda a, b: a and b, x, y))
    assert_same(OPS["logical_or"].compute(np, x, y), lift(lambda a, b: a or b, x, y))
    assert_same(OPS["logical_xor"].compute(np, x, y), lift(operator.xor, x, y))
    assert_same(OPS["logical_not"].compute(np, x), lift(operator.not_, x))
    assert_same(OPS["bitwise_invert"].compute(np, x), lift(operator.not_, x))


def test_bitwise_invert_flips_every_bit() -> None:
    assert OPS["bitwise_invert"].compute(np, array(U8, [0, 1, 255])).tolist() == [255, 254, 0]
    assert OPS["bitwise_invert"].compute(np, array(I8, [0, -1, 127])).tolist() == [-1, 0, -128]
