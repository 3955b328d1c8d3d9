"""What arithmetic, rounding and comparison mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from reference_vm.diagnostics import DataError
from reference_vm.oracle.definition import Meaning, Operands, division_by_zero
from reference_vm.oracle.estimate import VAST, Estimate, Wide, finite_unless_undecided
from reference_vm.types.dtype import BOOL, DType

ErrorRule = Callable[[Wide, Wide, Wide, Wide, Wide], Wide]
"""From x, its error, y, its error and the result to the result's error."""


def _zero(value: Wide) -> Wide:
    return np.zeros(value.shape)


def _any_error(*operands: Estimate) -> bool:
    return any(o.error is not None for o in operands)


def _propagated(
    x: Estimate, y: Estimate, value: Wide, rule: ErrorRule
) -> Callable[[], Wide] | None:
    if not _any_error(x, y):
        return None
    return lambda: rule(x.value, x.errors, y.value, y.errors, value)


def _sum_error(_x: Wide, ex: Wide, _y: Wide, ey: Wide, _r: Wide) -> Wide:
    return ex + ey


def _product_error(x: Wide, ex: Wide, y: Wide, ey: Wide, _r: Wide) -> Wide:
    return np.asarray(np.abs(x) * ey + np.abs(y) * ex + ex * ey)


def _quotient_error(x: Wide, ex: Wide, y: Wide, ey: Wide, _r: Wide) -> Wide:
    least = np.abs(y) - ey
    error = np.where(least > 0, (np.abs(x) * ey + np.abs(y) * ex) / (np.abs(y) * least), VAST)
    return finite_unless_undecided(error, ex, ey)


def _extreme_error(_x: Wide, ex: Wide, _y: Wide, ey: Wide, _r: Wide) -> Wide:
    return np.maximum(ex, ey)


def _binary(
    floats: Callable[[Wide, Wide], Wide],
    integers: Callable[[Wide, Wide], Wide],
    rule: ErrorRule,
    exact: bool = False,
) -> Meaning:
    def meaning(call: Operands) -> Estimate:
        x, y = call[0], call[1]
        with np.errstate(all="ignore"):
            if not x.dtype.is_float:
                return Estimate(np.asarray(integers(x.value, y.value)), None, x.dtype)
            value = np.asarray(floats(x.value, y.value))
            propagated = _propagated(x, y, value, rule)
            if exact:
                error = propagated() if propagated else None
                return call.rounding.exact(value, error, x.dtype)
            return call.rounding.result(value, x.dtype, own=_zero(value), propagated=propagated)

    return meaning


def _divide(call: Operands) -> Estimate:
    x, y = call[0], call[1]
    with np.errstate(all="ignore"):
        value = np.asarray(x.value / y.value)
    propagated = _propagated(x, y, value, _quotient_error)
    return call.rounding.result(value, x.dtype, own=_zero(value), propagated=propagated)


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


def wrap(values: Wide, dtype: np.dtype[Any]) -> Wide:
    """Return Python integers reduced modulo 2^bits into ``dtype``."""
    info = np.iinfo(dtype)
    span = int(info.max) - int(info.min) + 1
    shifted = (np.asarray(values, dtype=object) - int(info.min)) % span + int(info.min)
    return np.asarray(shifted, dtype=object).astype(dtype)


def _division(name: str, rest: bool, truncate: bool) -> Meaning:
    integer = _integer_quotient(name, truncate)

    def meaning(call: Operands) -> Estimate:
        x, y = call[0], call[1]
        if not x.dtype.is_float:
            return Estimate(integer(x.value, y.value)[1 if rest else 0], None, x.dtype)
        with np.errstate(all="ignore"):
            value = _float_division(x.value, y.value, rest, truncate)
            close = np.broadcast_to((x.errors > 0) | (y.errors > 0), value.shape)
        if call.observed is not None and np.any(close):
            return Estimate(call.observed.astype(value.dtype), None, x.dtype)
        near = np.where(close, np.inf, 0.0)
        return call.rounding.result(value, x.dtype, own=_zero(value), propagated=lambda: near)

    return meaning


