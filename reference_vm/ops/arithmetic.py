"""Arithmetic, element by element: add, subtract, multiply, the divisions, pow, maximum, abs.

Integers wrap. An integer divided by 0 and an integer raised to a negative power are errors that
only the data can tell; the minimum divided by -1 is the minimum, with the remainder 0.
"""

from __future__ import annotations

from typing import Final

from reference_vm.loops.scalar import binary, literal
from reference_vm.ops.contents import floor_divided, remaindered
from reference_vm.ops.definition import Array, DataError, Namespace, OpDef, Trait
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


def _dim_abs(x: Dim) -> Dim:
    return greatest(x, multiply(-1, x))


OPS: Final[tuple[OpDef, ...]] = (
    operator(
        "add",
        "Add; integers wrap.",
        NUMERIC,
        ufunc("add"),
        loop2("add"),
        operands=_XY,
        traits=EXACT,
        fold=add,
    ),
    operator(
        "subtract",
        "Subtract; integers wrap.",
        NUMERIC,
        ufunc("subtract"),
        loop2("sub"),
        operands=_XY,
        traits=EXACT,
        fold=subtract,
    ),
    operator(
        "multiply",
        "Multiply; integers wrap.",
        NUMERIC,
        ufunc("multiply"),
        loop2("mul"),
        operands=_XY,
        traits=EXACT,
        fold=multiply,
    ),
    operator(
        "divide",
        "Divide floats.",
        FLOATS,
        ufunc("divide"),
        loop2("div"),
        operands=_XY,
        traits=EXACT,
    ),
    operator(
        "floor_divide",
        "Divide and round down; an integer divided by 0 is an error.",
        NUMERIC,
        _floor_divide,
        loop2("floor_div"),
        operands=_XY,
        traits=_FAILS,
        fold=floor_divided,
    ),
    operator(
        "trunc_divide",
        "Divide integers and round towards 0 (ONNX Div); dividing by 0 is an error.",
        INTEGERS,
        _trunc_divide,
        loop2("trunc_div"),
        operands=_XY,
        traits=_FAILS,
        fold=_dim_truncated,
        origin="onnx",
    ),
    operator(
        "remainder",
        "The rest of floor_divide, with the divisor's sign.",
        NUMERIC,
        _remainder,
        loop2("rem"),
        operands=_XY,
        traits=_FAILS,
        fold=remaindered,
    ),
    operator(
        "fmod",
        "The rest of division towards 0, with the dividend's sign (ONNX Mod, fmod = 1).",
        NUMERIC,
        _fmod,
        loop2("fmod"),
        operands=_XY,
        traits=_FAILS,
        fold=_dim_fmod,
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
    operator(
        "maximum",
        "The greater of two; NaN if either is.",
        NUMERIC,
        ufunc("maximum"),
        loop2("max"),
        operands=_XY,
        traits=EXACT,
        fold=greatest,
    ),
    operator(
        "minimum",
        "The smaller of two; NaN if either is.",
        NUMERIC,
        ufunc("minimum"),
        loop2("min"),
        operands=_XY,
        traits=EXACT,
        fold=least,
    ),
    operator(
        "abs",
        "The magnitude; the least integer is its own.",
        NUMERIC,
        _abs,
        loop1("abs"),
        traits=EXACT,
        fold=_dim_abs,
    ),
    operator(
        "negative",
        "Change the sign; integers wrap.",
        NUMERIC,
        ufunc("negative"),
        loop1("neg"),
        traits=EXACT,
        fold=lambda x: multiply(-1, x),
    ),
    operator(
        "sign",
        "-1, 0 or 1; NaN for NaN.",
        NUMERIC,
        ufunc("sign"),
        loop1("sign"),
        traits=EXACT,
    ),
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
    operator(
        "floor",
        "Round down to an integer.",
        NUMERIC,
        rounding("floor"),
        loop1("floor"),
        traits=EXACT,
        fold=lambda x: x,
    ),
    operator(
        "ceil",
        "Round up to an integer.",
        NUMERIC,
        rounding("ceil"),
        loop1("ceil"),
        traits=EXACT,
        fold=lambda x: x,
    ),
    operator(
        "round",
        "Round to the nearest integer, halves to the even one.",
        NUMERIC,
        rounding("rint"),
        loop1("round"),
        traits=EXACT,
        fold=lambda x: x,
    ),
)
