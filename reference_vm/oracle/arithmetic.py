"""What arithmetic, rounding and comparison mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from reference_vm.diagnostics import DataError
from reference_vm.oracle.definition import Meaning, Operands, between, exactly
from reference_vm.oracle.estimate import (
    ANYWHERE,
    NOT_NEGATIVE,
    VAST,
    Estimate,
    Limits,
    Wide,
    carried,
    finite_unless_undecided,
)
from reference_vm.types.dtype import BOOL, DType

ErrorRule = Callable[[Wide, Wide, Wide, Wide, Wide], Wide]
"""From x, its error, y, its error and the result to the result's error."""

LimitRule = Callable[[Estimate, Estimate], Limits]
"""From the operands to what no right result lies beyond."""


def _zero(value: Wide) -> Wide:
    return np.zeros(value.shape)


def any_error(*operands: Estimate) -> bool:
    return any(o.error is not None for o in operands)


def _propagated(
    x: Estimate, y: Estimate, value: Wide, rule: ErrorRule
) -> Callable[[], Wide] | None:
    if not any_error(x, y):
        return None
    wide = np.result_type(x.value.dtype, np.float64)
    a, b = x.value.astype(wide, copy=False), y.value.astype(wide, copy=False)
    return lambda: rule(a, x.errors, b, y.errors, value)


def _sum_error(_x: Wide, ex: Wide, _y: Wide, ey: Wide, _r: Wide) -> Wide:
    return ex + ey


def _product_error(x: Wide, ex: Wide, y: Wide, ey: Wide, _r: Wide) -> Wide:
    return carried(np.abs(x), ey) + carried(np.abs(y) + ey, ex)


def _quotient_error(x: Wide, ex: Wide, y: Wide, ey: Wide, r: Wide) -> Wide:
    least = np.abs(y) - ey
    moved = carried(np.abs(x), ey) + carried(np.abs(y), ex)
    error = np.where(moved == 0, 0.0, np.where(least > 0, moved / (np.abs(y) * least), VAST))
    return finite_unless_undecided(error, r, ex, ey)


def _extreme_error(_x: Wide, ex: Wide, _y: Wide, ey: Wide, _r: Wide) -> Wide:
    return np.maximum(ex, ey)


def _anywhere(_x: Estimate, _y: Estimate) -> Limits:
    return ANYWHERE


def _never_negative(x: Estimate, y: Estimate) -> Limits:
    """Return the limits of what has no sign where neither operand has."""
    return NOT_NEGATIVE if min(x.span[0], y.span[0]) >= 0 else ANYWHERE


def _product_limits(x: Estimate, y: Estimate) -> Limits:
    """Return the limits of a product: a square is not negative, and shares of shares are shares."""
    if x is not y and min(x.span[0], y.span[0]) < 0:
        return ANYWHERE
    sizes = (abs(end) for operand in (x, y) for end in operand.span)
    return (0.0, 1.0) if max(sizes) <= 1 else NOT_NEGATIVE


def _difference_limits(x: Estimate, y: Estimate) -> Limits:
    return NOT_NEGATIVE if x.span[0] >= y.span[1] else ANYWHERE


def _greater_limits(x: Estimate, y: Estimate) -> Limits:
    return (max(x.span[0], y.span[0]), max(x.span[1], y.span[1]))


def _lesser_limits(x: Estimate, y: Estimate) -> Limits:
    return (min(x.span[0], y.span[0]), min(x.span[1], y.span[1]))


def _binary(
    function: Callable[[Wide, Wide], Wide],
    rule: ErrorRule,
    limits: LimitRule = _anywhere,
    exact: bool = False,
    edge: Callable[[Estimate, Estimate], Wide] | None = None,
) -> Meaning:
    def meaning(call: Operands) -> Estimate:
        x, y = call[0], call[1]
        with np.errstate(all="ignore"):
            value = np.asarray(function(x.value, y.value))
            propagated = _propagated(x, y, value, rule)
            if exact and x.dtype.is_float:
                error = propagated() if propagated else None
                return call.rounding.exact(value, error, x.dtype, limits(x, y))
            if not x.dtype.is_float:
                return exactly(call, value, propagated() if propagated else None, x.dtype)
            return call.rounding.result(
                value,
                x.dtype,
                own=_zero(value),
                propagated=propagated,
                open_at=(lambda: call.open_where(edge(x, y))) if edge and propagated else None,
                limits=limits(x, y),
            )

    return meaning


def may_be_zero(x: Estimate) -> Wide:
    low, high = x.ends()
    return np.asarray((low <= 0) & (high >= 0))


def _endless_zero(x: Estimate, y: Estimate) -> Wide:
    """Return where an operand is infinite, and the other may be 0 or have either sign."""
    with np.errstate(all="ignore"):
        one = np.isinf(x.value) & may_be_zero(y) & (y.errors > 0)
        other = np.isinf(y.value) & may_be_zero(x) & (x.errors > 0)
    return np.asarray(one | other)


