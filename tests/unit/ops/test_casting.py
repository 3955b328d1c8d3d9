"""cast between all computed dtypes, where, clip and the tests for NaN and infinity."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reference_vm.ops.catalog import OPS
from reference_vm.types import DType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import BF16, BOOL, COMPUTED, F16, F32, F64, FLOATS, I8, I64, U8
from tests.unit.ops.values import Array, Number, array, assert_same, python, special, wrap


def cast(x: Array, to: DType) -> Array:
    found: Array = OPS["cast"].compute(np, x, to=to, saturate=True)
    return found


def expected(value: Number, to: DType) -> Number:
    """Return what a number becomes in dtype ``to``, by Python's own numbers."""
    if to.is_bool:
        return value != 0
    if to.is_integer:
        if not isinstance(value, float):
            return wrap(int(value), to)
        if math.isnan(value):
            return 0
        limited = max(float(to.minimum), min(float(to.maximum), value))
        return max(to.minimum, min(to.maximum, math.trunc(limited)))
    with np.errstate(all="ignore"):
        return _through(value, to)


def _through(value: Number, to: DType) -> float:
    single = to == BF16 or (to == F16 and not isinstance(value, float))
    wide = np.float64(np.float32(value)) if single else np.float64(value)
    return float(np.asarray(wide).astype(to_numpy(to)).astype(np.float64))


@pytest.mark.parametrize("to", COMPUTED, ids=str)
@pytest.mark.parametrize("dtype", COMPUTED, ids=str)
def test_casts_of_special_values(dtype: DType, to: DType) -> None:
    x = array(dtype, special(dtype))
    found = cast(x, to)
    assert found.dtype == to_numpy(to)
    assert_same(found, [expected(v, to) for v in python(x)], x)


@pytest.mark.parametrize("to", COMPUTED, ids=str)
@pytest.mark.parametrize("dtype", COMPUTED, ids=str)
def test_casts_keep_the_shape(dtype: DType, to: DType) -> None:
    for shape in ((), (0,), (2, 0, 3), (2, 1)):
        found = cast(np.zeros(shape, to_numpy(dtype)), to)
        assert isinstance(found, np.ndarray)
        assert found.shape == shape


def test_floats_beyond_an_integers_range_saturate() -> None:
    x = array(F32, [300.0, -1.0, -0.9, 255.9, math.inf, -math.inf, math.nan])
    assert cast(x, U8).tolist() == [255, 0, 0, 255, 255, 0, 0]
    assert cast(array(F64, [1e19, -1e19]), I64).tolist() == [2**63 - 1, -(2**63)]


def test_f32_to_f16_rounds_to_even_and_overflows_to_infinity() -> None:
    x = array(F32, [2049.0, 2051.0, 65519.0, 65520.0, -65520.0])
    assert cast(x, F16).tolist() == [2048.0, 2052.0, 65504.0, math.inf, -math.inf]


def test_f32_to_bf16_rounds_to_even() -> None:
    ulp = 2.0**-7
    x = array(F32, [1 + ulp / 2, 1 + 1.5 * ulp, 1 + ulp / 2 + 2.0**-20])
    assert python(cast(x, BF16)) == [1.0, 1 + 2 * ulp, 1 + ulp]


@pytest.mark.parametrize("dtype", COMPUTED, ids=str)
def test_where_chooses_by_condition(dtype: DType) -> None:
    x = array(dtype, special(dtype))
    y = x[::-1].copy()
    condition = np.arange(len(x)) % 3 == 0
    found = OPS["where"].compute(np, condition, x, y)
    choices = zip(condition.tolist(), python(x), python(y), strict=True)
    assert found.dtype == x.dtype
    assert_same(found, [a if c else b for c, a, b in choices])


def test_where_broadcasts_all_three() -> None:
    found = OPS["where"].compute(
        np, np.ones((2, 1, 1), bool), np.zeros((3, 1)), np.zeros((1, 1, 4))
    )
    assert found.shape == (2, 3, 4)


@pytest.mark.parametrize("dtype", [I8, U8, F16, BF16, F32, F64], ids=str)
def test_clip_keeps_between_its_bounds(dtype: DType) -> None:
    x = array(dtype, special(dtype))
    low, high = array(dtype, [1]).reshape(()), array(dtype, [3]).reshape(())
    clip = OPS["clip"].compute
    numbers = python(x)
    assert_same(clip(np, x, low, high), [v if v != v else min(max(v, 1), 3) for v in numbers], x)
    assert_same(clip(np, x, low), [v if v != v else max(v, 1) for v in numbers], x)
    assert_same(clip(np, x, None, high), [v if v != v else min(v, 3) for v in numbers], x)
    assert_same(clip(np, x), numbers, x)


def test_clip_gives_max_where_min_is_greater() -> None:
    low, high = np.float32(5), np.float32(2)
    found = OPS["clip"].compute(np, array(F32, [0, 3, 9]), np.asarray(low), np.asarray(high))
    assert found.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_isnan_and_isinf(dtype: DType) -> None:
    x = array(dtype, special(dtype))
    numbers = [float(v) for v in python(x)]
    assert_same(OPS["isnan"].compute(np, x), [math.isnan(v) for v in numbers])
    for negative in (False, True):
        for positive in (False, True):
            found = OPS["isinf"].compute(np, x, detect_negative=negative, detect_positive=positive)
            infinities = ({-math.inf} if negative else set()) | ({math.inf} if positive else set())
            assert_same(found, [v in infinities for v in numbers])


def test_a_bool_is_0_or_1_in_every_dtype() -> None:
    for to in COMPUTED:
        assert_same(cast(array(BOOL, [False, True]), to), (expected(v, to) for v in (0, 1)))
