"""Special values of every dtype, and what plain Python says of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from reference_vm.types import DType
from reference_vm.types.arrays import to_numpy

Number: TypeAlias = int | float | bool
Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_FLOAT_LIMITS = {
    "f16": (2.0**-24, 2.0**-14, 65504.0),
    "bf16": (2.0**-133, 2.0**-126, 3.3895313892515355e38),
    "f32": (2.0**-149, 2.0**-126, float(np.finfo(np.float32).max)),
    "f64": (5e-324, 2.0**-1022, float(np.finfo(np.float64).max)),
}
"""The least subnormal, the least normal and the greatest number."""


def special(dtype: DType) -> list[Number]:
    """Return limits, neighbours of 0, NaN and infinities of ``dtype``, and a few plain numbers."""
    if dtype.is_bool:
        return [False, True]
    if dtype.is_integer:
        low, high = dtype.minimum, dtype.maximum
        middle = [-1, -2, -7] if low < 0 else [high // 2]
        return [low, low + 1, *middle, 0, 1, 2, 3, 8, high - 1, high]
    least, normal, most = _FLOAT_LIMITS[dtype.name]
    positive = [0.0, least, normal, 0.5, 1.0, 1.5, 2.5, 3.0, 7.25, most, math.inf]
    return [*positive, *(-v for v in positive), math.nan]


def array(dtype: DType, values: Iterable[Number]) -> Array:
    return np.asarray(list(values), dtype=to_numpy(dtype))


def pairs(dtype: DType) -> tuple[Array, Array]:
    """Return all pairs of special values, as two vectors."""
    values = special(dtype)
    return (
        array(dtype, (x for x in values for _ in values)),
        array(dtype, (y for _ in values for y in values)),
    )


def python(values: Array) -> list[Number]:
    """Return the elements as Python's ints, floats or bools, which hold every dtype exactly."""
    if values.dtype.kind in "biu":
        return [v.item() for v in values.ravel()]
    with np.errstate(all="ignore"):
        return [float(v) for v in values.ravel()]


def wrap(value: int, dtype: DType) -> int:
    return (value - dtype.minimum) % (1 << dtype.bits) + dtype.minimum


def rounded(value: Number, dtype: DType) -> Number:
    """Return what an operator of ``dtype`` makes of an exact, or f64, result."""
    if dtype.is_bool:
        return bool(value)
    if dtype.is_integer:
        return wrap(int(value), dtype)
    with np.errstate(all="ignore"):
        single = np.float64(value) if dtype.name == "f64" else np.float32(value)
        return float(np.asarray(single).astype(to_numpy(dtype)).astype(np.float64))


def same(found: Number, expected: Number) -> bool:
    """Whether two numbers are equal, zeros by sign, NaN equal to NaN."""
    if isinstance(expected, float) and math.isnan(expected):
        return isinstance(found, float) and math.isnan(found)
    if expected == 0 and isinstance(expected, float):
        return found == 0 and math.copysign(1, found) == math.copysign(1, expected)
    return found == expected


def assert_same(found: Array, expected: Iterable[Number], *operands: Array) -> None:
    """Fail at the first element that differs, with its operands."""
    columns = [python(o) for o in operands]
    for i, (got, want) in enumerate(zip(python(found), expected, strict=True)):
        inputs = ", ".join(str(c[i]) for c in columns)
        assert same(got, want), f"({inputs}): found {got}, expected {want}"


def lift(function: Callable[..., Number], *operands: Array) -> list[Number]:
    """Return Python's ``function`` of the elements of vectors of the same length."""
    return [function(*row) for row in zip(*map(python, operands), strict=True)]
