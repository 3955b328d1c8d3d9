"""Evaluations of a run's program beside the first: with random rounding, and of decisions alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from hettest.judge.limits import IN_FORCE, RUNS
from hettest.judge.nesting import leaves
from hettest.language import Estimate, Evaluation, Module, oracle

Array: TypeAlias = NDArray[Any]
Value: TypeAlias = "Array | str | tuple[Value, ...]"


@final
@dataclass
class Runs:
    """Evaluations with random rounding, made when they are first asked for."""

    module: Module
    entry: str
    args: Sequence[Value]
    evaluation: Evaluation
    observed: Mapping[str, Array] | None
    seed: int

    @property
    def is_unsure(self) -> bool:
        """Whether the evaluation met decisions for which its bounds were no measure."""
        return self.evaluation.rounding.unsure

    @cached_property
    def widths(self) -> list[Array]:
        """How far apart the evaluations are, for each result, element by element."""
        made = oracle.spread(
            self.module,
            self.entry,
            self.args,
            self.evaluation,
            self.observed,
            runs=RUNS,
            seed=self.seed,
        )
        every = [list(leaves(run)) for run in made]
        return [_width([run[number].value for run in every]) for number in range(len(every[0]))]

    @cached_property
    def jumps(self) -> list[Array | None]:
        """What of each result's error comes of decisions that rounding could tip."""
        if not self.evaluation.rounding.jumps:
            return [None for _ in leaves(self.evaluation.result)]
        parts = (self.module, self.entry, self.args, self.evaluation, self.observed)
        return [found.errors for found in leaves(oracle.jumps(*parts))]

    def settled(self) -> list[Estimate]:
        """Return the estimates with what decisions may cause.

        Where the evaluation met decisions for which its bounds were no measure, they are undecided
        where random rounding tips a decision before them.
        """
        estimates = list(leaves(self.evaluation.result))
        pairs = zip(estimates, self.jumps, strict=True)
        estimates = [e if j is None else replace(e, jump=j) for e, j in pairs]
        if not self.evaluation.rounding.unsure:
            return estimates
        return [
            replace(e, error=np.where(_tips(width, e), np.inf, e.errors))
            for e, width in zip(estimates, self.widths, strict=True)
        ]


def _tips(width: Array, estimate: Estimate) -> Array:
    """Return where random rounding moves a result further than rounding alone does."""
    return np.asarray(width > IN_FORCE * estimate.scale)


def _width(values: Sequence[Array]) -> Array:
    """Return how far values are apart: 0 where they are one, infinite where no number says it."""
    stacked = np.stack(values)
    if stacked.dtype.kind != "f":
        return np.asarray(np.max(stacked, axis=0).astype(float) - np.min(stacked, axis=0))
    with np.errstate(all="ignore"):
        width: Array = np.max(stacked, axis=0) - np.min(stacked, axis=0)
        if np.all(np.isfinite(width)):
            return width
        same = np.all((stacked == stacked[0]) | (np.isnan(stacked) & np.isnan(stacked[0])), axis=0)
    return np.where(same, 0.0, np.where(np.isfinite(width), width, np.inf))
