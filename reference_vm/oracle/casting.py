"""What casts mean: moved where the value fits, rounded or decided where it does not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from reference_vm.oracle.definition import Meaning, Operands, exactly
from reference_vm.oracle.estimate import ANYWHERE, Estimate, Wide, wide
from reference_vm.types import DType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import BOOL


def _cast(call: Operands) -> Estimate:
    x, target = call[0], call.attrs["to"]
    assert isinstance(target, DType)
    if target.is_float:
        return _to_float(call, x, target)
    if target.is_bool:
        own = np.asarray(x.value != 0) | _is_nan(x)
        if x.dtype.is_bool:
            return call.rounding.exact(own, x.error, BOOL)
        size = np.abs(x.value.astype(np.result_type(x.value.dtype, np.float64)))
        margin = None if x.error is None else np.where(x.errors > 0, size - x.errors, 1.0)
        return call.decide(own, margin, BOOL)
    return _to_integers(call, x, target)


def _to_float(call: Operands, x: Estimate, target: DType) -> Estimate:
    """Return a float of any value: what fits is moved, and the rest is rounded."""
    value = _widened(x, target)
    error = x.error
    if x.dtype.is_bool and error is not None:
        error = np.minimum(error, 1.0)
    limits = x.span if set(x.span) <= {-math.inf, -1.0, 0.0, 1.0, math.inf} else ANYWHERE
    fits = target.name != "f16"
    if x.dtype.is_float:
        fits = fits and target.significand >= x.dtype.significand
    else:
        fits = fits and bool(np.all(np.abs(value) <= 2.0**target.significand))
    if fits:
        return call.rounding.exact(value, error, target, limits)
    moved = None if error is None else error
    return call.rounding.result(
        value,
        target,
        own=np.zeros(value.shape),
        propagated=None if moved is None else (lambda: moved),
        limits=limits,
    )


def _is_nan(x: Estimate) -> Wide:
    return np.isnan(x.value) if x.dtype.is_float else np.zeros(x.value.shape, np.bool_)


def _widened(x: Estimate, target: DType) -> Wide:
    return x.value.astype(wide(target))


def _to_integers(call: Operands, x: Estimate, target: DType) -> Estimate:
    numpy = to_numpy(target)
    if x.dtype.is_bool:
        error = None if x.error is None else np.minimum(x.error, 1.0)
        return exactly(call, x.value.astype(numpy), error, target)
    if not x.dtype.is_float:
        return exactly(call, x.value.astype(numpy), x.error, target)
    own = saturated(x.value, target)
    if x.error is None:
        return call.decide(own, None, target)
    low, high = (saturated(end, target) for end in x.ends())
    return call.decide_between(own, low, high, target)


def saturated(values: Wide, target: DType) -> Wide:
    """Return floats truncated to integers: beyond the range its nearest end, and of NaN 0."""
    numpy = to_numpy(target)
    low, high = target.minimum, target.maximum
    whole = np.trunc(np.nan_to_num(values, nan=0.0, posinf=np.inf, neginf=-np.inf))
    over, under = whole >= float(high), whole <= float(low)
    inside = np.where(over | under, 0, whole).astype(numpy)
    return np.where(over, numpy.type(high), np.where(under, numpy.type(low), inside))


def _bitcast(call: Operands) -> Estimate:
    """Bits are exact only where the operand is."""
    x, to = call[0], call.attrs["to"]
    assert isinstance(to, DType)
    own = np.ascontiguousarray(x.value.astype(to_numpy(x.dtype))).view(to_numpy(to))
    own = own.reshape(x.value.shape)
    if not to.is_float:
        return call.decide(own, np.where(x.errors > 0, -1.0, 1.0), to)
    error = None if x.error is None else np.where(x.errors > 0, np.inf, 0.0)
    return Estimate(own.astype(wide(to)), error, to)


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType({"cast": _cast, "bitcast": _bitcast})