def _float_division(x: Wide, y: Wide, rest: bool, truncate: bool) -> Wide:
    if rest:
        return np.asarray(np.fmod(x, y) if truncate else np.mod(x, y))
    quotient = np.floor_divide(x, y)
    return np.asarray(np.trunc(x / y) if truncate else quotient)


def _power(call: Operands) -> Estimate:
    x, y = call[0], call[1]
    if not x.dtype.is_float:
        return Estimate(_integer_power(x.value, y), None, x.dtype)
    with np.errstate(all="ignore"):
        exponent = y.value.astype(x.value.dtype)
        value = np.asarray(np.power(x.value, exponent))

        def corners() -> Wide:
            spread = np.zeros(value.shape)
            for dx in (-1, 1):
                for dy in (-1, 1):
                    corner = np.power(x.value + dx * x.errors, exponent + dy * y.errors)
                    spread = np.fmax(spread, np.abs(corner - value))
            return finite_unless_undecided(spread, x.errors, y.errors)

        own = 4 * np.abs(value) * _unit(x.dtype)
        propagated = corners if _any_error(x, y) else None
        return call.rounding.result(value, x.dtype, own=own, propagated=propagated)


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
        return Estimate(wrap(shifted, x.dtype), None, call.dtype)

    return meaning


def _bitwise(function: Callable[[Wide, Wide], Wide]) -> Meaning:
    def meaning(call: Operands) -> Estimate:
        return Estimate(np.asarray(function(call[0].value, call[1].value)), None, call.dtype)

    return meaning


def _compare(function: Callable[[Wide, Wide], Wide]) -> Meaning:
    def meaning(call: Operands) -> Estimate:
        x, y = call[0], call[1]
        own = np.asarray(function(x.value, y.value))
        margin: Wide | None = None
        if _any_error(x, y):
            with np.errstate(all="ignore"):
                gap = np.nan_to_num(np.abs(x.value - y.value), nan=np.inf)
            error = x.errors + y.errors
            margin = np.where(error > 0, gap - error, 1.0)
        return call.decide(own, margin, BOOL)

    return meaning


def _where(call: Operands) -> Estimate:
    condition, x, y = call[0], call[1], call[2]
    value = np.where(condition.value, x.value, y.value)
    if not _any_error(condition, x, y):
        return call.rounding.exact(value, None, x.dtype)
    error = np.where(condition.value, x.errors, y.errors)
    return call.rounding.exact(value, np.maximum(error, condition.errors), x.dtype)


def _clip(call: Operands) -> Estimate:
    x, low, high = call[0], call.optional(1), call.optional(2)
    value, error = x.value, x.errors
    with np.errstate(all="ignore"):
        if low is not None:
            value, error = np.maximum(value, low.value), np.maximum(error, low.errors)
        if high is not None:
            value, error = np.minimum(value, high.value), np.maximum(error, high.errors)
    return call.rounding.exact(np.asarray(value), error, x.dtype)


def _logic(function: Callable[..., Wide]) -> Meaning:
    def meaning(call: Operands) -> Estimate:
        operands = call.tensors()
        own = np.asarray(function(*(o.value for o in operands)))
        error: Wide | None = None
        if _any_error(*operands):
            error = np.broadcast_to(sum((o.errors for o in operands), np.zeros(())), own.shape)
        return call.rounding.exact(own, error, operands[0].dtype)

    return meaning


def _multiply_integers(x: Wide, y: Wide) -> Wide:
    return np.asarray(np.multiply(x, y))


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType(
    {
        "add": _binary(np.add, np.add, _sum_error),
        "subtract": _binary(np.subtract, np.subtract, _sum_error),
        "multiply": _binary(np.multiply, _multiply_integers, _product_error),
        "maximum": _binary(np.maximum, np.maximum, _extreme_error, exact=True),
        "minimum": _binary(np.minimum, np.minimum, _extreme_error, exact=True),
        "divide": _divide,
        "floor_divide": _division("floor_divide", rest=False, truncate=False),
        "trunc_divide": _division("trunc_divide", rest=False, truncate=True),
        "remainder": _division("remainder", rest=True, truncate=False),
        "fmod": _division("fmod", rest=True, truncate=True),
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
