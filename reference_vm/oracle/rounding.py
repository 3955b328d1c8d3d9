"""How results are finished: with a bound on the error, with random rounding, or with neither."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from reference_vm.oracle.estimate import (
    ANYWHERE,
    LARGEST,
    TINY,
    VAST,
    Estimate,
    Limits,
    Wide,
    bounded,
    is_far_below,
    overflow,
    overflows,
    top,
)
from reference_vm.types.dtype import F64, DType

Place: TypeAlias = tuple[int, int]
"""The identity of a binding and the position of a result in it."""


@final
@dataclass
class Rounding:
    """How results are finished: with a bound on the error, or with random rounding.

    The first evaluation of a program tracks bounds, and notes each operator's typical rounding
    error in ``noise`` and what decisions may be off in ``jumps``. Monte Carlo evaluations reuse the
    one and draw from ``generator``; an evaluation with ``replayed`` jumps tells what of the errors
    comes of decisions alone.
    """

    generator: np.random.Generator | None = None
    noise: dict[Place, NDArray[np.floating[Any]]] = field(default_factory=dict)
    jumps: dict[tuple[Place, int], Wide] = field(default_factory=dict)
    """By place, and by how many times the binding was evaluated before."""

    replayed: dict[tuple[Place, int], Wide] | None = None

    keeps_noise: bool = True
    """Whether typical errors are noted; they cost as much as the bounds."""

    unsure: bool = False
    """Whether a decision was met whose operands' bound says nothing any more."""

    key: int = 0
    """The binding at work."""

    count: int = 0
    trips: Counter[int] = field(default_factory=Counter)

    @property
    def is_random(self) -> bool:
        return self.generator is not None

    @property
    def is_rounding(self) -> bool:
        """Whether results are rounded at all."""
        return self.replayed is None

    def at(self, key: int) -> None:
        """Start on the binding ``key``."""
        self.key, self.count = key, 0
        self.trips[key] += 1

    def _place(self) -> Place:
        self.count += 1
        return (self.key, self.count - 1)

    def exact(
        self, value: Wide, error: Wide | None, dtype: DType, limits: Limits | None = ANYWHERE
    ) -> Estimate:
        """Return a result that is moved, not computed: it keeps its operand's error."""
        if error is not None and not self.is_random and not np.any(error):
            error = None
        return Estimate(value, None if self.is_random else error, dtype, limits)

    def decided(self, value: Wide, jump: Wide | None, dtype: DType) -> Estimate:
        """Return the result of a decision, which may be off by ``jump``."""
        found = self._jump(self._place(), jump)
        return self.exact(value, found, dtype)

    def _jump(self, place: Place, jump: Wide | None) -> Wide | None:
        """Note what a decision may be off, or tell what was noted."""
        if self.is_random:
            return None
        key = (place, self.trips[place[0]])
        if self.replayed is not None:
            return self.replayed.get(key)
        if jump is not None and np.any(jump):
            self.jumps[key] = jump
            return jump
        return None

    def result(
        self,
        value: Wide,
        dtype: DType,
        *,
        own: Wide,
        propagated: Callable[[], Wide] | None = None,
        noise: Callable[[], Wide] | None = None,
        rounded: bool = True,
        open_at: Callable[[], Wide] | None = None,
        jump: Callable[[], Wide] | None = None,
        limits: Limits = ANYWHERE,
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
            open_at: Where a right run may give anything, NaN and infinity too, since an operand may
                be on the other side of the end of the operator's domain.
            jump: What of ``propagated`` comes of a step in the function, where an operand's error
                reaches over it.
            limits: What no rounding brings the result beyond.
        """
        place = self._place()
        with np.errstate(all="ignore"):
            if self.generator is not None:
                drawn = self._drawn(value, dtype, place, limits)
                return Estimate(drawn, None, dtype, limits)
            step = self._jump(place, None if jump is None else jump())
            if self.replayed is not None:
                return self._replay(value, dtype, own, propagated, step, limits)
            found = self._finish(value, dtype, place, own, propagated, noise, rounded)
            error = found.error
            if open_at is not None and error is not None:
                error = np.where(open_at(), np.inf, error)
        return Estimate(found.value, error, dtype, limits)

    def _replay(
        self,
        value: Wide,
        dtype: DType,
        own: Wide,
        propagated: Callable[[], Wide] | None,
        step: Wide | None,
        limits: Limits,
    ) -> Estimate:
        """Return a result whose error is what decisions cause."""
        error = np.where(np.isinf(own) & np.isfinite(value), np.inf, 0.0)
        if propagated is not None:
            error = error + propagated()
        if step is not None:
            error = np.fmax(error, step)
        error = np.where(np.isfinite(value), np.nan_to_num(error, nan=np.inf, posinf=np.inf), 0.0)
        return Estimate(value, np.broadcast_to(error, value.shape), dtype, limits)

    def _finish(
        self,
        value: Wide,
        dtype: DType,
        place: Place,
        own: Wide,
        propagated: Callable[[], Wide] | None,
        noise: Callable[[], Wide] | None,
        rounded: bool,
    ) -> Estimate:
        magnitude = np.abs(value)
        rounding: Wide | float = 0.0
        if rounded:
            rounding = magnitude * (dtype.unit_roundoff * 1.01)
            rounding += (magnitude != 0) * TINY[dtype.name]  # nothing rounds an exact 0
        if self.keeps_noise:
            self.noise[place] = _typical(value, noise() if noise else own, rounding, dtype)
        before = own if propagated is None else own + propagated()
        error = before + rounding
        if _is_plain(error, magnitude, dtype):
            return Estimate(value, np.broadcast_to(error, value.shape), dtype)
        open_ = np.zeros(value.shape, np.bool_)  # what comes of an open operand, NaN or not
        if propagated is not None:
            open_ = np.isinf(before) & ~np.isinf(own)
        before = np.where(np.isnan(before), np.inf, before)
        error = bounded(before + rounding, magnitude)
        near = (magnitude + before >= top(dtype)) & (magnitude - before < top(dtype))
        near &= magnitude > top(dtype) / 2  # else the bound is vacuous, not the value near
        value = overflow(value, dtype)
        error = np.where(np.isfinite(value), error, 0.0)
        error = np.where((near & ~np.isnan(value)) | open_, np.inf, error)
        return Estimate(value, np.broadcast_to(error, value.shape), dtype)

    def _drawn(self, value: Wide, dtype: DType, place: Place, limits: Limits) -> Wide:
        """Return ``value`` off by a random part of what is typical here, within ``limits``."""
        typical = self.noise.get(place)
        assert self.generator is not None
        if typical is None or typical.shape != value.shape:
            return overflow(value, dtype)
        draw = self.generator.random(value.shape, dtype=typical.dtype)
        draw *= 2
        draw -= 1
        draw *= typical
        drawn = value + draw
        if limits != ANYWHERE:
            drawn = np.clip(drawn, min(limits[0], math.inf), limits[1])
        if is_far_below(drawn, dtype):
            return drawn
        return overflow(_within(value, drawn, dtype), dtype)


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
    limit = min(LARGEST[dtype.name] / 8, VAST)
    return bool(np.max(magnitude) < limit and np.max(error) < limit)


def _within(value: Wide, rounded: Wide, dtype: DType) -> Wide:
    """Return ``rounded``, no larger than the greatest number where ``value`` does not overflow.

    Rounding alone makes no number infinite; where an operator's own error could, its result is
    undecided.
    """
    most = LARGEST[dtype.name]
    kept = np.where(overflows(np.abs(value), dtype), rounded, np.clip(rounded, -most, most))
    return np.where(np.isfinite(value), kept, value)
