"""A value as the oracle knows it: in higher precision, with a bound on how far off a run may be.

f16, bf16 and f32 are evaluated in f64, f64 in NumPy's ``longdouble``, and never rounded to their
own precision. Integers, bools and moved data are exact, and then ``error`` is ``None``, unless they
come of a decision, such as a rounding to integers, that an operand's error could tip.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import BF16, F16, F32, F64, DType

Wide: TypeAlias = NDArray[Any]

LARGEST: Final = {
    F16.name: 65504.0,
    BF16.name: float.fromhex("0x1.fep+127"),
    F32.name: float(np.finfo(np.float32).max),
    F64.name: float(np.finfo(np.float64).max),
}
TINY: Final = {F16.name: 2.0**-24, BF16.name: 2.0**-133, F32.name: 2.0**-149, F64.name: 5e-324}


Limits: TypeAlias = tuple[float, float]
ANYWHERE: Final[Limits] = (-math.inf, math.inf)
NOT_NEGATIVE: Final[Limits] = (0.0, math.inf)
FRACTION: Final[Limits] = (0.0, 1.0)
WITHIN_ONE: Final[Limits] = (-1.0, 1.0)

VAST: Final = 1e100
"""A bound that says nothing any more: as far as errors grow, short of infinity.

Infinite errors mean something else: that a decision was too close to call.
"""


def bounded(error: Wide, magnitude: Wide | float = 0.0) -> Wide:
    """Return ``error`` with what has grown beyond all meaning at `VAST`, and infinity kept.

    ``magnitude`` is the value's own, beside which even an error above `VAST` may be small.
    """
    meaningful = np.where(np.isfinite(magnitude), magnitude, 0.0)
    return np.where(np.isinf(error), error, np.minimum(error, np.maximum(VAST, meaningful)))


def finite_unless_undecided(error: Wide, value: Wide, *operands: Wide) -> Wide:
    """Return ``error`` with infinity only where an operand's error is infinite already.

    ``value`` is the result, beside which even an error above `VAST` may be small.
    """
    undecided = np.zeros(error.shape, np.bool_)
    for operand in operands:
        undecided = undecided | np.isinf(operand)
    most = np.maximum(VAST, magnitudes(value))
    known = np.where(np.isfinite(error), np.minimum(error, most), VAST)
    return np.where(undecided, np.inf, known)


def carried(size: Wide, error: Wide) -> Wide:
    """Return the product of a size and an error: of none nothing, and open what is open."""
    with np.errstate(all="ignore"):
        return np.where(error == 0, 0.0, np.where(np.isinf(error), np.inf, size * error))


def wide(dtype: DType) -> np.dtype[Any]:
    """Return the NumPy dtype that values of ``dtype`` are evaluated in."""
    if not dtype.is_float:
        return to_numpy(dtype)
    return np.dtype(np.longdouble if dtype == F64 else np.float64)


def accumulator(dtype: DType) -> DType:
    """Return the dtype that reductions over ``dtype`` accumulate in."""
    return F32 if dtype.is_float and dtype.bits < 32 else dtype


@final
@dataclass(frozen=True)
class Estimate:
    """A tensor: its value in higher precision, and the greatest error of a right run."""

    value: Wide
    error: Wide | None
    """Absolute, of the value's shape; infinite where a decision is too close to call; ``None`` when
    a right run gives exactly these bits."""

    dtype: DType

    limits: Limits | None = ANYWHERE
    """What no element of a right run lies beyond, though the error may reach further, such as 0 for
    a square; ``None`` for the value's own, of an array that was given."""

    jump: Wide | None = None
    """What of the error comes of decisions that rounding could tip, where that was worked out."""

    @classmethod
    def exact(cls, array: NDArray[Any], dtype: DType) -> Estimate:
        """Return an observed or given array as it is."""
        with np.errstate(invalid="ignore"):  # a NaN whose bits would signal
            return cls(np.asarray(array).astype(wide(dtype)), None, dtype, None)

    @property
    def errors(self) -> Wide:
        """The error, 0 where exact."""
        return np.zeros(self.value.shape) if self.error is None else self.error

    @cached_property
    def span(self) -> Limits:
        """The limits, as numbers."""
        if self.limits is not None:
            return self.limits
        if not self.value.size or self.dtype.is_bool:
            return FRACTION
        low, high = float(np.min(self.value)), float(np.max(self.value))
        return ANYWHERE if math.isnan(low) else (low, high)

    def ends(self) -> tuple[Wide, Wide]:
        """Return the least and the greatest that each element may be in a right run."""
        if self.error is None:
            return self.value, self.value
        (least, most), known = self.span, np.isfinite(self.error)
        with np.errstate(all="ignore"):
            low = np.where(known, self.value - self.error, -np.inf)
            high = np.where(known, self.value + self.error, np.inf)
            if (least, most) != ANYWHERE:
                low = np.minimum(np.maximum(low, least), self.value)
                high = np.maximum(np.minimum(high, most), self.value)
        return low, high

    @property
    def is_vacuous(self) -> bool:
        """Whether the bound is wider than 1% of the value's scale."""
        if self.error is None:
            return False
        finite = self.error[np.isfinite(self.error)]
        return bool(finite.size) and float(np.max(finite)) > 0.01 * self.scale

    @property
    def scale(self) -> float:
        """The largest finite magnitude of the value; 0 if there is none."""
        if not self.dtype.is_float:
            return float(np.max(np.abs(self.value.astype(np.float64)), initial=0.0))
        finite = np.abs(self.value[np.isfinite(self.value)])
        return float(np.max(finite)) if finite.size else 0.0


