"""Where a series changed for good is found; a bad run, or too few of them, is no change."""

from __future__ import annotations

import numpy as np
import pytest

from hettest.bench.trend.change_points import FEWEST, change_points


def noisy(kind: str, seed: int, runs: int) -> list[float]:
    """Return values around 1 with noise of some kind."""
    generator = np.random.default_rng(seed)
    found = generator.normal(0, 0.03, runs)
    if kind == "heavy":
        found = generator.standard_t(2, runs) * 0.02
    elif kind == "drifting":
        for i in range(1, runs):
            found[i] += 0.5 * found[i - 1]
    elif kind == "spiked":
        found = found / 3 + (generator.random(runs) < 0.1) * generator.exponential(0.4, runs)
    return [float(value) for value in np.exp(found)]


KINDS = ("normal", "heavy", "drifting", "spiked")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("runs", [8, 15, 40])
def test_a_step_of_thirty_percent_is_found_in_eight_of_ten(kind: str, runs: int) -> None:
    found = 0
    for seed in range(20):
        values = noisy(kind, seed, runs)
        stepped = values[: runs // 2] + [1.3 * value for value in values[runs // 2 :]]
        found += any(abs(p.index - runs // 2) <= 1 for p in change_points(stepped))

    assert found >= 16


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("runs", [8, 15, 40])
def test_without_a_step_hardly_any_is_found(kind: str, runs: int) -> None:
    assert sum(bool(change_points(noisy(kind, seed, runs))) for seed in range(20)) <= 2


def test_what_is_found_is_told_by_its_medians() -> None:
    (found,) = change_points([1.0, 1.02, 0.99, 1.0, 1.31, 1.3, 1.29, 1.31])

    assert (found.index, found.before, found.after) == pytest.approx((4, 1.0, 1.305), abs=0.01)


def test_two_bad_runs_are_no_change() -> None:
    assert change_points([1, 1.01, 0.99, 1, 3, 3, 1.01, 1, 0.99, 1, 1.02, 1]) == ()


def test_a_change_within_the_band_is_none() -> None:
    values = [1.0, 1.001, 0.999, 1.0, 1.04, 1.041, 1.039, 1.04]

    assert change_points(values, band=0.05) == ()
    assert len(change_points(values, band=0.02)) == 1


def test_exactly_equal_runs_have_no_change() -> None:
    assert change_points([2.0] * 20) == ()


def test_too_few_runs_are_not_looked_at() -> None:
    assert change_points([1.0] * 3 + [9.0] * (FEWEST - 4)) == ()
