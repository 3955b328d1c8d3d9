"""The parts of judging that can be taken away by themselves, and who lives without each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, final
from unittest.mock import patch

from hettest.expect import arguments, diagnostics, values
from hettest.judge import Verdict, judge
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


_proven: Final = Clause("values", Status.PROVEN, "not looked at")

ALONE: Final = (
    Removal(
        "form",
        "results nest, and have dtypes and shapes, as the program says",
        "wraps-results",
        _without("form"),
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
        Replacement(arguments, "_changed", _nothing),
    ),
)
