"""The results are right: the judge's checks, and the case's own numbers.

A value that differs is shown with its place; a looser bound that the case asks for is shown with
its reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from hettest.expect.situation import Situation
from hettest.judge import Verdict, judge
from hettest.judge.nesting import leaves, misfit
from hettest.language import CompileError, DiagnosticError
from hettest.outcome import Clause, Measure, Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hettest.backend.protocol import Value


def check(situation: Situation) -> Iterator[Clause]:
    """Yield one clause: always, since every run has results."""
    expect = situation.expect.values
    if situation.expected is not None and expect.ulps is not None:
        yield _loosely(situation, situation.expected, expect.ulps, expect.reason or "")
        return
    try:
        verdict = _verdict(situation)
    except DiagnosticError as error:
        yield _without_oracle(situation, error)
        return
    zeros = list(_zeros(situation)) if expect.signed_zeros and verdict.holds else []
    failures = [f"{c.name}: {c.detail}" for c in verdict.failures] + zeros
    measures = tuple(_measures(verdict))
    if failures:
        yield Clause("values", Status.FAILED, "\n".join(failures), measures=measures)
    elif not verdict.decides:
        yield _undecided(situation, verdict, measures)
    else:
        yield Clause("values", Status.PROVEN, _summary(verdict), measures=measures)


def _verdict(situation: Situation) -> Verdict:
    baseline = None if situation.expected is not None else situation.baseline()
    return judge(
        situation.module,
        situation.entry,
        situation.args,
        situation.observation,
        baseline,
        expected=situation.expected,
        seed=situation.seed,
    )


def _undecided(situation: Situation, verdict: Verdict, measures: tuple[Measure, ...]) -> Clause:
    """Return the clause of a run in which nothing that holds could have told a wrong result."""
    word = "observe:intermediates" if situation.observation.intermediates is None else None
    detail = f"no check can tell a wrong result: {_summary(verdict)}"
    return Clause("values", Status.UNPROVEN, detail, word=word, measures=measures)


def _without_oracle(situation: Situation, error: DiagnosticError) -> Clause:
    """Return what can be said where the oracle cannot follow: the literal, to one ulp."""
    found = error.diagnostics[0]
    if situation.expected is not None and isinstance(error, CompileError):
        return _loosely(situation, situation.expected, 1.0, f"the oracle lacks it: {found.code}")
    detail = f"the oracle has no answer: {found.message} [{found.code}]"
    return Clause("values", Status.FAILED, detail)


def _summary(verdict: Verdict) -> str:
    return "; ".join(f"{c.name} {c.status}" for c in verdict.checks)


def _measures(verdict: Verdict) -> Iterator[Measure]:
    for check in verdict.checks:
        finite = check.worst is not None and math.isfinite(check.worst)
        worst = check.worst if finite else None
        yield Measure(check.name, check.status.value, worst, check.undecided)


def _pairs(situation: Situation) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    if situation.expected is None:
        return []
    found = list(leaves(situation.observation.results))
    return list(zip(found, leaves(situation.expected), strict=False))


def _zeros(situation: Situation) -> Iterator[str]:
    for number, (found, expected) in enumerate(_pairs(situation)):
        zero = (found == 0) & (expected == 0)
        wrong = np.argwhere(zero & (np.signbit(found) != np.signbit(expected)))
        if wrong.size:
            yield f"result {number}, element {wrong[0].tolist()}: a zero of the other sign"


def _loosely(situation: Situation, expected: Value, ulps: float, reason: str) -> Clause:
    loosened = f"within {ulps:g} ulp, since {reason}"
    results = situation.observation.results
    misplaced = misfit(results, expected)
    if misplaced is not None:
        return Clause("values", Status.FAILED, f"form: {misplaced}")
    pairs = list(zip(leaves(results), leaves(expected), strict=True))
    for number, (array, want) in enumerate(pairs):
        wrong = difference(array, want, ulps)
        if wrong is not None:
            failed = (Measure("expected", "fails"),)
            detail = f"result {number}: {wrong}, {loosened}"
            return Clause("values", Status.FAILED, detail, measures=failed)
    worst = max((_apart(array, want) for array, want in pairs), default=0.0) / (ulps or 1.0)
    held = (Measure("expected", "holds", worst),)
    return Clause("values", Status.PROVEN, f"as expected, {loosened}", measures=held)


def difference(found: NDArray[Any], expected: NDArray[Any], ulps: float) -> str | None:
    """Return where ``found`` first differs by more than ``ulps``, or ``None``.

    Dtypes and shapes must be equal; NaN equals NaN; integers and bools must be equal.
    """
    if found.dtype != expected.dtype or found.shape != expected.shape:
        forms = (f"{a.dtype}{list(a.shape)}" for a in (found, expected))
        return "found {}, expected {}".format(*forms)
    close = found == expected if found.dtype.kind in "biu" else _close(found, expected, ulps)
    wrong = np.argwhere(~close)
    if not wrong.size:
        return None
    place = tuple(wrong[0].tolist())
    return (
        f"{len(wrong)} of {found.size} elements differ; "
        f"element {list(place)}: found {found[place]}, expected {expected[place]}"
    )


def _close(found: NDArray[Any], expected: NDArray[Any], ulps: float) -> NDArray[np.bool_]:
    close: NDArray[np.bool_] = _ulps_apart(found, expected) <= ulps
    return close


def _apart(found: NDArray[Any], expected: NDArray[Any]) -> float:
    """Return the largest difference in units in the last place; of integers 0."""
    if found.dtype.kind in "biu" or not found.size:
        return 0.0
    return float(np.max(_ulps_apart(found, expected)))


def _ulps_apart(found: NDArray[Any], expected: NDArray[Any]) -> NDArray[Any]:
    """Return the differences in units in the last place of ``expected``.

    They are infinite where one is NaN or infinite and the other is not.
    """
    with np.errstate(all="ignore"):
        spacing = np.abs(np.spacing(expected)).astype(np.float64)
        apart = np.abs(found.astype(np.float64) - expected.astype(np.float64)) / spacing
        same = (found == expected) | (np.isnan(found) & np.isnan(expected))
        return np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart))
