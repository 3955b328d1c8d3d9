"""The parts of judging that can be taken away by themselves, and who lives without each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, final
from unittest.mock import patch

from hettest.expect import (
    arguments,
    arrivals,
    diagnostics,
    evidence,
    meter,
    placement,
    values,
)
from hettest.judge import Verdict, judge, judging
from hettest.judge.verdict import Check
from hettest.judge.verdict import Status as CheckStatus
from hettest.outcome import Clause, Status
from hettest.runner import run
from tests.mutants.mutant import Replacement


@final
@dataclass(frozen=True)
class Removal:
    """One part of judging, and a mutant that nothing else sees."""

    name: str
    asks: str
    """What it holds a backend to, one phrase."""

    lives: str
    """The mutant."""

    without: Replacement

    @contextmanager
    def in_force(self) -> Iterator[None]:
        r = self.without
        with patch.object(r.owner, r.name, r.value):
            yield


def _without(name: str) -> Replacement:
    """Return a judge that leaves one numeric check out."""

    def fewer(*args: Any, **named: Any) -> Verdict:
        checks = judge(*args, **named).checks
        return Verdict(tuple(check for check in checks if check.name != name))

    return Replacement(values, "judge", fewer)


def _content(name: str) -> Replacement:
    """Return a check of diagnostics that is content with anything."""
    proven = Clause("diagnostics", Status.PROVEN, "not looked at")
    return Replacement(diagnostics, name, lambda *args: proven)


def _nothing(*args: Any) -> Sequence[Any]:
    return ()


def _without_part(part: evidence.Part) -> Replacement:
    left = tuple(p for p in evidence.PARTS if p is not part)
    return Replacement(evidence, "PARTS", left)


_holds: Final = Check("form", CheckStatus.HOLDS, "not looked at")
_proven: Final = Clause("values", Status.PROVEN, "not looked at")

ALONE: Final = (
    Removal(
        "form",
        "results nest, and have dtypes and shapes, as the program says",
        "widens-results",
        Replacement(judging, "_form", lambda *args: _holds),
    ),
    Removal(
        "expected",
        "results are what the case says",
        "decides-by-the-last-bit",
        _without("expected"),
    ),
    Removal(
        "local",
        "each operator is within its own bound on the operands that it got",
        "computes-exp-in-half",
        _without("local"),
    ),
    Removal(
        "ratio",
        "the placed run is as good as the CPU's",
        "sums-worse-on-the-accelerator",
        _without("ratio"),
    ),
    Removal(
        "anchor",
        "the CPU's run is as good as rounding allows",
        "sums-badly-everywhere",
        _without("anchor"),
    ),
    Removal(
        "bound",
        "the result is within the bound of the whole program",
        "delivers-nearly",
        _without("bound"),
    ),
    Removal(
        "ulps",
        "results are within the case's own bound",
        "cancels-sums",
        Replacement(values, "_loosely", lambda *args: _proven),
    ),
    Removal(
        "signed-zeros",
        "zeros have the sign that the case says",
        "negates-by-subtracting",
        Replacement(values, "_zeros", _nothing),
    ),
    Removal(
        "refusal",
        "a program at fault is refused, with its code at its line",
        "reports-the-next-line",
        _content("refusal"),
    ),
    Removal(
        "data-error",
        "data at fault end the run in their error",
        "swallows-division-by-zero",
        _content("data_error"),
    ),
    Removal(
        "unexpected",
        "a program that is right is not refused",
        "broken-by-an-error",
        _content("unexpected"),
    ),
    Removal(
        "claims",
        "what is claimed to be shown is shown",
        "reports-no-memory",
        Replacement(run, "kept_claims", _nothing),
    ),
    Removal(
        "earlier results",
        "results of an earlier run stay as they were",
        "returns-in-the-same-memory",
        Replacement(arguments, "_overwritten", _nothing),
    ),
    Removal(
        "meter",
        "the meter counts what the report says",
        "copies-twice-and-reports-once",
        _without_part(meter.disagreements),
    ),
    Removal(
        "arrays",
        "arrays lie where their operators are reported to have run",
        "shows-arrays-on-the-host",
        _without_part(evidence.misplaced_arrays),
    ),
    Removal(
        "doubled results",
        "what a device computes changes when its results are doubled",
        "falls-back-and-forges-the-meter",
        _without_part(evidence.unchanged_results),
    ),
    Removal(
        "hidden executions",
        "what must run in every right run is reported to have run",
        "hides-an-execution",
        Replacement(placement, "_hidden", _nothing),
    ),
    Removal(
        "copies from nowhere",
        "a copy comes from where the value is",
        "reports-copies-from-elsewhere",
        Replacement(arrivals, "_from_nowhere", _nothing),
    ),
)
