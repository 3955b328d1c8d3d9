"""What folding axes away means, and cumulative sums and products.

A sum of n numbers, in whatever order, is within ``(n - 1) * u`` of the sum of their magnitudes; its
typical error is a random walk, ``sqrt(n)`` times smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from reference_vm.diagnostics import DataError
from reference_vm.oracle.arithmetic import may_be_zero
from reference_vm.oracle.definition import Meaning, Operands, exactly
from reference_vm.oracle.estimate import (
    ANYWHERE,
    NOT_NEGATIVE,
    Estimate,
    Wide,
    accumulator,
    magnitudes,
    overflows,
    unit,
    unless_overflowing,
)
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import BOOL, I64, DType

Axes = tuple[int, ...] | None


def axes_of(call: Operands) -> tuple[Axes, bool, int]:
    """Return the axes to fold, whether they stay as 1, and how many elements are folded."""
    axes = call.attrs["axis"]
    shape = call[0].value.shape
    folded = tuple(range(len(shape))) if axes is None else tuple(axes)
    count = int(np.prod([shape[a] for a in folded], dtype=np.int64))
    return folded, bool(call.attrs["keepdims"]), count


def _sum_of(mean: bool) -> Meaning:
    def meaning(call: Operands) -> Estimate:
        x = call[0]
        axes, keep, count = axes_of(call)
        if not x.dtype.is_float:
            return _summed_integers(call, axes, keep, count if mean else 1)
        divisor = count if mean else 1
        with np.errstate(all="ignore"):
            value = np.asarray(np.sum(x.value, axis=axes, keepdims=keep) / divisor)
            sizes = np.sum(np.abs(x.value), axis=axes, keepdims=keep) / max(divisor, 1)
            squares = np.sqrt(np.sum(np.square(x.value), axis=axes, keepdims=keep)) / max(
                divisor, 1
            )
            peak = np.sum(magnitudes(x.value), axis=axes, keepdims=keep)
        u = unit(x.dtype)
        value, own = unless_overflowing(value, np.asarray(sizes * (u * (count + 1))), peak, x.dtype)
        return call.rounding.result(
            value,
            x.dtype,
            own=own,
            noise=lambda: np.asarray((squares + np.abs(value)) * (u * count**0.5)),
            propagated=lambda: np.asarray(
                np.sum(x.errors, axis=axes, keepdims=keep) / max(divisor, 1)
            ),
            limits=NOT_NEGATIVE if x.span[0] >= 0 else ANYWHERE,
        )

    return meaning


def _summed_integers(call: Operands, axes: Axes, keep: bool, divisor: int) -> Estimate:
    """Return a sum or a mean of integers; the mean is truncated, so it may be off by 1 more."""
    x = call[0]
    value = _integer_sum(x, axes, keep, divisor)
    if x.error is None:
        return Estimate(value, None, x.dtype)
    error = np.asarray(np.sum(x.errors, axis=axes, keepdims=keep))
    if divisor != 1:
        error = np.where(error > 0, np.floor(error / max(divisor, 1)) + 1, 0.0)
    return exactly(call, value, error, x.dtype)


def _integer_sum(x: Estimate, axes: Axes, keep: bool, divisor: int) -> Wide:
    if divisor == 1:
        return np.asarray(np.sum(x.value, axis=axes, keepdims=keep, dtype=x.value.dtype))
    total = np.sum(x.value.astype(object), axis=axes, keepdims=keep)
    quotient = np.vectorize(lambda t: int(t / divisor), otypes=[object])(total)
    return np.asarray(quotient).astype(x.value.dtype)


def _prod(call: Operands) -> Estimate:
    x = call[0]
    axes, keep, count = axes_of(call)
    with np.errstate(all="ignore"):
        value = np.asarray(np.prod(x.value, axis=axes, keepdims=keep, dtype=x.value.dtype))

        def folded(factors: Wide) -> Wide:
            return np.asarray(np.prod(factors, axis=axes, keepdims=keep))

        if not x.dtype.is_float:
            return _multiplied_integers(call, value, folded)
        own = np.abs(value) * (unit(x.dtype) * count * 1.01)
        value, own = _unless_mixed(x, value, own, folded)
        return _multiplied(call, value, own, folded)


def _multiplied(call: Operands, value: Wide, own: Wide, folded: Callable[[Wide], Wide]) -> Estimate:
    """Return a product of floats: off by what the factors' errors make at most.

    It is open where a factor may be 0 beside one that is no number.
    """
    x = call[0]
    limits = NOT_NEGATIVE if x.span[0] >= 0 else ANYWHERE
    if x.error is None:
        return call.rounding.result(value, x.dtype, own=own, limits=limits)

    def near_zero() -> Wide:
        doubtful = may_be_zero(x) & (x.errors > 0)
        some = folded(np.where(doubtful, 0.0, 1.0)) == 0
        return call.open_where(np.asarray(some & ~np.isfinite(value)))

    return call.rounding.result(
        value,
        x.dtype,
        own=own,
        propagated=lambda: _product_error(x, folded),
        open_at=near_zero,
        limits=limits,
    )


def _product_error(x: Estimate, folded: Callable[[Wide], Wide]) -> Wide:
    sizes = np.abs(x.value.astype(np.result_type(x.value.dtype, np.float64)))
    slack = 1 + 2.0**-40
    error = folded(sizes + x.errors) * slack - folded(sizes)
    touched = folded(np.where(x.errors > 0, 0.0, 1.0)) == 0
    return np.where(touched, np.nan_to_num(error, nan=np.inf, posinf=np.inf), 0.0)


def _multiplied_integers(call: Operands, value: Wide, folded: Callable[[Wide], Wide]) -> Estimate:
    """Return a product of integers; where it may have wrapped on the way, errors leave it open."""
    x = call[0]
    if x.error is None:
        return Estimate(value, None, x.dtype)
    error = np.ceil(_product_error(x, folded))
    wraps = folded(np.abs(x.value.astype(np.float64)) + x.errors) > x.dtype.maximum
    return exactly(call, value, np.where(wraps & (error > 0), np.inf, error), x.dtype)


def _unless_mixed(
    x: Estimate, value: Wide, own: Wide, folded: Callable[[Wide], Wide]
) -> tuple[Wide, Wide]:
    """Return a product and its own error, undecided where the order of folding tells.

    That is where the factors above 1 may overflow, or those below 1 underflow, before the others
    bring the product back.
    """
    sizes = np.abs(x.value)
    with np.errstate(all="ignore"):
        up = folded(np.where(np.isfinite(sizes), np.maximum(sizes, 1.0), 1.0))
        down = folded(np.where(sizes < 1, sizes, 1.0))
    beyond = overflows(up, accumulator(x.dtype)) & (down < 1)
    beneath = (down < np.finfo(to_numpy(accumulator(x.dtype))).tiny) & (up > 1) & (value != 0)
    risky = (beyond | beneath) & ~np.isnan(value)
    return np.where(risky, 0.0, value), np.where(risky, np.inf, own)


def _extreme(greatest: bool) -> Meaning:
    function = np.max if greatest else np.min

    def meaning(call: Operands) -> Estimate:
        x = call[0]
        axes, keep, _ = axes_of(call)
        identity = _identity(x.dtype, greatest)
        value = np.asarray(function(x.value, axis=axes, keepdims=keep, initial=identity))
        error = None
        if x.error is not None:
            error = np.asarray(np.max(x.errors, axis=axes, keepdims=keep, initial=0.0))
        return call.rounding.exact(value, error, x.dtype, x.span if value.size else ANYWHERE)

    return meaning


def _identity(dtype: DType, greatest: bool) -> float | int | bool:
    if dtype.is_float:
        return -np.inf if greatest else np.inf
    if dtype.is_bool:
        return not greatest
    return dtype.minimum if greatest else dtype.maximum


def _truth(function: Callable[..., Wide]) -> Meaning:
    def meaning(call: Operands) -> Estimate:
        x = call[0]
        axes, keep, _ = axes_of(call)
        own = np.asarray(function(x.value, axis=axes, keepdims=keep))
        if x.error is None:
            return Estimate(own, None, BOOL)
        open_ = np.isinf(x.errors)
        flipped = (
            function(v, axis=axes, keepdims=keep) for v in (x.value & ~open_, x.value | open_)
        )
        sure = np.equal(*flipped)
        return call.rounding.exact(own, np.where(sure, 0.0, np.inf), BOOL)

    return meaning


def _arg(greatest: bool) -> Meaning:
    def meaning(call: Operands) -> Estimate:
        x = call[0]
        axis, keep = int(call.attrs["axis"]), bool(call.attrs["keepdims"])
        if x.value.shape[axis] == 0:
            name = "argmax" if greatest else "argmin"
            raise DataError("empty-reduction", f"{name}: axis {axis} has no elements")
        values = np.flip(x.value, axis) if call.attrs["select_last"] else x.value
        own = np.asarray((np.argmax if greatest else np.argmin)(values, axis=axis))
        if call.attrs["select_last"]:
            own = x.value.shape[axis] - 1 - own
        margin = None if x.error is None else _lead(x, own, axis, greatest)
        if keep:
            own = np.expand_dims(own, axis)
            margin = None if margin is None else np.expand_dims(margin, axis)
        return call.decide(own.astype(np.int64), margin, I64)

    return meaning


def _lead(x: Estimate, winner: Wide, axis: int, greatest: bool) -> Wide:
    """Return by how much the winner surely beats the others; 0 or less if it may not."""
    values = x.value.astype(np.result_type(x.value.dtype, np.float64)) * (1 if greatest else -1)
    place = np.expand_dims(winner, axis)
    best = np.take_along_axis(values, place, axis)
    worst_best = best - np.take_along_axis(x.errors, place, axis)
    others = values + x.errors
    np.put_along_axis(others, place, -np.inf, axis)
    lead = np.squeeze(worst_best, axis) - np.max(others, axis=axis, initial=-np.inf)
    return np.where(np.max(x.errors, axis=axis, initial=0.0) > 0, lead, 1.0)


def _cumulative(product: bool) -> Meaning:
    def meaning(call: Operands) -> Estimate:
        x = call[0]
        axis = int(call.attrs["axis"])
        reverse, exclusive = bool(call.attrs["reverse"]), bool(call.attrs["exclusive"])
        run = np.cumprod if product else np.cumsum

        def scan(array: Wide, scanner: Callable[..., Wide], start: int) -> Wide:
            turned = np.flip(array, axis) if reverse else array
            result = scanner(turned, axis=axis, dtype=array.dtype)
            if exclusive and result.shape[axis]:
                first = np.full_like(np.take(result, [0], axis), start)
                rest = np.take(result, range(result.shape[axis] - 1), axis)
                result = np.concatenate([first, rest], axis)
            return np.flip(result, axis) if reverse else result

        with np.errstate(all="ignore"):
            value = scan(x.value, run, 1 if product else 0)
            if not x.dtype.is_float:
                return _scanned_integers(call, value, scan, product)
            sizes = np.abs(value) if product else scan(np.abs(x.value), np.cumsum, 0)
            own = sizes * (unit(x.dtype) * (x.value.shape[axis] + 1))
            if product:
                value, own = _unless_mixed(x, value, own, lambda f: scan(f, np.cumprod, 1))
                return _multiplied(call, value, own, lambda f: scan(f, np.cumprod, 1))
            peak = scan(magnitudes(x.value), np.cumsum, 0)
            value, own = unless_overflowing(value, own, peak, x.dtype)
            moves = None if x.error is None else (lambda: scan(x.errors, np.cumsum, 0))
            limits = NOT_NEGATIVE if x.span[0] >= 0 else ANYWHERE
            return call.rounding.result(value, x.dtype, own=own, propagated=moves, limits=limits)

    return meaning


def _scanned_integers(
    call: Operands, value: Wide, scan: Callable[..., Wide], product: bool
) -> Estimate:
    x = call[0]
    if x.error is None:
        return Estimate(value, None, x.dtype)
    if product:
        return _multiplied_integers(call, value, lambda f: scan(f, np.cumprod, 1))
    return exactly(call, value, scan(x.errors, np.cumsum, 0), x.dtype)


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType(
    {
        "sum": _sum_of(mean=False),
        "mean": _sum_of(mean=True),
        "prod": _prod,
        "max": _extreme(greatest=True),
        "min": _extreme(greatest=False),
        "all": _truth(np.all),
        "any": _truth(np.any),
        "argmax": _arg(greatest=True),
        "argmin": _arg(greatest=False),
        "cumulative_sum": _cumulative(product=False),
        "cumulative_prod": _cumulative(product=True),
    }
)
