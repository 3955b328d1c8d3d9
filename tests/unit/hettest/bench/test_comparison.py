"""Two stored runs are compared by the ratio to the CPU-only side of each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hettest.bench.comparison import Comparison, Row, compare, compare_turns
from hettest.bench.statistics import Verdict
from hettest.bench.stored import Entry
from tests.unit.hettest.bench.runs import paired, plain, run, untimed


def row(found: Comparison) -> Row:
    (only,) = found.rows
    return only


def test_a_slower_machine_is_no_regression() -> None:
    found = row(compare(run(paired("a", 1.2)), run(paired("a", 1.2, cpu_only=3e-3, seed=7))))

    assert found.verdict is Verdict.SAME
    assert found.placed is not None
    assert found.placed.verdict is Verdict.SLOWER
    assert found.note == "both sides take longer, CPU-only 2.98 times: machine or code"


def test_a_slower_program_is_seen_on_a_faster_machine() -> None:
    elsewhere = run(paired("a", 1.3, cpu_only=4e-4, seed=7), machine="there, Acme 2")

    found = row(compare(run(paired("a", 0.9)), elsewhere))

    assert (found.then, found.now) == (Verdict.FASTER, Verdict.SLOWER)
    assert found.verdict is Verdict.SLOWER
    assert found.change is not None
    assert found.change.ratio == pytest.approx(1.3 / 0.9, rel=0.02)
    assert found.note == ""


def test_a_faster_cpu_only_side_is_told() -> None:
    found = row(compare(run(paired("a", 1.0)), run(paired("a", 2.0, cpu_only=5e-4, seed=7))))

    assert found.verdict is Verdict.SLOWER
    assert "CPU-only side is 0.497 times what it was, the placed time itself 0.987" in found.note


def test_missing_and_new_benchmarks_are_named() -> None:
    found = compare(run(plain("gone"), plain("both")), run(plain("both", seed=3), plain("here")))

    assert (found.missing, found.new) == (("gone",), ("here",))
    assert [row.name for row in found.rows] == ["both"]


def test_plain_seconds_are_compared_on_one_machine_only() -> None:
    elsewhere = run(plain("a", 2e-3, seed=3), machine="there, Acme 2")

    found = row(compare(run(plain("a")), elsewhere))
    anyway = row(compare(run(plain("a")), elsewhere, across_machines=True))

    assert (found.change, found.note) == (
        None,
        "measured on here, Acme 1 then, on there, Acme 2 now, and not paired",
    )
    assert anyway.verdict is Verdict.SLOWER


def test_without_rounds_there_is_a_ratio_and_no_verdict() -> None:
    found = row(compare(run(plain("a", kept=False)), run(plain("a", 3e-3, seed=1))))

    assert found.verdict is Verdict.AMBIGUOUS
    assert found.change is not None
    assert found.change.ratio == pytest.approx(3, rel=0.05)


@pytest.mark.parametrize(
    ("then", "now", "note"),
    [
        (untimed("a"), paired("a", 1.0), "not timed then: it was switched off"),
        (paired("a", 1.0), untimed("a"), "not timed now: it was switched off"),
        (paired("a", 1.0), plain("a"), "timed beside the CPU only then, expected in both runs"),
        (plain("a"), replace(plain("a"), unit="bytes"), "was measured in seconds then, in bytes"),
        (replace(plain("a"), median=0.0), plain("a"), "took 0 seconds then, which has no ratio"),
    ],
)
def test_what_cannot_be_compared_says_why(then: Entry, now: Entry, note: str) -> None:
    found = compare(run(then), run(now))

    assert row(found).change is None
    assert row(found).note.startswith(note)
    assert not found.is_decided
    assert not compare_turns([(run(then), run(now))] * 3).is_decided


def test_of_what_should_be_big_less_is_slower() -> None:
    then, now = (replace(plain("a", v, seed=3), bigger_is_better=True) for v in (2.0, 1.0))

    assert row(compare(run(then), run(now))).verdict is Verdict.SLOWER


def turns(then: float, now: float, *, cpu_only: float = 1e-3, noise: float = 0.0) -> Comparison:
    """Compare four turns; the machine's speed differs from turn to turn."""
    found = []
    for turn, speed in enumerate((1.0, 1.3, 0.8, 1.1)):
        drift = 1 + noise * (-1) ** turn
        before = paired("a", then, cpu_only=speed * 1e-3, seed=turn)
        after = paired("a", now, cpu_only=speed * drift * cpu_only, seed=turn + 50)
        found.append((run(before), run(after)))
    return compare_turns(found)


def test_turns_see_what_slows_both_sides() -> None:
    found = row(turns(1.0, 1.0, cpu_only=1.3e-3))

    assert found.verdict is Verdict.SLOWER
    assert found.change is found.placed


def test_turns_see_no_fault_in_a_faster_cpu_only_side() -> None:
    assert row(turns(1.0, 2.0, cpu_only=0.5e-3)).verdict is Verdict.SAME


def test_turns_on_a_noisy_machine_are_judged_by_the_ratio() -> None:
    found = row(turns(1.0, 1.3, noise=0.5))

    assert found.placed is not None
    assert found.placed.verdict is Verdict.AMBIGUOUS
    assert (found.verdict, found.note) == (Verdict.SLOWER, "by the ratio to the CPU-only side")


def test_a_ratio_that_shrinks_on_a_noisy_machine_proves_nothing() -> None:
    found = row(turns(1.0, 0.7, noise=0.5))

    assert (found.verdict, found.note) == (Verdict.AMBIGUOUS, "")


def test_a_ratio_that_stays_on_a_noisy_machine_is_the_same() -> None:
    assert row(turns(1.0, 1.0, noise=0.5)).verdict is Verdict.SAME


def test_a_slower_cpu_only_side_is_told_where_the_ratio_shrinks() -> None:
    found = row(compare(run(paired("a", 1.0)), run(paired("a", 0.7, cpu_only=2e-3, seed=7))))

    assert found.verdict is Verdict.FASTER
    assert "CPU-only side is 1.99 times what it was, the placed time itself 1.38" in found.note


def test_a_benchmark_that_some_turns_lack_is_not_compared() -> None:
    both = run(plain("a"), plain("b"))

    found = compare_turns([(both, both), (both, both), (both, run(plain("a")))])

    assert {row.name: row.note for row in found.rows} == {
        "a": "",
        "b": "measured in 2 of 3 turns",
    }
