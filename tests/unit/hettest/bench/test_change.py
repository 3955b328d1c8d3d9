"""What two runs at different times say of one benchmark."""

from __future__ import annotations

import pytest

from hettest.bench.change import MOST, of_rounds, of_turns, of_values, representative
from hettest.bench.statistics import Verdict
from tests.unit.hettest.bench.runs import seconds


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [(1.3, Verdict.SLOWER), (1.0, Verdict.SAME), (0.7, Verdict.FASTER)],
)
def test_rounds_of_two_runs_say_what_changed(factor: float, verdict: Verdict) -> None:
    found = of_rounds(seconds(1.0, 1), seconds(factor, 2))

    assert found.verdict is verdict
    assert found.low < factor < found.high
    assert found.high / found.low < 1.05


def test_runs_that_are_alike_are_hardly_ever_told_apart() -> None:
    found = [of_rounds(seconds(1, s), seconds(1, 500 + s), band=0.0).verdict for s in range(30)]

    assert found.count(Verdict.AMBIGUOUS) == 30


def test_the_band_decides_what_is_the_same() -> None:
    then, now = seconds(1.0, 1), seconds(1.12, 2)

    assert of_rounds(then, now, band=0.05).verdict is Verdict.SLOWER
    assert of_rounds(then, now, band=0.2).verdict is Verdict.SAME


def test_few_rounds_say_nothing() -> None:
    found = of_rounds(seconds(1.0, 1), seconds(2.0, 2, rounds=5))

    assert (found.verdict, found.reason) == (
        Verdict.AMBIGUOUS,
        "now: 5 rounds, at least 10 are needed",
    )


def test_what_changed_within_a_run_says_so_of_the_time() -> None:
    halves = (*seconds(1.0, 1, 60, 0.15), *seconds(1.5, 2, 60, 0.15))

    found = of_rounds(halves, seconds(1.2, 3))

    assert found.reason == "then: the time changed while it was measured"


def test_many_rounds_are_taken_by_their_medians() -> None:
    many = seconds(1.0, 1, rounds=100 * MOST)

    found = of_rounds(many, seconds(1.3, 2))

    assert found.verdict is Verdict.SLOWER


def test_turns_take_in_what_each_run_has_of_its_own() -> None:
    same = [1.0, 1.1, 0.9, 1.05, 0.95]

    assert of_turns(same, [1.3 * value for value in same]).verdict is Verdict.SLOWER
    assert of_turns(same, [1.3, 1.0, 1.6, 1.1, 1.5]).verdict is Verdict.AMBIGUOUS


def test_two_turns_are_too_few() -> None:
    assert of_turns([1, 1], [2, 2]).reason == "2 turns, at least 3 are needed"


def test_single_values_are_ambiguous_however_far_apart() -> None:
    found = of_values(1.0, 3.0)

    assert (found.verdict, found.ratio) == (Verdict.AMBIGUOUS, 3.0)
    assert "no rounds are kept" in found.reason


def test_one_run_is_one_value_without_its_warm_up() -> None:
    assert representative((*[5.0] * 10, *seconds(1.0, 1))) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("wrong", [[], [1.0, 0.0], [1.0, float("nan")]])
def test_what_is_no_time_is_refused(wrong: list[float]) -> None:
    with pytest.raises(ValueError, match="found"):
        of_rounds(seconds(1.0, 1), wrong)
