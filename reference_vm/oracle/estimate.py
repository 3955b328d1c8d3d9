"""A value as the oracle knows it: in higher precision, with a bound on how far off a run may be.

f16, bf16 and f32 are evaluated in f64, f64 in NumPy's ``longdouble``, and never rounded to their
own precision. Integers, bools and moved data are exact, and then ``error`` is ``None``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import BF16, F16, F32, F64, DType

Wide: TypeAlias = NDArray[Any]

_LARGEST: Final = {
    F16.name: 65504.0,
    BF16.name: float.fromhex("0x1.fep+127"),
    F32.name: float(np.finfo(np.float32).max),
    F64.name: float(np.finfo(np.float64).max),
}
_TINY: Final = {F16.name: 2.0**-24, BF16.name: 2.0**-133, F32.name: 2.0**-149, F64.name: 5e-324}


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


def finite_unless_undecided(error: Wide, *operands: Wide) -> Wide:
    """Return ``error`` with infinity only where an operand's error is infinite already."""
    undecided = np.zeros(error.shape, np.bool_)
    for operand in operands:
        undecided = undecided | np.isinf(operand)
    return np.where(undecided, np.inf, np.minimum(np.nan_to_num(error, nan=VAST), VAST))


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

    @classmethod
    def exact(cls, array: NDArray[Any], dtype: DType) -> Estimate:
        """Return an observed or given array as it is."""
        with np.errstate(invalid="ignore"):  # a NaN whose bits would signal
            return cls(np.asarray(array).astype(wide(dtype)), None, dtype)

    @property
    def errors(self) -> Wide:
        """The error, 0 where exact."""
        return np.zeros(self.value.shape) if self.error is None else self.error

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
        finite = np.abs(self.value[np.isfinite(self.value)]) if self.dtype.is_float else self.value
        return float(np.max(finite)) if finite.size else 0.0


Result: TypeAlias = "Estimate | str | tuple[int, ...] | tuple[Result, ...]"
"""What a binding's value is: a tensor, a shape value, or a tuple of results. A value of a data type
is a tuple that begins with its constructor's name."""


@final
@dataclass
class Rounding:
    """How float results are finished: with a bound on the error, or with random rounding.

    The first evaluation of a program tracks bounds and notes each operator's typical rounding
    error in ``noise``. Monte Carlo evaluations reuse those and draw from ``generator``.
    """

    generator: np.random.Generator | None = None
    noise: dict[tuple[int, int], NDArray[np.floating[Any]]] = field(default_factory=dict)
    """By the identity of the binding and the position of its result."""

    keeps_noise: bool = True
    """Whether typical errors are noted; they cost as much as the bounds."""

    unsure: bool = False
    """Whether a decision was met whose operands' bound says nothing any more."""

    key: int = 0
    """The binding at work."""

    count: int = 0

    @property
    def is_random(self) -> bool:
        return self.generator is not None

    def at(self, key: int) -> None:
        """Start on the binding ``key``."""
        self.key, self.count = key, 0

    def exact(self, value: Wide, error: Wide | None, dtype: DType) -> Estimate:
        """Return a result that is moved, not computed: it keeps its operand's error."""
        if error is not None and not self.is_random and not np.any(error):
            error = None
        return Estimate(value, None if self.is_random else error, dtype)

    def result(
        self,
        value: Wide,
        dtype: DType,
        *,
        own: Wide,
        propagated: Callable[[], Wide] | None = None,
        noise: Callable[[], Wide] | None = None,
        rounded: bool = True,
    ) -> Estimate:
        """Return a computed float.

        Args:
            value: The result in higher precision.
            dtype: The dtype that a run rounds it to.
            own: The error that the operator itself may make, in the accumulator's precision and
                without the final rounding of 16-bit floats; 0 for a correctly rounded one.
            propagated: What the operands' errors become.
            noise: The typical size of ``own``; without it, ``own`` itself.
            rounded: Whether every element is rounded at the end; if not, ``own`` has all rounding,
                such as where some elements are moved and others computed.
        """
        place = (self.key, self.count)
        self.count += 1
        with np.errstate(all="ignore"):
            return self._finish(value, dtype, place, own, propagated, noise, rounded)

    def _finish(
        self,
        value: Wide,
        dtype: DType,
        place: tuple[int, int],
        own: Wide,
        propagated: Callable[[], Wide] | None,
        noise: Callable[[], Wide] | None,
        rounded: bool,
    ) -> Estimate:
        if self.generator is not None:
            return Estimate(self._drawn(value, dtype, place), None, dtype)
        magnitude = np.abs(value)
        rounding: Wide | float = 0.0
        if rounded:
            rounding = magnitude * (dtype.unit_roundoff * 1.01)
            rounding += _TINY[dtype.name]
        if self.keeps_noise:
            self.noise[place] = _typical(value, noise() if noise else own, rounding, dtype)
        before = own if propagated is None else own + propagated()
        error = before + rounding
        if _is_plain(error, magnitude, dtype):
            return Estimate(value, np.broadcast_to(error, value.shape), dtype)
        before = np.where(np.isnan(before), np.inf, before)
        error = bounded(before + rounding, magnitude)
        near = (magnitude + before >= _top(dtype)) & (magnitude - before < _top(dtype))
        near &= magnitude > _top(dtype) / 2  # else the bound is vacuous, not the value near
        value = _overflow(value, dtype)
        error = np.where(np.isfinite(value), error, 0.0)
        error = np.where(near & ~np.isnan(value), np.inf, error)
        return Estimate(value, np.broadcast_to(error, value.shape), dtype)

    def _drawn(self, value: Wide, dtype: DType, place: tuple[int, int]) -> Wide:
        """Return ``value`` off by a random part of what is typical here."""
        typical = self.noise.get(place)
        assert self.generator is not None
        if typical is None or typical.shape != value.shape:
            return _overflow(value, dtype)
        draw = self.generator.random(value.shape, dtype=typical.dtype)
        draw *= 2
        draw -= 1
        draw *= typical
        drawn = value + draw
        if _is_far_below(drawn, dtype):
            return drawn
        return _overflow(_within(value, drawn, dtype), dtype)


