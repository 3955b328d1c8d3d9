"""Arithmetic, element by element: add, subtract, multiply, the divisions, pow, maximum, abs.

Integers wrap. An integer divided by 0 and an integer raised to a negative power are errors that
only the data can tell; the minimum divided by -1 is the minimum, with the remainder 0.
"""

from __future__ import annotations

from typing import Any, Final

from reference_vm.loops.scalar import binary, literal
from reference_vm.ops.contents import Fold, floor_divided, remaindered
from reference_vm.ops.definition import Array, Compute, DataError, Namespace, OpDef, Trait
from reference_vm.ops.elementwise import (
    EXACT,
    ROUNDED,
    X,
    Y,
    loop,
    loop1,
    loop2,
    operator,
    rounding,
    ufunc,
)
from reference_vm.ops.numerics import is_float, is_signed_integer
from reference_vm.ops.shapes import greatest, least, lower_bound
from reference_vm.types import UNKNOWN, Dim
from reference_vm.types.dim import add, apply, multiply, subtract
from reference_vm.types.dtype import FLOATS, INTEGERS, NUMERIC

_XY: Final = (X, Y)
_FAILS: Final = EXACT | {Trait.CAN_FAIL}


def _refuse_zero(xp: Namespace, divisor: Array) -> None:
    if not bool(xp.all(divisor)):
        raise DataError(
            "division-by-zero",
            "an integer is divided by 0",
            "make the divisor 1 there: where(equal(b, 0), 1, b)",
        )


def _quotient_down(xp: Namespace, x: Array, y: Array) -> Array:
    """Return the integer quotient rounded down; never asks the hardware for minimum / -1."""
    if not is_signed_integer(x):
        return xp.floor_divide(x, y)
    minus_one = y == -1
    safe = xp.where(minus_one, xp.ones_like(y), y)
    return xp.where(minus_one, xp.negative(x), xp.floor_divide(x, safe))


def _floor_divide(xp: Namespace, x: Array, y: Array) -> Array:
    if is_float(x):
        return xp.floor_divide(x, y)
    _refuse_zero(xp, y)
    return _quotient_down(xp, x, y)


def _trunc_divide(xp: Namespace, x: Array, y: Array) -> Array:
    _refuse_zero(xp, y)
    down = _quotient_down(xp, x, y)
    rest = xp.subtract(x, xp.multiply(down, y))
    upwards = (rest != 0) & ((x < 0) != (y < 0))
    return xp.add(down, upwards.astype(x.dtype))


def _remainder(xp: Namespace, x: Array, y: Array) -> Array:
    if is_float(x):
        return xp.remainder(x, y)
    _refuse_zero(xp, y)
    return xp.subtract(x, xp.multiply(_quotient_down(xp, x, y), y))


def _fmod(xp: Namespace, x: Array, y: Array) -> Array:
    if is_float(x):
        return xp.fmod(x, y)
    return xp.subtract(x, xp.multiply(_trunc_divide(xp, x, y), y))


def _pow(xp: Namespace, x: Array, y: Array) -> Array:
    if is_signed_integer(y) and bool(xp.any(y < 0)):
        raise DataError(
            "negative-exponent",
            "an integer is raised to a negative power",
            "cast the operands to a float dtype first",
        )
    return xp.power(x, y)


def _abs(xp: Namespace, x: Array) -> Array:
    return x if x.dtype.kind == "u" else xp.abs(x)


def _reciprocal(xp: Namespace, x: Array) -> Array:
    return xp.divide(x.dtype.type(1), x)


def _dim_truncated(x: Dim, y: Dim) -> Dim:
    if isinstance(x, int) and isinstance(y, int) and y:
        return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    if lower_bound(x) >= 0 and lower_bound(y) >= 1:
        return apply("floordiv", x, y)
    return UNKNOWN


def _dim_fmod(x: Dim, y: Dim) -> Dim:
    down = _dim_truncated(x, y)
    return UNKNOWN if y == 0 else subtract(x, multiply(down, y))


def _dim_negated(x: Dim) -> Dim:
    return multiply(-1, x)