def _divide(call: Operands) -> Estimate:
    x, y = call[0], call[1]
    with np.errstate(all="ignore"):
        value = np.asarray(x.value / y.value)

    def near_zero() -> Wide:
        nothing = (x.errors > 0) & may_be_zero(x)  # 0 / 0 is NaN, anything else infinite
        return call.open_where(
            np.broadcast_to(may_be_zero(y) & ((y.errors > 0) | nothing), value.shape)
        )

    return call.rounding.result(
        value,
        x.dtype,
        own=_zero(value),
        propagated=_propagated(x, y, value, _quotient_error),
        open_at=near_zero if any_error(x, y) else None,
        limits=_never_negative(x, y),
    )


def wrap(values: Wide, dtype: np.dtype[Any]) -> Wide:
    """Return Python integers reduced modulo 2^bits into ``dtype``."""
    info = np.iinfo(dtype)
    span = int(info.max) - int(info.min) + 1
    shifted = (np.asarray(values, dtype=object) - int(info.min)) % span + int(info.min)
    return np.asarray(shifted, dtype=object).astype(dtype)


def _power(call: Operands) -> Estimate:
    x, y = call[0], call[1]
    if not x.dtype.is_float:
        value = _integer_power(x.value, y)
        off = np.where(x.errors + y.errors > 0, np.inf, 0.0) if any_error(x, y) else None
        return exactly(call, value, off, x.dtype)
    with np.errstate(all="ignore"):
        exponent = y.value.astype(x.value.dtype)
        value = np.asarray(np.power(x.value, exponent))
        even = y.error is None and bool(np.all(exponent % 2 == 0))
        positive = even or x.span[0] >= 0
        wide = Estimate(exponent, y.error, x.dtype, y.limits)
        noted = any_error(x, y)
        return call.rounding.result(
            value,
            x.dtype,
            own=4 * np.abs(value) * _unit(x.dtype),
            propagated=(lambda: _power_spread(x, wide, value)) if noted else None,
            open_at=(lambda: call.open_where(_power_edge(x, wide, value))) if noted else None,
            limits=NOT_NEGATIVE if positive else ANYWHERE,
        )


def _power_spread(x: Estimate, y: Estimate, value: Wide) -> Wide:
    """Return how far a power moves: to its corners, and to where the base is 0 in between."""
    spread = np.zeros(value.shape)
    bases = (*x.ends(), np.where(_crosses(x), 0.0, x.value))
    for base in bases:
        for exponent in y.ends():
            spread = np.fmax(spread, np.abs(np.power(base, exponent) - value))
    return finite_unless_undecided(spread, value, x.errors, y.errors)


def _crosses(x: Estimate) -> Wide:
    low, high = x.ends()
    return np.asarray((low < 0) & (high > 0))


def _power_edge(x: Estimate, y: Estimate, value: Wide) -> Wide:
    """Return where the base may be negative and the exponent broken, or 0 and it negative."""
    (low, high), (least, most) = x.ends(), y.ends()
    whole = (least == most) & (np.rint(y.value) == y.value)
    broken = ~whole & (low < 0) & ((high >= 0) | (least != most))
    pole = (low <= 0) & (high >= 0) & ((least < 0) | ((least <= 0) & (least != most)))
    corners = [np.isfinite(np.power(a, b)) for a in (low, high) for b in (least, most)]
    endless = np.isfinite(value) & ~np.logical_and.reduce(np.broadcast_arrays(*corners))
    one = np.isnan(y.value) & (low <= 1) & (high >= 1)  # 1 to any power is 1, even to NaN
    none = np.isnan(x.value) & (least <= 0) & (most >= 0)  # as is anything to the power 0
    moves = (low != high) | (least != most)
    return np.broadcast_to((broken | pole | endless | one | none) & moves, value.shape)


def _integer_power(base: Wide, exponent: Estimate) -> Wide:
    powers = exponent.value
    if exponent.dtype.is_float:
        powers = np.asarray(np.trunc(powers)).astype(np.int64)
    if np.any(powers < 0):
        raise DataError("negative-exponent", "pow: an integer is raised to a negative power")
    span = 1 << (base.dtype.itemsize * 8)
    a, b = np.broadcast_arrays(base.astype(object), powers.astype(object))
    flat = [pow(int(i), int(j), span) for i, j in zip(a.flat, b.flat, strict=True)]
    return wrap(np.asarray(flat, dtype=object).reshape(a.shape), base.dtype)


def _unit(dtype: DType) -> float:
    return 2.0**-24 if dtype.bits < 32 else dtype.unit_roundoff


