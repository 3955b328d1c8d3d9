"""Each benchmark has a history: paired ones by their ratio, others by their time on one machine."""

from __future__ import annotations

import pytest

from hettest.bench.trend.history import RATIO, series
from tests.unit.hettest.bench.runs import paired, plain, run, untimed


def test_a_paired_benchmark_is_one_series_over_machines() -> None:
    runs = [
        run(paired("a", 1.2), number=1),
        run(paired("a", 1.2, cpu_only=9e-3, seed=4), number=2, machine="there, Acme 2"),
    ]

    (found,) = series(runs)

    assert (found.title, found.unit) == ("a", RATIO)
    assert [point.value for point in found.points] == pytest.approx([1.2, 1.2], rel=0.02)
    assert all(p.low and p.high and p.low < p.value < p.high for p in found.points)


def test_others_are_a_series_for_each_machine() -> None:
    runs = [run(plain("a"), number=1), run(plain("a"), number=2, machine="there, Acme 2")]

    assert [one.title for one in series(runs)] == ["a on here, Acme 1", "a on there, Acme 2"]
    assert [one.title for one in series(runs[:1])] == ["a"]


def test_what_was_not_timed_is_no_point() -> None:
    assert series([run(untimed("a"))]) == ()
