"""Elements without NumPy agree with NumPy and ml_dtypes, bit by bit."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from reference_vm.types import DTYPES, DType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import BF16, F8E4M3FN, F8E5M2, F16, F32, F64
from reference_vm.types.elements import decode, encode, float_bits, float_of, shortest, words

SMALL = (F16, BF16, F8E4M3FN, F8E5M2)
WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def sampled_bits(dtype: DType) -> list[int]:
    count = 1 << dtype.bits
    step = 1 if dtype.bits == 8 else 13
    return list(range(0, count, step))


@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_bits_are_the_number_that_numpy_reads(dtype: DType) -> None:
    bits = sampled_bits(dtype)
    with np.errstate(invalid="ignore"):  # a signalling NaN
        array = np.array(bits, WORDS[dtype.itemsize]).view(to_numpy(dtype)).astype(np.float64)

    found = np.array([float_of(dtype, b) for b in bits])

    np.testing.assert_array_equal(found, array)
    assert [math.copysign(1, v) for v in found] == [math.copysign(1, v) for v in array]


@pytest.mark.parametrize("dtype", [*SMALL, F32], ids=str)
def test_numbers_round_as_numpy_rounds_them(dtype: DType) -> None:
    chosen = random.Random(7)
    least = math.log2(float_of(dtype, 1)) - 3
    numbers = [2 ** chosen.uniform(least, 7) * chosen.choice((-1, 1)) for _ in range(2000)]
    numbers += [float_of(dtype, b) + float_of(dtype, b + 1) for b in range(64)]
    numbers = [n / 2 for n in numbers]

    found = np.array([float_bits(dtype, n) for n in numbers], WORDS[dtype.itemsize])

    expected = np.array(numbers).astype(to_numpy(dtype)).view(WORDS[dtype.itemsize])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_what_rounds_beyond_the_greatest_finite_number_is_refused(dtype: DType) -> None:
    greatest = max(
        float_of(dtype, b)
        for b in range(1 << (dtype.bits - 1))
        if math.isfinite(float_of(dtype, b))
    )

    assert float_of(dtype, float_bits(dtype, greatest)) == greatest
    with pytest.raises(OverflowError):
        float_bits(dtype, greatest * 1.5)


@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_the_shortest_number_rounds_back_to_the_bits(dtype: DType) -> None:
    for bits in sampled_bits(dtype):
        value = float_of(dtype, bits)
        text = shortest(dtype, bits)
        assert text in ("nan", "inf", "-inf") or "." in text or "e" in text
        if math.isfinite(value):
            assert float_bits(dtype, float(text)) == bits


def test_the_shortest_f32_has_as_few_digits_as_numpys() -> None:
    chosen = random.Random(3)
    powers = [float_bits(F32, 2.0**e) for e in range(-126, 128)]
    for bits in powers + [chosen.randrange(1, 0x7F800000) for _ in range(1000)]:
        value = np.uint32(bits).view(np.float32)
        digits = np.format_float_scientific(value, unique=True).partition("e")[0]
        ours = np.format_float_scientific(float(shortest(F32, bits))).partition("e")[0]
        assert len(ours) <= len(digits)
        assert np.float32(shortest(F32, bits)) == value


def test_f64_prints_as_python_does() -> None:
    assert shortest(F64, float_bits(F64, 0.1)) == "0.1"
    assert shortest(F64, float_bits(F64, 1e22)) == "1e+22"


@pytest.mark.parametrize("dtype", [d for d in DTYPES.values() if d.is_integer], ids=str)
def test_integers_round_trip_at_both_ends_and_are_refused_beyond(dtype: DType) -> None:
    ends = (dtype.minimum, 0, dtype.maximum)

    assert decode(dtype, encode(dtype, ends)) == ends
    for beyond in (dtype.minimum - 1, dtype.maximum + 1):
        with pytest.raises(OverflowError):
            encode(dtype, [beyond])


def test_bools_are_a_byte_each() -> None:
    assert encode(DTYPES["bool"], [True, False]) == b"\1\0"
    assert decode(DTYPES["bool"], b"\1\0") == (True, False)
    assert words(DTYPES["bool"], b"\1\0") == (1, 0)