def _shift(left: bool) -> Meaning:
    def meaning(call: Operands) -> Estimate:
        x, y = call[0].value, call[1].value
        bits = x.dtype.itemsize * 8
        a, b = np.broadcast_arrays(x.astype(object), y.astype(object))
        flat = [
            (int(i) << int(j) if left else int(i) >> int(j))
            if 0 <= int(j) < bits
            else (-1 if not left and int(i) < 0 else 0)
            for i, j in zip(a.flat, b.flat, strict=True)
        ]
        shifted = np.asarray(flat, dtype=object).reshape(a.shape)
        return exactly(call, wrap(shifted, x.dtype), open_error(call), call.dtype)

    return meaning


def _bitwise(function: Callable[[Wide, Wide], Wide]) -> Meaning:
    def meaning(call: Operands) -> Estimate:
        value = np.asarray(function(call[0].value, call[1].value))
        return exactly(call, value, open_error(call), call.dtype)

    return meaning


def open_error(call: Operands) -> Wide | None:
    """Return the error of what depends on every bit of the operands: any that is off opens it."""
    if not call.has_errors:
        return None
    return np.where(sum((o.errors for o in call.tensors()), np.zeros(())) > 0, np.inf, 0.0)


def _compare(function: Callable[[Wide, Wide], Wide]) -> Meaning:
    def meaning(call: Operands) -> Estimate:
        x, y = call[0], call[1]
        own = np.asarray(function(x.value, y.value))
        margin: Wide | None = None
        if any_error(x, y):
            wide = np.result_type(x.value.dtype, np.float64)
            with np.errstate(all="ignore"):
                gap = np.abs(x.value.astype(wide) - y.value.astype(wide))
                gap = np.nan_to_num(gap, nan=np.inf)
            error = x.errors + y.errors
            margin = np.where(error > 0, gap - error, 1.0)
        return call.decide(own, margin, BOOL)

    return meaning


def _where(call: Operands) -> Estimate:
    condition, x, y = call[0], call[1], call[2]
    value = np.where(condition.value, x.value, y.value)
    limits = _lesser_limits(x, y)[0], _greater_limits(x, y)[1]
    if not any_error(condition, x, y):
        return call.rounding.exact(value, None, x.dtype, limits)
    error = np.where(condition.value, x.errors, y.errors)
    return call.rounding.exact(value, np.maximum(error, condition.errors), x.dtype, limits)


def _clip(call: Operands) -> Estimate:
    x, low, high = call[0], call.optional(1), call.optional(2)
    value, ends = x.value, list(x.ends())
    least, most = x.span
    with np.errstate(all="ignore"):
        if low is not None:
            value = np.maximum(value, low.value)
            ends = [np.maximum(a, b) for a, b in zip(ends, low.ends(), strict=True)]
            least, most = max(least, low.span[0]), max(most, low.span[0])
        if high is not None:
            value = np.minimum(value, high.value)
            ends = [np.minimum(a, b) for a, b in zip(ends, high.ends(), strict=True)]
            least, most = min(least, high.span[1]), min(most, high.span[1])
    error = between(value, *ends) if call.has_errors else None
    return call.rounding.exact(np.asarray(value), error, x.dtype, (least, most))


def _logic(function: Callable[..., Wide]) -> Meaning:
    def meaning(call: Operands) -> Estimate:
        operands = call.tensors()
        own = np.asarray(function(*(o.value for o in operands)))
        error: Wide | None = None
        if any_error(*operands):
            error = np.broadcast_to(sum((o.errors for o in operands), np.zeros(())), own.shape)
        return call.rounding.exact(own, error, operands[0].dtype)

    return meaning


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType(
    {
        "add": _binary(np.add, _sum_error, _never_negative),
        "subtract": _binary(np.subtract, _sum_error, _difference_limits),
        "multiply": _binary(np.multiply, _product_error, _product_limits, edge=_endless_zero),
        "maximum": _binary(np.maximum, _extreme_error, _greater_limits, exact=True),
        "minimum": _binary(np.minimum, _extreme_error, _lesser_limits, exact=True),
        "divide": _divide,
        "pow": _power,
        "bitwise_left_shift": _shift(left=True),
        "bitwise_right_shift": _shift(left=False),
        "bitwise_and": _bitwise(np.bitwise_and),
        "bitwise_or": _bitwise(np.bitwise_or),
        "bitwise_xor": _bitwise(np.bitwise_xor),
        "equal": _compare(np.equal),
        "not_equal": _compare(np.not_equal),
        "less": _compare(np.less),
        "less_equal": _compare(np.less_equal),
        "greater": _compare(np.greater),
        "greater_equal": _compare(np.greater_equal),
        "logical_and": _logic(np.logical_and),
        "logical_or": _logic(np.logical_or),
        "logical_xor": _logic(np.logical_xor),
        "logical_not": _logic(np.logical_not),
        "where": _where,
        "clip": _clip,
    }
)
