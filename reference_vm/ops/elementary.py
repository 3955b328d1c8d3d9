"""Elementary functions of floats, which devices may round differently: exp, sin, tanh, erf."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final

from reference_vm.ops.definition import Array, Compute, Namespace, OpDef
from reference_vm.ops.elementwise import loop1, operator, ufunc
from reference_vm.types.dtype import FLOATS

_ERF_SMALL: Final = (
    (
        1.28379167095512558561e-01,
        -3.25042107247001499370e-01,
        -2.84817495755985104766e-02,
        -5.77027029648944159157e-03,
        -2.37630166566501626084e-05,
    ),
    (
        1.0,
        3.97917223959155352819e-01,
        6.50222499887672944485e-02,
        5.08130628187576562776e-03,
        1.32494738004321644526e-04,
        -3.96022827877536812320e-06,
    ),
)
_ERF_MIDDLE: Final = (
    (
        -2.36211856075265944077e-03,
        4.14856118683748331666e-01,
        -3.72207876035701323847e-01,
        3.18346619901161753674e-01,
        -1.10894694282396677476e-01,
        3.54783043256182359371e-02,
        -2.16637559486879084300e-03,
    ),
    (
        1.0,
        1.06420880400844228286e-01,
        5.40397917702171048937e-01,
        7.18286544141962662868e-02,
        1.26171219808761642112e-01,
        1.36370839120290507362e-02,
        1.19844998467991074170e-02,
    ),
)
_ERF_LARGE: Final = (
    (
        -9.86494403484714822705e-03,
        -6.93858572707181764372e-01,
        -1.05586262253232909814e01,
        -6.23753324503260060396e01,
        -1.62396669462573470355e02,
        -1.84605092906711035994e02,
        -8.12874355063065934246e01,
        -9.81432934416914548592e00,
    ),
    (
        1.0,
        1.96512716674392571292e01,
        1.37657754143519042600e02,
        4.34565877475229228821e02,
        6.45387271733267880336e02,
        4.29008140027567833386e02,
        1.08635005541779435134e02,
        6.57024977031928170135e00,
        -6.04244152148580987438e-02,
    ),
)
"""Numerators and denominators, by rising degree, of the rational functions with which FreeBSD's
libm computes erf: below 0.84375, below 1.25, and below 1 / 0.35."""

_ERF_ONE: Final = 8.45062911510467529297e-01
_ERF_SATURATED: Final = 6.0
"""erf is 1 in f64 from here on."""

_ERFC_TAIL: Final = (
    (
        -9.86494292470009928597e-03,
        -7.99283237680523006574e-01,
        -1.77579549177547519889e01,
        -1.60636384855821916062e02,
        -6.37566443368389627722e02,
        -1.02509513161107724954e03,
        -4.83519191608651397019e02,
    ),
    (
        1.0,
        3.03380607434824582924e01,
        3.25792512996573918826e02,
        1.53672958608443695994e03,
        3.19985821950859553908e03,
        2.55305040643316442583e03,
        4.74528541206955367215e02,
        -2.24409524465858183362e01,
    ),
)
"""As `_ERF_LARGE`, from 1 / 0.35 on."""


def _polynomial(z: Array, coefficients: Sequence[float]) -> Array:
    return reduce(lambda total, c: total * z + c, reversed(coefficients[:-1]), coefficients[-1])


def _rational(z: Array, parts: tuple[Sequence[float], Sequence[float]]) -> Array:
    return _polynomial(z, parts[0]) / _polynomial(z, parts[1])


def _erfc_over(xp: Namespace, size: Array) -> Array:
    """Return 1 - erf for sizes from 1.25 on."""
    inverse = 1.0 / (size * size)
    near = size < 1 / 0.35
    rest = xp.where(near, _rational(inverse, _ERF_LARGE), _rational(inverse, _ERFC_TAIL))
    high = size.astype(xp.float32).astype(xp.float64)  # its square is exact
    tail = xp.exp(-high * high - 0.5625) * xp.exp((high - size) * (high + size) + rest)
    return tail / size


def erf_f64(xp: Namespace, x: Array) -> Array:
    """Return the error function of f64 elements, within 1 ULP."""
    size = xp.abs(x)
    square = xp.minimum(size, 1.0) ** 2
    small = x + x * _rational(square, _ERF_SMALL)
    middle = _ERF_ONE + _rational(xp.clip(size, 0.5, 1.5) - 1.0, _ERF_MIDDLE)
    large = 1.0 - _erfc_over(xp, xp.clip(size, 1.25, _ERF_SATURATED))
    positive = xp.where(size < 1.25, middle, large)
    return xp.where(size < 0.84375, small, xp.copysign(positive, x) + 0.0 * _finite(xp, x))


def _finite(xp: Namespace, x: Array) -> Array:
    """Return ``x`` with infinities as 0, so that 0 times it is 0, or NaN for NaN."""
    return xp.where(xp.isinf(x), xp.zeros_like(x), x)


def _erf(xp: Namespace, x: Array) -> Array:
    return xp.asarray(erf_f64(xp, x.astype(xp.float64))).astype(x.dtype)


def _function(name: str, summary: str, compute: Compute | None = None) -> OpDef:
    library = name.replace("a", "arc", 1) if name.startswith("a") else name
    return operator(name, summary, FLOATS, compute or ufunc(library), loop1(name))


OPS: Final[tuple[OpDef, ...]] = (
    _function("exp", "The exponential function."),
    _function("log", "The natural logarithm; NaN below 0."),
    _function("sin", "The sine of radians."),
    _function("cos", "The cosine of radians."),
    _function("tan", "The tangent of radians."),
    _function("asin", "The inverse sine, in radians."),
    _function("acos", "The inverse cosine, in radians."),
    _function("atan", "The inverse tangent, in radians."),
    _function("sinh", "The hyperbolic sine."),
    _function("cosh", "The hyperbolic cosine."),
    _function("tanh", "The hyperbolic tangent."),
    _function("asinh", "The inverse hyperbolic sine."),
    _function("acosh", "The inverse hyperbolic cosine."),
    _function("atanh", "The inverse hyperbolic tangent."),
    _function("erf", "The error function.", _erf),
)
