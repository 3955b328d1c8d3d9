"""Comparisons, logic and bits, element by element.

A shift by the width or more, or by a negative number, gives 0; a negative number shifted right so
gives -1.
"""

from __future__ import annotations

from typing import Final

from reference_vm.loops.scalar import Scalar, binary, compare, literal, unary
from reference_vm.ops.contents import dims_equal, negated
from reference_vm.ops.definition import Array, Namespace, OpDef
from reference_vm.ops.elementwise import EXACT, X, Y, loop, loop1, loop2, operator, ufunc
from reference_vm.ops.shapes import lower_bound
from reference_vm.types import UNKNOWN, Dim
from reference_vm.types.dim import subtract
from reference_vm.types.dtype import BOOL, COMPUTED, INTEGERS, NUMERIC

_XY: Final = (X, Y)
_BITS: Final = (BOOL, *INTEGERS)


def _dim_less(x: Dim, y: Dim) -> Dim:
    if lower_bound(subtract(y, x)) >= 1:
        return 1
    return 0 if lower_bound(subtract(x, y)) >= 0 else UNKNOWN


def _dim_and(x: Dim, y: Dim) -> Dim:
    if x == 0 or y == 0:
        return 0
    return 1 if x == y == 1 else UNKNOWN


def _dim_or(x: Dim, y: Dim) -> Dim:
    return negated(_dim_and(negated(x), negated(y)))


def _comparison(name: str, scalar: str, words: str, fold: object = None) -> OpDef:
    """Return a comparison; equality also compares bools."""
    return operator(
        name,
        f"Whether x is {words} y; nothing compares with NaN but by not_equal.",
        COMPUTED if scalar in ("eq", "ne") else NUMERIC,
        ufunc(name),
        loop(lambda x, y: compare(scalar, x, y)),
        operands=_XY,
        result=BOOL,
        traits=EXACT,
        fold=fold if callable(fold) else None,
    )


def _logical(name: str, scalar: str, fold: object) -> OpDef:
    return operator(
        f"logical_{name}",
        f"Logical {name} of bools.",
        (BOOL,),
        ufunc(f"logical_{name}"),
        loop2(scalar),
        operands=_XY,
        result=BOOL,
        traits=EXACT,
        fold=fold if callable(fold) else None,
    )


def _bitwise(name: str) -> OpDef:
    return operator(
        f"bitwise_{name}",
        f"Bitwise {name} of integers or bools.",
        _BITS,
        ufunc(f"bitwise_{name}"),
        loop2(name),
        operands=_XY,
        traits=EXACT,
    )


def _invert_element(x: Scalar) -> Scalar:
    if x.dtype.is_bool:
        return unary("not", x)
    ones = -1 if x.dtype.is_signed else x.dtype.maximum
    return binary("xor", x, literal(ones, x))


def _shift_count(xp: Namespace, x: Array, y: Array) -> tuple[Array, Array]:
    """Return whether each count is less than the width, and counts that are."""
    width = x.dtype.itemsize * 8
    fits = (y >= 0) & (y < width)
    return fits, xp.where(fits, y, xp.zeros_like(y))


def _shift_left(xp: Namespace, x: Array, y: Array) -> Array:
    fits, count = _shift_count(xp, x, y)
    shifted = xp.left_shift(x, count)
    return xp.where(fits, shifted, xp.zeros_like(shifted))


def _shift_right(xp: Namespace, x: Array, y: Array) -> Array:
    fits, count = _shift_count(xp, x, y)
    width = x.dtype.itemsize * 8
    last = xp.full_like(count, width - 1)
    beyond = xp.right_shift(x, last) if x.dtype.kind == "i" else xp.zeros_like(x)
    return xp.where(fits, xp.right_shift(x, count), beyond)


OPS: Final[tuple[OpDef, ...]] = (
    _comparison("equal", "eq", "equal to", dims_equal),
    _comparison("not_equal", "ne", "different from", lambda x, y: negated(dims_equal(x, y))),
    _comparison("less", "lt", "less than", _dim_less),
    _comparison("less_equal", "le", "at most", lambda x, y: negated(_dim_less(y, x))),
    _comparison("greater", "gt", "greater than", lambda x, y: _dim_less(y, x)),
    _comparison("greater_equal", "ge", "at least", lambda x, y: negated(_dim_less(x, y))),
    _logical("and", "and", _dim_and),
    _logical("or", "or", _dim_or),
    _logical("xor", "xor", lambda x, y: negated(dims_equal(x, y))),
    operator(
        "logical_not",
        "Logical not of bools.",
        (BOOL,),
        ufunc("logical_not"),
        loop1("not"),
        result=BOOL,
        traits=EXACT,
        fold=negated,
    ),
    _bitwise("and"),
    _bitwise("or"),
    _bitwise("xor"),
    operator(
        "bitwise_invert",
        "Flip every bit of integers, or logical not of bools.",
        _BITS,
        ufunc("invert"),
        loop(_invert_element),
        traits=EXACT,
    ),
    operator(
        "bitwise_left_shift",
        "Shift bits up by y; 0 from the width on.",
        INTEGERS,
        _shift_left,
        loop2("shl"),
        operands=_XY,
        traits=EXACT,
    ),
    operator(
        "bitwise_right_shift",
        "Shift bits down by y, keeping the sign; 0 or -1 from the width on.",
        INTEGERS,
        _shift_right,
        loop2("shr"),
        operands=_XY,
        traits=EXACT,
    ),
)
