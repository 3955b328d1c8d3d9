"""A gate measures again before it fails, and never passes with nothing compared."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest

from hettest.bench.change import Change
from hettest.bench.comparison import Comparison, Row
from hettest.bench.gate.deciding import Decision, Measurement, Standing, decide
from hettest.bench.gate.limits import COPIES, Limit, Limits
from hettest.bench.gate.measuring import others
from hettest.bench.statistics import Verdict
from tests.unit.hettest.bench.runs import paired, run

SLOWER, SAME, AMBIGUOUS = Verdict.SLOWER, Verdict.SAME, Verdict.AMBIGUOUS
ENTRY = paired("a", 1.0)


class Told:
    """Measures what it is told, one verdict of each benchmark for each measurement."""

    def __init__(self, missing: Sequence[str] = (), **verdicts: Sequence[Verdict | None]) -> None:
        self.verdicts = verdicts
        self.missing = tuple(missing)
        self.asked: list[Collection[str] | None] = []

    def __call__(self, names: Collection[str] | None) -> Measurement:
        number = len(self.asked)
        self.asked.append(names)
        chosen = self.verdicts if names is None else names
        rows = [self.row(name, number) for name in chosen if number < len(self.verdicts[name])]
        now = run(*(replace(ENTRY, name=row.name) for row in rows))
        return Measurement(Comparison(tuple(rows), self.missing, ()), now)

    def row(self, name: str, number: int) -> Row:
        verdict = self.verdicts[name][number]
        if verdict is None:
            return Row(name, note="not timed now: it was switched off")
        return Row(name, change=Change(verdict, 1.2, 1.15, 1.25, 0.1))


def standing(found: Decision, name: str = "a") -> Standing:
    (only,) = (finding for finding in found.findings if finding.name == name)
    return only.standing


def test_slower_each_time_fails() -> None:
    measure = Told(a=[SLOWER, SLOWER, SLOWER], b=[SAME])

    found = decide(measure, Limits())

    assert (found.exit_code, standing(found)) == (1, Standing.SLOWER)
    assert measure.asked == [None, ["a"], ["a"]]


@pytest.mark.parametrize("second", [SAME, AMBIGUOUS, Verdict.FASTER])
def test_slower_once_does_not_fail(second: Verdict) -> None:
    measure = Told(a=[SLOWER, second], b=[SAME])

    found = decide(measure, Limits())

    assert found.exit_code == 0
    assert measure.asked == [None, ["a"]]
    assert f"measured 2 times: slower, then {second}" in found.findings[0].notes


def test_without_confirmation_one_measurement_fails() -> None:
    assert decide(Told(a=[SLOWER]), Limits(), confirm=0).exit_code == 1


def test_what_is_not_timed_again_is_not_confirmed() -> None:
    found = decide(Told(a=[SLOWER], b=[SAME]), Limits())

    assert (found.exit_code, standing(found)) == (0, Standing.UNDECIDED)


def test_nothing_in_both_is_incomplete() -> None:
    found = decide(Told(), Limits())

    assert found.exit_code == 6
    assert found.incomplete == ("nothing was compared: no benchmark is in both and was timed",)


def test_what_was_not_timed_is_incomplete() -> None:
    some = decide(Told(a=[None], b=[SAME]), Limits())
    every = decide(Told(a=[None]), Limits())

    assert (some.exit_code, every.exit_code) == (6, 6)
    assert "a: not timed now: it was switched off" in some.incomplete
    assert "nothing was compared" in every.incomplete[0]


def test_all_undecided_is_incomplete_and_some_only_if_strict() -> None:
    measured = {"a": [AMBIGUOUS], "b": [SAME]}

    assert decide(Told(a=[AMBIGUOUS]), Limits()).exit_code == 6
    assert decide(Told(**measured), Limits()).exit_code == 0
    strict = decide(Told(**measured), Limits(), strict=True)
    assert (strict.exit_code, strict.incomplete) == (6, ("1 of 2 benchmarks are undecided",))


def test_a_benchmark_that_vanished_is_incomplete_unless_it_may() -> None:
    gone = ["test_a.py::test_gone[x]"]

    assert decide(Told(gone, a=[SAME]), Limits()).exit_code == 6
    found = decide(Told(gone, a=[SAME]), Limits(), may_be_missing=["test_a.py::test_gone[*"])
    assert (found.exit_code, found.missing) == (0, ())


def test_a_limit_of_its_own_says_why() -> None:
    found = decide(Told(a=[SAME]), Limits((Limit("a", 1.5, reason="tiles at random"),)))

    assert found.findings[0].limit == 1.5
    assert found.findings[0].notes == ("its own limit: tiles at random",)


def test_costs_above_the_limit_fail_at_once() -> None:
    measure = Told(a=[SAME])

    found = decide(measure, Limits((Limit("a", most={COPIES: 2}),)))

    assert (found.exit_code, standing(found)) == (1, Standing.COSTS_MORE)
    assert found.findings[0].notes == ("copies: 3, at most 2 are allowed",)
    assert measure.asked == [None]


def test_costs_of_a_new_benchmark_are_held_too() -> None:
    class WithNew(Told):
        def __call__(self, names: Collection[str] | None) -> Measurement:
            found = super().__call__(names)
            now = run(ENTRY, replace(ENTRY, name="new"))
            return Measurement(replace(found.comparison, new=("new",)), now)

    found = decide(WithNew(a=[SAME]), Limits((Limit("new", most={COPIES: 2}),)))

    assert (found.exit_code, standing(found, "new")) == (1, Standing.COSTS_MORE)


def test_a_limit_that_is_for_nothing_is_incomplete() -> None:
    limit = Limit("b*", slower=2.0, file="limits.toml", line=3)

    found = decide(Told(a=[SAME]), Limits((limit,)))

    assert found.exit_code == 6
    assert found.incomplete == ("limits.toml:3: is for no benchmark that ran",)


def test_what_is_left_out_begins_no_name_that_is_wanted() -> None:
    known = ["t.py::test_a", "t.py::test_ab", "t.py::test_c"]

    assert others(["t.py::test_ab"], known) == ["t.py::test_c"]
    assert others(["t.py::test_a"], known) == ["t.py::test_ab", "t.py::test_c"]
