"""The order of runs in a round; the clock here is moved by the runs alone."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from hettest.bench.rounds import MANY, Alternation, Clock, Sides, timed_rounds, warmed_up


class Stage:
    """Two sides that note their runs, and a clock that each moves on."""

    def __init__(self) -> None:
        self.now = 0.0
        self.runs: list[str] = []
        self.timed: list[str] = []
        self.takes = {"alone": 1.0, "placed": 2.0}
        self.starts = 0

    def run(self, side: str) -> None:
        self.now += self.takes[side]
        self.runs.append(side)

    def clock(self) -> float:
        self.starts += 1
        if self.starts % 2 == 0:
            self.timed.append(self.runs[-1])
        return self.now

    def turns(self, seed: int = 0) -> Alternation:
        sides = Sides(lambda: self.run("alone"), lambda: self.run("placed"))
        return Alternation(sides, Clock(self.clock), seed)


def test_each_timed_run_follows_one_of_its_own_side() -> None:
    stage = Stage()

    timed_rounds(stage.turns(), 10)

    pairs = list(zip(stage.runs[::2], stage.runs[1::2], strict=True))
    assert len(pairs) == 20
    assert all(before == after for before, after in pairs)


def test_of_two_rounds_one_begins_with_each_side() -> None:
    for seed in range(5):
        stage = Stage()
        timed_rounds(stage.turns(seed), 12)
        firsts = [stage.timed[i] for i in range(0, 24, 2)]
        assert all(
            {a, b} == {"alone", "placed"} for a, b in zip(firsts[::2], firsts[1::2], strict=True)
        )


def test_the_order_is_drawn_by_the_seed() -> None:
    orders = []
    for seed in (1, 1, 2, 3, 4):
        stage = Stage()
        timed_rounds(stage.turns(seed), 12)
        orders.append(tuple(stage.timed))

    assert orders[0] == orders[1]
    assert len(set(orders)) > 1


def test_each_round_has_the_seconds_of_both_sides() -> None:
    stage = Stage()

    assert timed_rounds(stage.turns(), 3) == ([1.0] * 3, [2.0] * 3)


def test_the_warm_up_lasts_until_the_times_have_settled() -> None:
    stage = Stage()
    turns = stage.turns()
    runs = 0

    def slow_at_first() -> None:
        nonlocal runs
        runs += 1
        stage.takes["placed"] = 50.0 if runs < 20 else 2.0
        stage.run("placed")

    slow = Alternation(Sides(turns.sides.cpu_only, slow_at_first), turns.clock)

    assert warmed_up(stage.turns(), 60.0).rounds == 16
    found = warmed_up(slow, 60.0)
    assert (found.rounds, found.settled) == (32, True)


def test_a_warm_up_without_end_is_cut_short() -> None:
    stage = Stage()

    def slower_and_slower() -> None:
        stage.takes["placed"] *= 1.5
        stage.run("placed")

    turns = Alternation(Sides(lambda: stage.run("alone"), slower_and_slower), Clock(stage.clock))
    found = warmed_up(turns, 60.0)

    assert (found.rounds, found.settled) == (MANY, False)


def test_one_round_is_enough_where_there_is_no_time() -> None:
    assert warmed_up(Stage().turns(), 0.0).rounds == 1


def test_no_tracer_watches_a_timed_run() -> None:
    seen: list[Any] = []
    turns = Alternation(Sides(lambda: seen.append(sys.gettrace()), lambda: None))

    def tracer(frame: FrameType, event: str, arg: Any) -> None:
        del frame, event, arg

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        turns.seconds(turns.sides.cpu_only)
        after = sys.gettrace()
    finally:
        sys.settrace(before)

    assert (seen, after) == ([None], tracer)
