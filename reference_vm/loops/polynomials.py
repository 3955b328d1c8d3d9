"""Transcendental functions as branch-free instructions, which compilers turn into vector code.

On f32 every function is within 2 ULP, keeps subnormals and has the special values of C's library.
``exp``, ``tanh`` and ``erf`` stay in f32; the others go through f64, where short series are far
more precise than f32 needs. On f64 the C library is called.

Coefficients are Taylor's where a series is short enough, and otherwise minimax fits of the function
that the comment names, rounded to f32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from reference_vm.loops.code import Number
from reference_vm.types.dtype import F32, F64

_LN2_HIGH: Final = 0.693359375
"""ln 2 in 10 bits: a multiple of it by a small integer is exact in f32."""

_LN2_LOW: Final = math.log(2) - _LN2_HIGH

_ROUND_F32: Final = 1.5 * 2.0**23
"""Added to a small f32, rounds it to an integer, which is then in the low bits."""

_ROUND_F64: Final = 1.5 * 2.0**52

_TANH: Final = (-3.333328366e-1, 1.333149076e-1, -5.374349654e-2, 2.065057866e-2, -5.717036780e-3)
"""(tanh(x) / x - 1) / x**2 over x**2, for abs(x) up to 0.625."""

_ERF: Final = (
    *(1.2837916613e-1, -3.7612634897e-1, 1.1283694208e-1, -2.6859270409e-2),
    *(5.2006342448e-3, -8.1374362344e-4, 8.3452214312e-5),
)
"""erf(x) / x - 1 over x**2, for abs(x) up to 0.93."""

_ERFC: Final = (
    *(-1.7468445003e-4, 1.1295149326, 6.3334691525e-1, 1.0828009248e-1),
    *(-2.5119427592e-2, 4.1710631922e-3, -4.3446262134e-4, 2.1095051125e-5),
)
"""-log(erfc(x)) over x, for x from 0.92 to 4."""

_TWO_OVER_PI_BITS: Final = 0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDE
"""The first 232 bits of 2 / pi after the point: enough for the greatest f32."""

_TWO_OVER_PI: Final = tuple(
    float((_TWO_OVER_PI_BITS >> (232 - 29 * part)) & (2**29 - 1)) * 2.0 ** (-29 * part)
    for part in range(1, 9)
)
"""2 / pi in parts of 29 bits; an f32 times a part is exact in f64."""


def horner(x: Number, coefficients: Sequence[float]) -> Number:
    """Return the polynomial with these coefficients, constant first."""
    result = x.like(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = result.fma(x, coefficient)
    return result


def copy_sign(magnitude: Number, sign: Number) -> Number:
    """Return the first number with the sign of the second."""
    return magnitude.binary("copysign", sign)


def _scale(x: Number, exponent: Number) -> Number:
    """Return ``x * 2**exponent``, for a normal result."""
    f32 = x.dtype == F32
    bias, shift = (127, 23) if f32 else (1023, 52)
    return x * (exponent + bias).shift_left(shift).as_float()


def exp_f32(x: Number) -> Number:
    """``2**k * exp(r)``; the scaling in two steps gives subnormals and infinity rightly."""
    inside = x.gt(89.0).select(x.like(89.0), x.lt(-104.0).select(x.like(-104.0), x))
    rounded = inside.fma(1 / math.log(2), _ROUND_F32)
    k = rounded - _ROUND_F32
    r = k.fma(-_LN2_LOW, k.fma(-_LN2_HIGH, inside))
    taylor = [1 / math.factorial(n) for n in range(2, 8)]
    p = horner(r, taylor).fma(r * r, r) + 1.0
    exponent = rounded.bits() - rounded.like(_ROUND_F32).bits()
    half = exponent.shift_right(1)
    return _scale(_scale(p, half), exponent - half)


def tanh_f32(x: Number) -> Number:
    size = x.unary("abs")
    square = x * x
    small = horner(square, _TANH).fma(square * x, x)
    large = 1.0 - size.like(2.0) / (exp_f32(size + size) + 1.0)
    return x.is_nan().select(x, copy_sign(size.lt(0.625).select(small, large), x))


def erf_f32(x: Number) -> Number:
    size = x.unary("abs")
    small = horner(x * x, _ERF).fma(x, x)
    inside = size.gt(4.0).select(size.like(4.0), size)
    large = 1.0 - exp_f32(-horner(inside, _ERFC))
    return size.lt(0.93).select(small, x.is_nan().select(x, copy_sign(large, x)))


def _exp2(x: Number) -> Number:
    """``2**x`` in f64 to some 1e-13, for what rounds to f32: 0 below -200, infinite above 200."""
    inside = x.gt(200.0).select(x.like(200.0), x.lt(-200.0).select(x.like(-200.0), x))
    rounded = inside + _ROUND_F64
    r = inside - (rounded - _ROUND_F64)
    p = horner(r, [math.log(2) ** n / math.factorial(n) for n in range(12)])
    return _scale(p, rounded.bits() - rounded.like(_ROUND_F64).bits())


def _exp(x: Number) -> Number:
    return _exp2(x * (1 / math.log(2)))


def _log2(x: Number) -> Number:
    """The binary logarithm of an f64 that is normal, 0, infinite or NaN; NaN below 0."""
    bits = x.bits()
    exponent = (bits - _HALF_SQUARED_BITS).shift_right(52)
    mantissa = (bits - exponent.shift_left(52)).as_float()
    s = (mantissa - 1.0) / (mantissa + 1.0)
    series = horner(s * s, [2 / math.log(2) / (2 * n + 1) for n in range(10)])
    result = series.fma(s, exponent.cast(F64))
    result = x.eq(math.inf).select(x, result)
    result = x.eq(0.0).select(x.like(-math.inf), result)
    return x.ge(0.0).select(result, x.like(math.nan))


_HALF_SQUARED_BITS: Final = 0x3FE6A09E667F3BCD
"""The bits of the square root of 1/2: mantissas are taken from there to twice that."""


def _log(x: Number) -> Number:
    return _log2(x) * math.log(2)


def _quadrants(x: Number) -> tuple[Number, Number]:
    """Return an f64 that was an f32 modulo pi/2, from -pi/4 to pi/4, and the number of quarters.

    Each part of ``x * 2/pi`` is exact and loses its multiples of 4 exactly.
    """
    parts: list[Number] = []
    for part in _TWO_OVER_PI:
        product = x * part
        parts.append((product * 0.25).unary("round").fma(-4.0, product))
    total = parts[-1]
    for part_number in reversed(parts[:-1]):
        total = total + part_number
    rounded = total + _ROUND_F64
    quarters = rounded - _ROUND_F64
    rest = parts[0] - quarters
    for part_number in parts[1:]:
        rest = rest + part_number
    return rest * (math.pi / 2), rounded.bits()


def _sine_and_cosine(x: Number) -> tuple[Number, Number]:
    r, quarters = _quadrants(x)
    square = r * r
    sine = horner(square, [(-1) ** n / math.factorial(2 * n + 1) for n in range(8)]) * r
    cosine = horner(square, [(-1) ** n / math.factorial(2 * n) for n in range(9)])
    odd = (quarters & 1).ne(0)
    sin = odd.select(cosine, sine)
    cos = odd.select(sine, cosine)
    negative_cos = ((quarters + 1) & 2).ne(0)
    return (quarters & 2).ne(0).select(-sin, sin), negative_cos.select(-cos, cos)


def _sin(x: Number) -> Number:
    return _keep_zero(x, _sine_and_cosine(x)[0])


def _cos(x: Number) -> Number:
    return _sine_and_cosine(x)[1]


def _tan(x: Number) -> Number:
    sine, cosine = _sine_and_cosine(x)
    return _keep_zero(x, sine / cosine)


def _keep_zero(x: Number, result: Number) -> Number:
    return x.eq(0.0).select(x, result)


def _near_zero(x: Number, cubic: float, quintic: float, otherwise: Number) -> Number:
    """Return ``x + cubic * x**3 + quintic * x**5`` where x is small, which keeps its precision.

    The sign is that of ``x``: of -0 with a ``cubic`` below 0 the sum would be +0.
    """
    square = x * x
    series = (square * quintic + cubic) * square * x + x
    return x.unary("abs").lt(4e-3).select(copy_sign(series, x), otherwise)


def _sinh(x: Number) -> Number:
    e = _exp(x)
    return _near_zero(x, 1 / 6, 1 / 120, (e - 1.0 / e) * 0.5)


def _cosh(x: Number) -> Number:
    e = _exp(x)
    return (e + 1.0 / e) * 0.5


def _asinh(x: Number) -> Number:
    size = x.unary("abs")
    result = copy_sign(_log(size + (size * size + 1.0).unary("sqrt")), x)
    return _near_zero(x, -1 / 6, 3 / 40, x.is_nan().select(x, result))


def _acosh(x: Number) -> Number:
    return x.ge(1.0).select(_log(x + (x * x - 1.0).unary("sqrt")), x.like(math.nan))


def _atanh(x: Number) -> Number:
    return _near_zero(x, 1 / 3, 1 / 5, _log((x + 1.0) / (1.0 - x)) * 0.5)


def _atan(x: Number) -> Number:
    """Halve the angle twice, then Taylor; beyond 1 by the reciprocal."""
    size = x.unary("abs")
    beyond = size.gt(1.0)
    t = beyond.select(1.0 / size, size)
    for _ in range(2):
        t = t / ((t * t + 1.0).unary("sqrt") + 1.0)
    series = horner(t * t, [(-1) ** n / (2 * n + 1) for n in range(9)]) * t * 4.0
    angle = beyond.select(math.pi / 2 - series, series)
    return x.is_nan().select(x, copy_sign(angle, x))


def _asin(x: Number) -> Number:
    return _atan(x / (1.0 - x * x).unary("sqrt"))


def _acos(x: Number) -> Number:
    return _atan(((1.0 - x) / (x + 1.0)).unary("sqrt")) * 2.0


_IN_F32: Final[Mapping[str, Callable[[Number], Number]]] = MappingProxyType(
    {"exp": exp_f32, "tanh": tanh_f32, "erf": erf_f32}
)
_THROUGH_F64: Final[Mapping[str, Callable[[Number], Number]]] = MappingProxyType(
    {
        "log": _log,
        "sin": _sin,
        "cos": _cos,
        "tan": _tan,
        "sinh": _sinh,
        "cosh": _cosh,
        "asin": _asin,
        "acos": _acos,
        "atan": _atan,
        "asinh": _asinh,
        "acosh": _acosh,
        "atanh": _atanh,
    }
)


def apply(function: str, x: Number) -> Number:
    """Return a transcendental function of `scalar.UNARY`, of an f32 or an f64."""
    if x.dtype == F64:
        return x.call(function)
    assert x.dtype == F32, f"{function} of {x.dtype}"
    if function in _IN_F32:
        return _IN_F32[function](x)
    return _THROUGH_F64[function](x.cast(F64)).cast(F32)


def power(x: Number, y: Number) -> Number:
    """Return ``x ** y`` with the special cases of C's ``pow``."""
    if x.dtype == F64:
        return x.call("pow", y)
    base, exponent = x.cast(F64), y.cast(F64)
    size = base.unary("abs")
    magnitude = _exp2(exponent * _log2(size)).cast(F32)
    result = size.eq(1.0).select(magnitude.like(1.0), magnitude)
    whole = exponent.unary("floor").eq(exponent)
    half = exponent * 0.5
    odd = whole & half.unary("floor").ne(half)
    result = (odd & base.bits().lt(0)).select(-result, result)
    rootless = base.lt(0.0) & ~whole & size.ne(math.inf)
    result = rootless.select(result.like(math.nan), result)
    result = (x.is_nan() | y.is_nan()).select(x + y, result)
    return (y.eq(0.0) | x.eq(1.0)).select(result.like(1.0), result)
