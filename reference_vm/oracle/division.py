"""What divisions into whole quotients mean, and their remainders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from reference_vm.oracle.arithmetic import any_error, wrap
from reference_vm.oracle.definition import Meaning, Operands, division_by_zero, exactly
from reference_vm.oracle.estimate import Estimate, Wide


def _integer_quotient(name: str, truncate: bool) -> Callable[[Wide, Wide], tuple[Wide, Wide]]:
    """Return a function to quotient and rest, in unbounded integers, wrapped at the end."""

    def divide(x: Wide, y: Wide) -> tuple[Wide, Wide]:
        if np.any(y == 0):
            raise division_by_zero(name)
        a, b = np.broadcast_arrays(x.astype(object), y.astype(object))
        quotient = np.asarray(a // b, dtype=object)
        if truncate:
            short = (quotient < 0) & np.asarray(quotient * b != a, dtype=bool)
            quotient = np.where(short, quotient + 1, quotient)
        return wrap(quotient, x.dtype), wrap(np.asarray(a - quotient * b), x.dtype)

    return divide


def _division(name: str, rest: bool, truncate: bool) -> Meaning:
    integer = _integer_quotient(name, truncate)

    def meaning(call: Operands) -> Estimate:
        x, y = call[0], call[1]
        with np.errstate(all="ignore"):
            if x.dtype.is_float:
                value = _float_division(x.value, y.value, rest, truncate)
            else:
                value = integer(x.value, y.value)[1 if rest else 0]
            if not any_error(x, y) or call.rounding.is_random:
                return _undisturbed(call, value)
            low, high = _quotient_ends(x, y, truncate)
            if not x.dtype.is_float and not rest:
                wraps = (low < x.dtype.minimum) | (high > x.dtype.maximum)
                low, high = np.where(wraps, -np.inf, low), np.where(wraps, np.inf, high)
            if not rest:
                return call.decide_between(value, low, high, x.dtype)
            return _remainder(call, value, low, high)

    return meaning


def _undisturbed(call: Operands, value: Wide) -> Estimate:
    if not call.dtype.is_float:
        return Estimate(value, None, call.dtype)
    return call.rounding.result(value, call.dtype, own=np.zeros(value.shape))


def _quotient_ends(x: Estimate, y: Estimate, truncate: bool) -> tuple[Wide, Wide]:
    """Return the least and the greatest whole quotient; infinite where the divisor may be 0."""
    step = np.trunc if truncate else np.floor
    wide = np.result_type(x.value.dtype, np.float64)
    corners = np.stack(
        np.broadcast_arrays(*(a.astype(wide) / b.astype(wide) for a in x.ends() for b in y.ends()))
    )
    crosses = (y.ends()[0] <= 0) & (y.ends()[1] >= 0) & (y.errors > 0)
    if not truncate:  # of an infinite divisor the quotient is -1 or 0
        pairs = [
            np.floor_divide(a.astype(wide), b.astype(wide)) for a in x.ends() for b in y.ends()
        ]
        corners = np.concatenate([corners, np.stack(np.broadcast_arrays(*pairs))])
    slack = np.max(np.abs(corners), axis=0) * 2.0**-22 * (x.errors + y.errors > 0)
    least, most = step(np.min(corners, axis=0) - slack), step(np.max(corners, axis=0) + slack)
    return np.where(crosses, -np.inf, least), np.where(crosses, np.inf, most)


def _remainder(call: Operands, value: Wide, low: Wide, high: Wide) -> Estimate:
    """Return a remainder: it moves with the operands, and jumps where the quotient does."""
    x, y = call[0], call[1]
    seen = call.shown()
    if seen is not None and seen.shape == value.shape:
        return Estimate(seen.astype(value.dtype), None, x.dtype)
    jumps = np.broadcast_to(low != high, value.shape)
    size = np.abs(y.value.astype(np.float64)) + y.errors
    moved = x.errors + np.maximum(np.abs(low), np.abs(high)) * y.errors
    known = np.isfinite(low) & np.isfinite(high) & np.isfinite(size)
    error = np.where(known, np.where(jumps, 2 * size, moved), np.inf)
    step = np.where(jumps, error, 0.0)
    if np.any(step) and call.is_vacuous:
        call.rounding.unsure = True
    if not x.dtype.is_float:
        return exactly(call, value, error, x.dtype)
    return call.rounding.result(
        value,
        x.dtype,
        own=np.zeros(value.shape),
        propagated=lambda: error,
        jump=lambda: step,
        open_at=lambda: call.open_where(np.broadcast_to(~known, value.shape)),
    )


def _float_division(x: Wide, y: Wide, rest: bool, truncate: bool) -> Wide:
    if rest:
        return np.asarray(np.fmod(x, y) if truncate else np.mod(x, y))
    quotient = np.floor_divide(x, y)
    return np.asarray(np.trunc(x / y) if truncate else quotient)


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType(
    {
        "floor_divide": _division("floor_divide", rest=False, truncate=False),
        "trunc_divide": _division("trunc_divide", rest=False, truncate=True),
        "remainder": _division("remainder", rest=True, truncate=False),
        "fmod": _division("fmod", rest=True, truncate=True),
    }
)
