"""What paired series of seconds say; all series are made here, none is measured."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hettest.bench.statistics import (
    FEWEST,
    Interval,
    Verdict,
    assess,
    block_length,
    confirmed,
    interval,
    is_level,
    verdict,
    warm_up,
)

SEEDS = st.integers(0, 2**32 - 1)


def noisy(seed: int, rounds: int = 40, spread: float = 0.03) -> tuple[np.ndarray, np.ndarray]:
    """Return two series of about a millisecond that differ by noise alone."""
    generator = np.random.default_rng(seed)
    return tuple(np.exp(generator.normal(0, spread, (2, rounds))) * 1e-3)


@settings(max_examples=25)
@given(SEEDS, st.floats(1e-9, 1e6))
def test_the_unit_of_time_does_not_matter(seed: int, unit: float) -> None:
    cpu_only, placed = noisy(seed)

    one, other = assess(cpu_only, placed), assess(cpu_only * unit, placed * unit)

    assert one.verdict is other.verdict
    assert other.ratio == pytest.approx(one.ratio)


@settings(max_examples=25)
@given(SEEDS)
def test_changing_the_sides_inverts_the_ratio(seed: int) -> None:
    cpu_only, placed = noisy(seed)

    there, back = assess(cpu_only, placed * 1.3), assess(placed * 1.3, cpu_only)

    assert (there.verdict, back.verdict) == (Verdict.SLOWER, Verdict.FASTER)
    assert there.ratio * back.ratio == pytest.approx(1)
    assert there.low * back.high == pytest.approx(1, rel=0.02)


@settings(max_examples=25)
@given(SEEDS, st.floats(0.2, 5))
def test_a_disturbance_of_both_sides_does_not_matter(seed: int, stronger: float) -> None:
    cpu_only, placed = noisy(seed)
    disturbed = np.where(np.arange(40) % 20 > 12, stronger, 1.0)

    quiet, busy = assess(cpu_only, placed), assess(cpu_only * disturbed, placed * disturbed)

    assert busy.ratio == pytest.approx(quiet.ratio, rel=0.02)
    assert busy.verdict in (quiet.verdict, Verdict.AMBIGUOUS)


@settings(max_examples=25)
@given(SEEDS)
def test_the_interval_holds_the_ratio(seed: int) -> None:
    cpu_only, placed = noisy(seed, spread=0.2)

    found = interval(placed / cpu_only, seed=seed)

    assert found.low <= found.ratio <= found.high


def test_equal_seeds_give_equal_answers() -> None:
    cpu_only, placed = noisy(3)

    assert assess(cpu_only, placed, seed=5) == assess(cpu_only, placed, seed=5)
    assert assess(cpu_only, placed, seed=5) != assess(cpu_only, placed, seed=6)


def test_a_few_wild_rounds_do_not_move_the_ratio() -> None:
    cpu_only, placed = noisy(1)
    placed[[7, 33]] *= 30

    found = assess(cpu_only, placed)

    assert found.verdict is Verdict.SAME
    assert found.ratio == pytest.approx(1, abs=0.02)


def test_rounds_before_the_times_settle_are_left_out() -> None:
    cpu_only, placed = noisy(2)
    placed[:6] *= np.linspace(40, 2, 6)

    found = assess(cpu_only, placed)

    assert (found.warm_up, found.rounds) == (6, 34)
    assert found.verdict is Verdict.SAME


@settings(max_examples=50)
@given(st.lists(st.floats(-1e3, 1e3), max_size=80))
def test_a_warm_up_is_at_most_half(values: list[float]) -> None:
    assert 0 <= warm_up(values) <= len(values) // 2


def test_a_constant_series_has_no_warm_up() -> None:
    assert warm_up([0.5] * 40) == 0


@pytest.mark.parametrize("rounds", [1, 2, FEWEST - 1])
def test_too_few_rounds_are_ambiguous(rounds: int) -> None:
    found = assess([1.0] * rounds, [9.0] * rounds)

    assert found.verdict is Verdict.AMBIGUOUS
    assert found.reason == f"{rounds} rounds, at least {FEWEST} are needed"


@pytest.mark.parametrize(
    ("always", "times", "expected", "reason"),
    [
        (1.0, 2.0, Verdict.AMBIGUOUS, "the ratio had not settled half way"),
        (1.0, 1.15, Verdict.AMBIGUOUS, "the ratio changed while it was measured"),
        (1.3, 1.15, Verdict.SLOWER, ""),
    ],
)
def test_a_ratio_that_changes_half_way_is_ambiguous_unless_the_answer_stays(
    always: float, times: float, expected: Verdict, reason: str
) -> None:
    cpu_only, placed = noisy(4)
    placed[20:] *= times

    found = assess(cpu_only, placed * always)

    assert (found.verdict, found.reason) == (expected, reason)


def test_a_ratio_within_the_band_is_level() -> None:
    assert is_level([0.0] * 20 + [math.log(1.05)] * 20)
    assert not is_level([0.0] * 20 + [math.log(1.3)] * 20)


def test_an_interval_over_an_edge_says_why_it_is_ambiguous() -> None:
    cpu_only, placed = noisy(0, spread=0.01)

    found = assess(cpu_only, placed * 1.05)

    assert found.verdict is Verdict.AMBIGUOUS
    assert "reaches over an edge of the 5% band" in found.reason


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.06, 1.2, Verdict.SLOWER),
        (0.5, 0.9, Verdict.FASTER),
        (0.96, 1.04, Verdict.SAME),
        (1 / 1.05, 1.05, Verdict.SAME),
        (1.05, 1.2, Verdict.AMBIGUOUS),
        (0.9, 1.2, Verdict.AMBIGUOUS),
        (0.0, math.inf, Verdict.AMBIGUOUS),
    ],
)
def test_the_whole_interval_decides(low: float, high: float, expected: Verdict) -> None:
    assert verdict(Interval(1.0, low, high)) is expected


def test_a_second_measurement_must_agree() -> None:
    assert confirmed(Verdict.SLOWER, Verdict.SLOWER) is Verdict.SLOWER
    assert confirmed(Verdict.SLOWER, Verdict.SAME) is Verdict.AMBIGUOUS
    assert confirmed(Verdict.SLOWER, Verdict.FASTER) is Verdict.AMBIGUOUS


def test_neighbours_that_are_alike_are_drawn_together() -> None:
    generator = np.random.default_rng(0)
    alike = np.repeat(generator.normal(0, 1, 25), 4)

    assert block_length(generator.normal(0, 1, 100)) == 1
    assert block_length(alike) > 4
    wide, narrow = interval(np.exp(alike)), interval(np.exp(generator.permutation(alike)))
    assert wide.block > narrow.block
    assert wide.high / wide.low > narrow.high / narrow.low


@pytest.mark.parametrize(
    ("cpu_only", "placed", "message"),
    [
        ([1.0], [1.0, 1.0], "found 1 CPU-only rounds and 2 placed ones"),
        ([], [], "expected one number for each round"),
        ([1.0, 0.0], [1.0, 1.0], "not a positive number of seconds"),
        ([1.0, math.nan], [1.0, 1.0], "not a positive number of seconds"),
        ([1.0, math.inf], [1.0, 1.0], "not a positive number of seconds"),
    ],
)
def test_what_is_no_series_is_refused(
    cpu_only: list[float], placed: list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        assess(cpu_only, placed)
