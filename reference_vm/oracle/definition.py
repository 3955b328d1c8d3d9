"""What an operator means: a function from estimates to estimates.

Written apart from `OpDef.compute` and from the loop IR, so that one mistake cannot stand on both
sides of a comparison. A family module ends in the table ``MEANINGS``; `catalog` joins them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np

from reference_vm.diagnostics import DataError
from reference_vm.oracle.estimate import ANYWHERE, Estimate, Limits, Result, Wide
from reference_vm.oracle.rounding import Rounding
from reference_vm.types import Attrs, DType


@final
@dataclass(frozen=True)
class Operands:
    """One call as its meaning sees it."""

    args: tuple[Result | None, ...]
    attrs: Attrs
    """With the defaults filled in."""

    rounding: Rounding
    observed: Sequence[Wide | None] = ()
    """What the run decided here, where the meaning is a decision: the parts of the result that the
    run showed, one for an operator of one result."""

    def __getitem__(self, index: int) -> Estimate:
        found = self.args[index]
        assert isinstance(found, Estimate), f"operand {index} is {found!r}, expected a tensor"
        return found

    def optional(self, index: int) -> Estimate | None:
        if index >= len(self.args) or self.args[index] is None:
            return None
        return self[index]

    def integers(self, index: int) -> tuple[int, ...] | None:
        """Return a shape value or integer tensor as ints; ``None`` if it is left out."""
        if index >= len(self.args) or self.args[index] is None:
            return None
        found = self.args[index]
        if isinstance(found, tuple):
            return tuple(int(d) for d in found if not isinstance(d, Estimate | tuple))
        assert isinstance(found, Estimate)
        return tuple(int(v) for v in np.ravel(found.value))

    def tensors(self, start: int = 0) -> tuple[Estimate, ...]:
        """Return the operands from ``start`` on, all tensors."""
        return tuple(self[i] for i in range(start, len(self.args)))

    @property
    def dtype(self) -> DType:
        """The dtype of the first operand."""
        return self[0].dtype

    @property
    def has_errors(self) -> bool:
        """Whether an operand may be off."""
        return any(isinstance(arg, Estimate) and arg.error is not None for arg in self.args)

    @property
    def is_vacuous(self) -> bool:
        """Whether the bound on an operand says nothing any more."""
        return any(isinstance(arg, Estimate) and arg.is_vacuous for arg in self.args)

    def shown(self, part: int = 0) -> Wide | None:
        """Return what the run decided, or ``None``."""
        return self.observed[part] if part < len(self.observed) else None

    def decide(self, own: Wide, margin: Wide | None, dtype: DType, part: int = 0) -> Estimate:
        """Return the result of a decision: what the run decided, where it showed it.

        Where the bound on an operand says nothing any more, it is no measure of what is close:
        then the evaluation is `Rounding.unsure`, and random rounding has to show what tips.

        Args:
            own: What the oracle decides.
            margin: Negative or 0 where the operands' errors could have tipped the decision.
            dtype: The dtype of the result.
            part: Which of the operator's results it is.
        """
        seen = self.shown(part)
        if seen is not None and seen.shape == own.shape:
            return Estimate(seen.astype(own.dtype), None, dtype)
        if margin is None or self.rounding.is_random:
            return self.rounding.decided(own, None, dtype)
        close = np.broadcast_to(margin <= 0, own.shape)
        if np.any(close) and self.is_vacuous:
            self.rounding.unsure = True
            close = np.zeros(own.shape, np.bool_)
        return self.rounding.decided(own, np.where(close, np.inf, 0.0), dtype)

    def decide_between(
        self, own: Wide, low: Wide, high: Wide, dtype: DType, part: int = 0
    ) -> Estimate:
        """Return the result of a decision that is a number: off by what lies between.

        Args:
            own: What the oracle decides.
            low: The least that a right run may decide.
            high: The greatest.
            dtype: The dtype of the result.
            part: Which of the operator's results it is.
        """
        seen = self.shown(part)
        if seen is not None and seen.shape == own.shape:
            return Estimate(seen.astype(own.dtype), None, dtype)
        jump = between(own, low, high)
        if np.any(jump) and not self.rounding.is_random and self.is_vacuous:
            self.rounding.unsure = True
        return self.rounding.decided(own, jump, dtype)

    def step_between(self, value: Wide, low: Wide, high: Wide) -> Wide:
        """Return how far a float that steps may be off; see `Rounding.result` for ``jump``."""
        jump = between(value, low, high)
        if np.any(jump) and self.is_vacuous:
            self.rounding.unsure = True
        return jump

    def open_where(self, outside: Wide) -> Wide:
        """Return where an operand may be over the end of a domain, as far as its bound tells.

        Where that says nothing any more, random rounding has to show it.
        """
        if np.any(outside) and self.is_vacuous:
            self.rounding.unsure = True
            return np.zeros(outside.shape, np.bool_)
        return outside


def between(own: Wide, low: Wide, high: Wide) -> Wide:
    """Return how far ``own`` is from the further of two ends; equal infinities are one place."""
    with np.errstate(all="ignore"):
        wide = np.asarray(own).astype(np.result_type(own.dtype, np.float64))
        up = np.where(high == own, 0.0, np.abs(high.astype(wide.dtype) - wide))
        down = np.where(low == own, 0.0, np.abs(wide - low.astype(wide.dtype)))
        off = np.nan_to_num(np.fmax(up, down), nan=0.0, posinf=np.inf)
        return np.where(np.isinf(low) & np.isinf(high) & (low < high), np.inf, off)


Meaning: TypeAlias = Callable[[Operands], Result]


def moved(call: Operands, move: Callable[[Wide], Wide], operand: int = 0) -> Estimate:
    """Return operand ``operand`` with its elements moved, errors alongside."""
    x = call[operand]
    error = None if x.error is None else move(x.error)
    return call.rounding.exact(move(x.value), error, x.dtype, x.limits and x.span)


def exactly(
    call: Operands, value: Wide, error: Wide | None, dtype: DType, limits: Limits = ANYWHERE
) -> Estimate:
    """Return an integer or a bool that is computed exactly from operands that may be off.

    An integer that may be off over the end of its range wraps: then it may be anything.
    """
    if error is None or call.rounding.is_random:
        return Estimate(value, None, dtype, limits)
    error = np.broadcast_to(np.nan_to_num(error, nan=np.inf, posinf=np.inf), value.shape)
    if not dtype.is_bool:
        wraps = _over_the_end(value.astype(np.float64), error, dtype)
        error = np.where((error > 0) & wraps, np.inf, error)
    return call.rounding.exact(value, error, dtype, limits)


def _over_the_end(value: Wide, error: Wide, dtype: DType) -> Wide:
    """Return where integers may be beyond their range; in f64 its ends of 64 bits are rounded."""
    low, high = float(dtype.minimum), float(dtype.maximum)
    if dtype.bits < 64:
        return np.asarray((value + error > high) | (value - error < low))
    below = value - error <= low if dtype.is_signed else value - error < low
    return np.asarray((value + error >= high) | below)


def division_by_zero(name: str) -> DataError:
    return DataError("division-by-zero", f"{name}: an integer is divided by 0")


def does_not_fit(name: str, found: object) -> DataError:
    return DataError("shape-mismatch", f"{name}: {found}")


def zero_step(name: str) -> DataError:
    return DataError("zero-step", f"{name} by steps of 0")


def index_out_of_range(name: str, index: int, size: int) -> DataError:
    message = f"{name}: index {index} is outside [-{size}, {size - 1}]"
    return DataError("index-out-of-range", message)
