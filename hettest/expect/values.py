"""The results are right: the judge's checks, and the case's own numbers.

A value that differs is shown with its place; a looser bound that the case asks for is shown with
its reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from hettest.case import walk
from hettest.expect.situation import Situation
from hettest.judge import Verdict, judge
from hettest.judge.nesting import leaves, misfit
from hettest.language import CompileError, DiagnosticError, Module, Trait, nodes, operators
from hettest.outcome import Clause, Measure, Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hettest.backend.protocol import Value
    from hettest.language import Estimate


_MOVING: Final = (Trait.INJECTIVE, Trait.VIEW, Trait.MOVES_DATA, Trait.METADATA, Trait.HOST)


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
    zeros = list(_zeros(situation, verdict.estimates)) if verdict.holds else []
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


def _zeros(situation: Situation, estimates: Sequence[Estimate]) -> Iterator[str]:
    """Yield the first zero of each result whose sign is another one than is known.

    Signs count where the case says so, and in programs that only move data. They are the case's
    own, and the oracle's where it is sure; without its estimates only the former are known.
    """
    found = list(leaves(situation.observation.results))
    stated = situation.expect.values.signed_zeros
    every = stated or _only_moves(situation.module)
    for number, (array, known) in enumerate(zip(found, estimates, strict=bool(estimates))):
        if known.dtype.is_float and every:
            yield from _wrong_zeros(number, array, known.value, _has_known_sign(known))
    if situation.expected is not None and stated:
        for number, pair in enumerate(zip(found, leaves(situation.expected), strict=True)):
            yield from _wrong_zeros(number, *pair, pair[1] == 0)


def _only_moves(module: Module) -> bool:
    """Whether every element of a result is one of an argument, to the bit."""
    calls = [
        operators().get(binding.value.op)
        for function in module.functions
        for binding in walk.bindings(function)
        if isinstance(binding.value, nodes.Call)
    ]
    return all(op is not None and any(map(op.has, _MOVING)) for op in calls)


def _has_known_sign(estimate: Estimate) -> NDArray[np.bool_]:
    """Return where every right run has one sign: of exact values, and of those beyond their error.

    A sum that rounding may take to either side of zero has none.
    """
    known: NDArray[np.bool_] = (estimate.errors == 0) | (np.abs(estimate.value) > estimate.errors)
    return known


def _wrong_zeros(
    number: int, found: NDArray[Any], known: NDArray[Any], sure: NDArray[np.bool_]
) -> Iterator[str]:
    with np.errstate(invalid="ignore"):  # a NaN whose bits would signal
        zeros = (found == 0) & sure
    wrong = np.argwhere(zeros & (np.signbit(found) != np.signbit(known)))
    if wrong.size:
        place = tuple(wrong[0].tolist())
        yield (
            f"result {number}, element {list(place)}: a zero of the other sign, found "
            f"{found[place]}, expected {'-' if np.signbit(known[place]) else '+'}0"
        )


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
    sign = next(_zeros(situation, ()), None)
    if sign is not None:
        return Clause("values", Status.FAILED, sign, measures=(Measure("expected", "fails"),))
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
