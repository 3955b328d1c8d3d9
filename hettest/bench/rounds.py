"""Runs two sides in turn, so that neither gains by the order.

A round times both sides once. Before each timed run the same side runs once without being timed,
so that caches are as its own run leaves them, never as the other side's does. Which side is timed
first is drawn for each pair of rounds, one way in one of them and the other way in the other: what
changes steadily within a round then favours neither.

The placed side is timed by whoever drives the rounds (pytest-benchmark, or `timed_rounds`), which
calls `Alternation.before_placed` before each of its runs::

    benchmark.pedantic(sides.placed, setup=alternation.before_placed, rounds=40)
    alternation.finish()
    alternation.cpu_only                     # 40 durations, in the order of the rounds
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Final, TypeAlias, final

from hettest.bench.statistics import is_level, warm_up

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Timer: TypeAlias = Callable[[], float]
"""Seconds, from any start."""


@final
@dataclass(frozen=True)
class Clock:
    """How pytest-benchmark times, so that the CPU-only side is timed alike."""

    timer: Timer = time.perf_counter
    disable_gc: bool = False


FEW: Final = 16
"""Rounds after which it is looked for the first time whether the warm-up is over."""

MANY: Final = 64
"""Rounds after which a warm-up is taken to have no end."""


@final
@dataclass(frozen=True)
class Sides:
    """What is compared; each call returns when its results are there for the host to read."""

    cpu_only: Callable[[], None]
    placed: Callable[[], None]


@final
@dataclass
class Alternation:
    """Times the CPU-only side around somebody else's timing of the placed one."""

    sides: Sides
    clock: Clock = field(default_factory=Clock)
    seed: int = 0
    cpu_only: list[float] = field(default_factory=list)
    """Seconds of each round that is finished."""

    _orders: list[bool] = field(default_factory=list)
    """Whether the CPU-only side goes first, in the rounds to come."""

    _owed: bool = False
    """Whether the last round's CPU-only side is still to be timed."""

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def before_placed(self) -> None:
        """Finish the round before, and begin one, up to where the placed side is timed."""
        self.finish()
        if not self._orders:
            first = self._random.random() < 0.5
            self._orders = [first, not first]
        if self._orders.pop():
            self._time_cpu_only()
        else:
            self._owed = True
        self.sides.placed()

    def finish(self) -> None:
        """Time the CPU-only side of the last round, if its turn is after the placed one."""
        if self._owed:
            self._owed = False
            self._time_cpu_only()

    def _time_cpu_only(self) -> None:
        self.sides.cpu_only()
        self.cpu_only.append(self.seconds(self.sides.cpu_only))

    def seconds(self, run: Callable[[], object]) -> float:
        """Return how long one run takes, as pytest-benchmark would time it."""
        timer = self.clock.timer
        with _undisturbed(self.clock.disable_gc):
            start = timer()
            run()
            return timer() - start


@contextmanager
def _undisturbed(disable_gc: bool) -> Iterator[None]:
    """Let no coverage, debugger or profiler look on, as pytest-benchmark does for its own runs."""
    tracer, profiler, collected = sys.gettrace(), sys.getprofile(), gc.isenabled()
    sys.settrace(None)
    sys.setprofile(None)
    if disable_gc:
        gc.disable()
    try:
        yield
    finally:
        if collected:
            gc.enable()
        sys.setprofile(profiler)
        sys.settrace(tracer)


def timed_rounds(alternation: Alternation, rounds: int) -> tuple[list[float], list[float]]:
    """Run ``rounds`` rounds, and return the seconds of each, CPU-only and placed."""
    before = len(alternation.cpu_only)
    placed = []
    for _ in range(rounds):
        alternation.before_placed()
        placed.append(alternation.seconds(alternation.sides.placed))
    alternation.finish()
    return alternation.cpu_only[before:], placed


@final
@dataclass(frozen=True, slots=True)
class WarmUp:
    """The rounds before those that count."""

    rounds: int
    settled: bool
    """Whether both sides had stopped getting faster or slower when it ended."""

    per_round: float
    """Seconds that a round takes, the median: four runs and what is between them."""


def warmed_up(alternation: Alternation, seconds: float) -> WarmUp:
    """Run rounds until both sides have stopped changing, for at most about ``seconds``.

    At most `MANY` rounds, and at least one, however long it takes.
    """
    sides: tuple[list[float], list[float]] = [], []
    spent: list[float] = []
    settled = False
    while not settled and len(spent) < MANY:
        if spent and sum(spent) + median(spent) > seconds:
            break
        start = time.perf_counter()
        for series, found in zip(sides, timed_rounds(alternation, 1), strict=True):
            series += found
        spent.append(time.perf_counter() - start)
        settled = len(spent) % FEW == 0 and all(map(_is_over, sides))
    return WarmUp(len(spent), settled, median(spent))


def _is_over(seconds: list[float]) -> bool:
    import numpy as np

    logs: NDArray[np.float64] = np.log(np.maximum(seconds, 1e-12))
    return warm_up(logs) < len(seconds) // 2 and is_level(logs)