def _typical(value: Wide, own: Wide, rounding: Wide | float, dtype: DType) -> Wide:
    """Return the typical rounding error of each element, 0 where it is no number."""
    typical = own + rounding
    if not (np.all(np.isfinite(value)) and np.all(np.isfinite(typical))):
        typical = np.where(np.isfinite(value), typical, 0.0)
        typical = np.nan_to_num(typical, nan=0.0, posinf=0.0)
    return np.asarray(typical).astype(np.float64 if dtype == F64 else np.float32)


def _is_plain(error: Wide, magnitude: Wide, dtype: DType) -> bool:
    """Whether all is finite, and neither value nor error anywhere near the greatest number."""
    if not magnitude.size:
        return True
    limit = min(_LARGEST[dtype.name] / 8, VAST)
    return bool(np.max(magnitude) < limit and np.max(error) < limit)


def _top(dtype: DType) -> Any:
    """Return from where on rounding to nearest gives infinity: the greatest number and half a step.

    In the precision that ``dtype`` is evaluated in, since for f64 it lies between its numbers.
    """
    power = math.frexp(_LARGEST[dtype.name])[1]
    half = wide(dtype).type(2.0) ** -dtype.significand
    return np.ldexp(2 - half, power - 1)


def overflows(magnitude: Wide, dtype: DType) -> Wide:
    """Return where a magnitude is too great for ``dtype``."""
    return np.asarray(magnitude >= _top(dtype))


def _overflow(value: Wide, dtype: DType) -> Wide:
    """Return ``value`` with numbers too great for ``dtype`` made infinite."""
    if _is_far_below(value, dtype):
        return value
    return np.where(np.abs(value) >= _top(dtype), np.copysign(np.inf, value), value)


def _is_far_below(value: Wide, dtype: DType) -> bool:
    """Whether all of ``value`` is finite and nowhere near the greatest number of ``dtype``."""
    if not value.size:
        return True
    limit = _LARGEST[dtype.name] / 4
    return bool(np.max(value) < limit and np.min(value) > -limit)


def _within(value: Wide, rounded: Wide, dtype: DType) -> Wide:
    """Return ``rounded``, no larger than the greatest number where ``value`` does not overflow.

    Rounding alone makes no number infinite; where an operator's own error could, its result is
    undecided.
    """
    most = _LARGEST[dtype.name]
    kept = np.where(overflows(np.abs(value), dtype), rounded, np.clip(rounded, -most, most))
    return np.where(np.isfinite(value), kept, value)


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
    if _is_far_below(peak, dtype) and _is_far_below(value, dtype):
        return value, own
    cancels = ~np.isfinite(value) | (np.abs(value) < 0.999 * peak)
    risky = overflows(peak, accumulator(dtype)) & cancels & ~np.isnan(value)
    return np.where(risky, 0.0, value), np.where(risky, np.inf, own)


def unit(dtype: DType) -> float:
    """Return the unit roundoff of the precision that an operator on ``dtype`` computes in."""
    return accumulator(dtype).unit_roundoff