def _dim_abs(x: Dim) -> Dim:
    return greatest(x, _dim_negated(x))


def _exact2(
    name: str, summary: str, scalar: str, fold: Fold | None = None, compute: Compute | None = None
) -> OpDef:
    """Return an exact operator of two numbers."""
    return operator(
        name,
        summary,
        NUMERIC,
        compute or ufunc(name),
        loop2(scalar),
        operands=_XY,
        traits=EXACT,
        fold=fold,
    )


def _division(
    name: str, summary: str, scalar: str, compute: Compute, fold: Fold, **more: Any
) -> OpDef:
    """Return an operator that an integer divisor of 0 makes fail."""
    loops = loop2(scalar)
    allowed = more.pop("allowed", NUMERIC)
    return operator(
        name, summary, allowed, compute, loops, operands=_XY, traits=_FAILS, fold=fold, **more
    )


def _exact1(
    name: str, summary: str, scalar: str, fold: Fold | None = None, compute: Compute | None = None
) -> OpDef:
    """Return an exact operator of one number."""
    loops = loop1(scalar)
    return operator(name, summary, NUMERIC, compute or ufunc(name), loops, traits=EXACT, fold=fold)


def _whole(dim: Dim) -> Dim:
    return dim


OPS: Final[tuple[OpDef, ...]] = (
    _exact2("add", "Add; integers wrap.", "add", add),
    _exact2("subtract", "Subtract; integers wrap.", "sub", subtract),
    _exact2("multiply", "Multiply; integers wrap.", "mul", multiply),
    operator(
        "divide",
        "Divide floats.",
        FLOATS,
        ufunc("divide"),
        loop2("div"),
        operands=_XY,
        traits=EXACT,
    ),
    _division(
        "floor_divide",
        "Divide and round down; an integer divided by 0 is an error.",
        "floor_div",
        _floor_divide,
        floor_divided,
    ),
    _division(
        "trunc_divide",
        "Divide integers and round towards 0 (ONNX Div); dividing by 0 is an error.",
        "trunc_div",
        _trunc_divide,
        _dim_truncated,
        allowed=INTEGERS,
        origin="onnx",
    ),
    _division(
        "remainder",
        "The rest of floor_divide, with the divisor's sign.",
        "rem",
        _remainder,
        remaindered,
    ),
    _division(
        "fmod",
        "The rest of division towards 0, with the dividend's sign (ONNX Mod, fmod = 1).",
        "fmod",
        _fmod,
        _dim_fmod,
        origin="onnx",
    ),
    operator(
        "pow",
        "Raise x to the power y; an integer to a negative power is an error.",
        NUMERIC,
        _pow,
        loop2("pow"),
        operands=_XY,
        traits=ROUNDED | {Trait.CAN_FAIL},
    ),
    _exact2("maximum", "The greater of two; NaN if either is.", "max", greatest),
    _exact2("minimum", "The smaller of two; NaN if either is.", "min", least),
    _exact1("abs", "The magnitude; the least integer is its own.", "abs", _dim_abs, _abs),
    _exact1("negative", "Change the sign; integers wrap.", "neg", _dim_negated),
    _exact1("sign", "-1, 0 or 1; NaN for NaN.", "sign"),
    operator(
        "square",
        "Multiply by itself; integers wrap.",
        NUMERIC,
        ufunc("square"),
        loop(lambda x: binary("mul", x, x)),
        traits=EXACT,
        fold=lambda x: multiply(x, x),
    ),
    operator("sqrt", "The square root.", FLOATS, ufunc("sqrt"), loop1("sqrt"), traits=EXACT),
    operator(
        "reciprocal",
        "Divide 1 by it.",
        FLOATS,
        _reciprocal,
        loop(lambda x: binary("div", literal(1, x), x)),
        traits=EXACT,
        origin="onnx",
    ),
    _exact1("floor", "Round down to an integer.", "floor", _whole, rounding("floor")),
    _exact1("ceil", "Round up to an integer.", "ceil", _whole, rounding("ceil")),
    _exact1(
        "round",
        "Round to the nearest integer, halves to the even one.",
        "round",
        _whole,
        rounding("rint"),
    ),
)
