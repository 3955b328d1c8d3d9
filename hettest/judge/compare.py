"""Compare what a run gave with an estimate, element by element."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from hettest.language import Estimate

Array: TypeAlias = NDArray[Any]


@final
@dataclass(frozen=True)
class Comparison:
    """One tensor of a run beside its estimate."""

    difference: Array
    """Absolute, in higher precision; infinite where one is NaN or infinite and the other is not."""

    allowed: Array
    """The estimate's error bound."""

    undecided: Array
    """Where the bound is infinite: a decision was too close to call."""

    jump: Array | None = None
    """What of the bound comes of decisions that rounding could tip."""

    @property
    def excess(self) -> Array:
        """The difference less what decisions may cause; 0 where nothing is decided."""
        if self.jump is None:
            return np.where(self.undecided, 0.0, self.difference)
        with np.errstate(invalid="ignore"):  # infinity less infinity
            beyond = np.maximum(self.difference - self.jump, 0.0)
        return np.where(self.undecided | (self.difference == 0), 0.0, beyond)

    def open_beyond(self, allowed: float) -> int:
        """Return how many undecided elements differ by more than ``allowed``.

        One that agrees with the oracle's own decision needs no other.
        """
        return int(np.count_nonzero(self.undecided & (self.difference > allowed)))

    @property
    def error(self) -> float:
        """The largest difference among decided elements, less what decisions may cause."""
        return largest(self.excess)

    @cached_property
    def _part(self) -> Array:
        """The difference as a part of what is allowed; 0 where there is none, or no decision."""
        with np.errstate(all="ignore"):
            part: Array = np.asarray(self.difference / self.allowed)
        part[(self.difference == 0) | self.undecided] = 0.0
        return part

    @property
    def worst(self) -> float:
        """The largest difference as a part of what is allowed; 0 where there is none."""
        return largest(self._part)

    @property
    def beyond(self) -> int:
        """How many decided elements differ by more than is allowed."""
        return int(np.count_nonzero(~self.undecided & (self.difference > self.allowed)))

    @property
    def place(self) -> tuple[int, ...]:
        """The index of the element whose difference is the largest part of what is allowed."""
        return tuple(int(i) for i in np.unravel_index(int(np.argmax(self._part)), self._part.shape))


def largest(values: Array) -> float:
    return float(np.max(values)) if values.size else 0.0


def compare(seen: Array, estimate: Estimate) -> Comparison:
    """Return ``seen`` beside ``estimate``; both have one shape.

    NaN equals NaN, infinities are equal by sign, zeros of either sign are equal.
    """
    value = estimate.value
    allowed = estimate.errors
    undecided = np.isinf(allowed)
    if not estimate.dtype.is_float:
        return Comparison(_apart(np.asarray(seen), value), allowed, undecided, estimate.jump)
    with np.errstate(all="ignore"):
        wide = np.asarray(seen).astype(value.dtype)
        difference = np.abs(wide - value)
    if difference.size and not np.isfinite(np.max(difference)):
        same = (np.isnan(wide) & np.isnan(value)) | (wide == value)
        difference = np.where(same, 0.0, np.where(np.isnan(difference), np.inf, difference))
    return Comparison(difference.astype(np.float64), allowed, undecided, estimate.jump)


def _apart(seen: Array, value: Array) -> Array:
    """Return how far integers or bools are apart: 1 at least where they differ."""
    apart = np.abs(seen.astype(np.float64) - value.astype(np.float64))
    return np.where(seen == value, 0.0, np.maximum(apart, 1.0))


def same_bits(left: Array, right: Array, signed_zeros: bool = False) -> bool:
    """Whether two arrays have one dtype, one shape and equal elements."""
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    if left.dtype.kind in "biu":
        return bool(np.array_equal(left, right))
    with np.errstate(invalid="ignore"):  # a NaN whose bits would signal
        a, b = left.astype(np.longdouble), right.astype(np.longdouble)
    equal = (np.isnan(a) & np.isnan(b)) | (a == b)
    if signed_zeros:
        equal &= (a != 0) | (np.signbit(a) == np.signbit(b))
    return bool(np.all(equal))
