"""What a run must give: its results in their own dtypes, and how far off each element may be.

The bounds are the judge's: those of the oracle, or those around the case's own numbers, widened by
what rounding the oracle's value to the dtype takes away. So whoever holds a run to them needs no
oracle, and a run that the judge's bound accepts is accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from hettest.case import walk
from hettest.case.model import Case, Run
from hettest.errors import CaseError, Problem
from hettest.judge.judging import agreeing, estimates, held_to
from hettest.judge.limits import IN_FORCE
from hettest.judge.nesting import leaves, rebuilt
from hettest.language import (
    CompileError,
    DiagnosticError,
    Estimate,
    Module,
    nodes,
    to_numpy,
)
from hettest.runner.cases import literal

if TYPE_CHECKING:
    from hettest.backend.protocol import Value

Array: TypeAlias = NDArray[Any]

_SHOWN: Final = Context(prec=3, rounding=ROUND_CEILING)
_ONE_ULP: Final = "the oracle has no answer: one unit in the last place"


class Unanswered(Exception):
    """Nothing but an implementation can say what the run gives."""


@final
@dataclass(frozen=True)
class Element:
    """One tensor of a result."""

    value: Array
    allowed: NDArray[np.float64]
    """Absolute, for each element; infinite where a decision is too close to call."""


@final
@dataclass(frozen=True)
class Answer:
    """What a run must give."""

    results: Element | tuple[Any, ...]
    """Nested as the program says."""

    judge: str
    """``case`` where the case states the numbers, ``oracle`` where they are computed."""

    reason: str | None = None
    """Why the bounds are looser than they would be."""

    vacuous: bool = False
    """Whether some bound is so wide that no wrong result would be told."""

    @property
    def elements(self) -> list[Element]:
        """The tensors, in order."""
        return list(leaves(self.results))


def answer_of(case: Case, run: Run, module: Module, args: Sequence[Value]) -> Answer:
    """Return what ``run`` must give.

    Raises:
        Unanswered: The oracle cannot walk the program, and the case states no numbers.
        CaseError: The data is at fault, against what the case says.
    """
    stated, loose = literal(case, run), case.expect.values
    if stated is not None and loose.ulps is not None:
        return Answer(_loosely(stated, loose.ulps), "case", loose.reason)
    try:
        estimated = estimates(module, run.entry, args)
    except CompileError as error:
        if stated is None:
            raise Unanswered(f"the oracle has no answer: {error.diagnostics[0].message}") from error
        return Answer(_loosely(stated, 1.0), "case", _ONE_ULP)
    except DiagnosticError as error:
        message = error.diagnostics[0].message
        raise CaseError([Problem(str(case.path), run.line, f"run {run.name}", message)]) from error
    found = list(leaves(estimated))
    if stated is not None:
        pairs = zip(found, leaves(stated), strict=True)
        return Answer(
            rebuilt(stated, iter([_element(held_to(e, want), want) for e, want in pairs])), "case"
        )
    results = rebuilt(estimated, iter([_element(agreeing(e), _rounded(e)) for e in found]))
    return Answer(results, "oracle", vacuous=_calls(module) > 1 and any(map(_is_vacuous, found)))


def _loosely(stated: Value, ulps: float) -> Element | tuple[Any, ...]:
    """Return the case's own numbers with so many units in the last place."""
    made: Element | tuple[Any, ...] = rebuilt(
        stated, iter([_within(array, ulps) for array in leaves(stated)])
    )
    return made


def _within(stated: Array, ulps: float) -> Element:
    if stated.dtype.kind in "biu":
        return Element(stated, np.zeros(stated.shape))
    with np.errstate(all="ignore"):
        spacing = np.abs(np.spacing(stated)).astype(np.float64)
    return Element(stated, np.nan_to_num(spacing, posinf=0.0) * ulps)


def _rounded(estimate: Estimate) -> Array:
    with np.errstate(all="ignore"):
        rounded: Array = np.array(estimate.value).astype(to_numpy(estimate.dtype))
    if estimate.dtype.is_float:
        rounded[np.isnan(rounded)] = np.nan  # one NaN for all, whatever computing left in its bits
    return rounded


def _element(estimate: Estimate, value: Array) -> Element:
    if not estimate.dtype.is_float:
        return Element(value, np.asarray(estimate.errors, np.float64))
    with np.errstate(all="ignore"):
        apart = np.abs(value.astype(estimate.value.dtype) - estimate.value)
    apart = np.where(np.isfinite(apart), apart, 0.0)
    return Element(value, _shown(estimate.errors + apart))


def _shown(errors: Array) -> NDArray[np.float64]:
    """Return errors with three digits, none of them smaller."""
    narrow = np.asarray(errors, np.float64)
    narrow = np.where(narrow < errors, np.nextafter(narrow, np.inf), narrow)
    distinct, places = np.unique(narrow, return_inverse=True)
    shown = [
        e if np.isinf(e) else float(_SHOWN.create_decimal_from_float(float(e))) for e in distinct
    ]
    return np.asarray(shown, np.float64)[places].reshape(narrow.shape)


def _is_vacuous(estimate: Estimate) -> bool:
    finite = estimate.errors[np.isfinite(estimate.errors)]
    return bool(finite.size) and float(np.max(finite)) > IN_FORCE * estimate.scale > 0


def _calls(module: Module) -> int:
    """Return how many operators the program has; the bound of one alone is always in force."""
    every = (b.value for function in module.functions for b in walk.bindings(function))
    return sum(isinstance(value, nodes.Call) for value in every)