Result: TypeAlias = "Estimate | str | tuple[int, ...] | tuple[Result, ...]"
"""What a binding's value is: a tensor, a shape value, or a tuple of results. A value of a data type
is a tuple that begins with its constructor's name."""


def top(dtype: DType) -> Any:
    """Return from where on rounding to nearest gives infinity: the greatest number and half a step.

    In the precision that ``dtype`` is evaluated in, since for f64 it lies between its numbers.
    """
    power = math.frexp(LARGEST[dtype.name])[1]
    half = wide(dtype).type(2.0) ** -dtype.significand
    return np.ldexp(2 - half, power - 1)


def overflows(magnitude: Wide, dtype: DType) -> Wide:
    """Return where a magnitude is too great for ``dtype``."""
    return np.asarray(magnitude >= top(dtype))


def overflow(value: Wide, dtype: DType) -> Wide:
    """Return ``value`` with numbers too great for ``dtype`` made infinite."""
    if is_far_below(value, dtype):
        return value
    return np.where(np.abs(value) >= top(dtype), np.copysign(np.inf, value), value)


def is_far_below(value: Wide, dtype: DType) -> bool:
    """Whether all of ``value`` is finite and nowhere near the greatest number of ``dtype``."""
    if not value.size:
        return True
    limit = LARGEST[dtype.name] / 4
    return bool(np.max(value) < limit and np.min(value) > -limit)


def magnitudes(x: Wide) -> Wide:
    """Return the sizes of the elements that are numbers, and 0 for infinities and NaN."""
    return np.where(np.isfinite(x), np.abs(x), 0.0)


def unless_overflowing(value: Wide, own: Wide, peak: Wide, dtype: DType) -> tuple[Wide, Wide]:
    """Return a folded value and its own error, undecided where the order of folding tells.

    Args:
        value: What terms add up to.
        own: The error that adding them up may make.
        peak: What the terms' `magnitudes` add up to: a part of the terms may overflow if this does,
            and then the rest cannot bring it back. Without cancellation the whole overflows too.
        dtype: The dtype of the operands.
    """
    if is_far_below(peak, dtype) and is_far_below(value, dtype):
        return value, own
    cancels = ~np.isfinite(value) | (np.abs(value) < 0.999 * peak)
    risky = overflows(peak, accumulator(dtype)) & cancels & ~np.isnan(value)
    return np.where(risky, 0.0, value), np.where(risky, np.inf, own)


def unit(dtype: DType) -> float:
    """Return the unit roundoff of the precision that an operator on ``dtype`` computes in."""
    return accumulator(dtype).unit_roundoff
