"""What an operator means: a function from estimates to estimates.

Written apart from `OpDef.compute` and from the loop IR, so that one mistake cannot stand on both
sides of a comparison. A family module ends in the table ``MEANINGS``; `catalog` joins them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np

from reference_vm.diagnostics import DataError
from reference_vm.oracle.estimate import Estimate, Result, Rounding, Wide
from reference_vm.types import Attrs, DType


@final
@dataclass(frozen=True)
class Operands:
    """One call as its meaning sees it."""

    args: tuple[Result | None, ...]
    attrs: Attrs
    """With the defaults filled in."""

    rounding: Rounding
    observed: Wide | None = None
    """What the run decided here, where the meaning is a decision and the run showed it."""

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

    def decide(self, own: Wide, margin: Wide | None, dtype: DType) -> Estimate:
        """Return the result of a decision: what the run decided, where it showed it.

        Where the bound on an operand says nothing any more, it is no measure of what is close:
        then the evaluation is `Rounding.unsure`, and random rounding has to show what tips.

        Args:
            own: What the oracle decides.
            margin: Negative or 0 where the operands' errors could have tipped the decision.
            dtype: The dtype of the result.
        """
        if self.observed is not None and self.observed.shape == own.shape:
            return Estimate(self.observed.astype(own.dtype), None, dtype)
        if margin is None or self.rounding.is_random:
            return Estimate(own, None, dtype)
        if any(isinstance(arg, Estimate) and arg.is_vacuous for arg in self.args):
            self.rounding.unsure = True
            return Estimate(own, None, dtype)
        close = np.broadcast_to(margin <= 0, own.shape)
        return Estimate(own, np.where(close, np.inf, 0.0) if np.any(close) else None, dtype)


Meaning: TypeAlias = Callable[[Operands], Result]


def moved(call: Operands, move: Callable[[Wide], Wide], operand: int = 0) -> Estimate:
    """Return operand ``operand`` with its elements moved, errors alongside."""
    x = call[operand]
    error = None if x.error is None else move(x.error)
    return call.rounding.exact(move(x.value), error, x.dtype)


def division_by_zero(name: str) -> DataError:
    return DataError("division-by-zero", f"{name}: an integer is divided by 0")


def does_not_fit(name: str, found: object) -> DataError:
    return DataError("shape-mismatch", f"{name}: {found}")


def zero_step(name: str) -> DataError:
    return DataError("zero-step", f"{name} by steps of 0")


def index_out_of_range(name: str, index: int, size: int) -> DataError:
    message = f"{name}: index {index} is outside [-{size}, {size - 1}]"
    return DataError("index-out-of-range", message)
