"""Errors stand to the right in powers of ten, with a place of their own for none and no bound."""

from __future__ import annotations

import math
import re

from hettest.outcome import Clause, Measure, Outcome, Record, Status
from hettest.report.html.plot import DECADE, ENDLESS, FIRST, PILE, TINY, ZERO, plot, x_of


def record(name: str, *measures: Measure) -> Record:
    return Record(
        name, Outcome.PASSED, clauses=(Clause("values", Status.PROVEN, "", measures=measures),)
    )


def test_a_power_of_ten_is_one_decade_and_the_ends_are_apart() -> None:
    assert x_of(1e-3) - x_of(1e-4) == DECADE
    assert x_of(1.0) == FIRST + 6 * DECADE
    assert ZERO == x_of(0) < TINY == x_of(1e-300) < x_of(1e-6) < x_of(1e9) < ENDLESS
    assert x_of(math.inf) == ENDLESS


def test_each_item_and_check_has_a_dot_and_failures_are_crosses() -> None:
    made = plot(
        [
            record("a", Measure("local", "holds", 0.5), Measure("bound", "holds", 0.01)),
            record("b", Measure("local", "fails", 3.0)),
            record("c", Measure("local", "fails", None)),
            record("d", Measure("local", "unproven", None)),
        ]
    )

    assert made is not None
    assert [strip.name for strip in made.strips] == ["local", "bound"]
    local = made.strips[0]
    assert [pile.kind for pile in local.piles] == ["holds", "fails", "fails"]
    assert local.counts == ("2 fail", "1 holds", "1 unproven")
    assert "a: 0.5 of what is allowed" in local.piles[0].title
    xs = [float(re.findall(r"M([\d.]+)", pile.path)[0]) for pile in local.piles]
    assert xs[0] < made.limit < xs[1] < xs[2]


def test_dots_of_one_place_pile_up_and_never_leave_their_strip() -> None:
    made = plot([record(f"item {index}", Measure("ratio", "holds", 0.5)) for index in range(900)])

    assert made is not None
    (pile,) = made.strips[0].piles
    heights = [float(y) for y in re.findall(r" ([\d.]+)h0", pile.path)]
    assert len(heights) == len(set(heights)) > 60
    assert made.strips[0].foot - PILE <= min(heights)
    assert max(heights) == made.strips[0].foot
    assert pile.title.startswith("900 items, 0.5 of what is allowed")


def test_the_largest_errors_are_named_the_largest_first() -> None:
    items = [record(f"item {n}", Measure("anchor", "holds", n / 10)) for n in range(9)]

    made = plot(items)

    assert made is not None
    assert [row.item for row in made.largest] == [f"item {n}" for n in (8, 7, 6, 5, 4)]


def test_without_numbers_there_is_no_plot() -> None:
    assert plot([record("a", Measure("form", "holds"), Measure("local", "unproven"))]) is None
