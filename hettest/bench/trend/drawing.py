"""The graph of one benchmark: where each point, stretch and tick stands, in pixels.

Runs go from left to right, one step each; values go up by their logarithms, so that the same ratio
is the same height everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, final

from hettest.bench.trend import words
from hettest.bench.trend.change_points import ChangePoint
from hettest.bench.trend.history import Point, Series

WIDTH: Final = 1010.0
HEIGHT: Final = 190.0
LEFT: Final = 90.0
RIGHT: Final = 990.0
TOP: Final = 14.0
FOOT: Final = 160.0
_ROOM: Final = 0.08
"""Of the values' range, above and below them; and the least range, as a logarithm."""


@final
@dataclass(frozen=True, slots=True)
class Dot:
    """One run."""

    x: float
    y: float
    low: float | None
    high: float | None
    title: str


@final
@dataclass(frozen=True, slots=True)
class Tick:
    """A mark of one of the scales."""

    at: float
    label: str


@final
@dataclass(frozen=True, slots=True)
class Stretch:
    """Runs between two changes, at their median."""

    left: float
    right: float
    y: float


@final
@dataclass(frozen=True, slots=True)
class Mark:
    """A change."""

    x: float
    verdict: str
    label: str


@final
@dataclass(frozen=True, slots=True)
class Drawing:
    """All of one graph."""

    dots: tuple[Dot, ...]
    path: str
    """The line through all dots."""

    stretches: tuple[Stretch, ...]
    marks: tuple[Mark, ...]
    values: tuple[Tick, ...]
    runs: tuple[Tick, ...]
    even: float | None
    """Where both ways take equally long; ``None`` if it is out of sight, or not paired."""


@final
@dataclass(frozen=True, slots=True)
class _Scale:
    low: float
    """The logarithm at the foot."""

    high: float
    count: int

    def x(self, index: float) -> float:
        if self.count == 1:
            return (LEFT + RIGHT) / 2
        return round(LEFT + (RIGHT - LEFT) * index / (self.count - 1), 1)

    def y(self, value: float) -> float:
        part = (math.log(value) - self.low) / (self.high - self.low)
        return round(FOOT - (FOOT - TOP) * min(max(part, 0.0), 1.0), 1)


def draw(of: Series, changes: Sequence[ChangePoint]) -> Drawing:
    """Return the graph of a series that has at least one point."""
    scale = _scale(of.points)
    dots = tuple(_dot(of, scale, index, point) for index, point in enumerate(of.points))
    path = "M" + "L".join(f"{dot.x:g} {dot.y:g}" for dot in dots)
    return Drawing(
        dots=dots,
        path=path,
        stretches=_stretches(of, scale, changes),
        marks=tuple(_mark(of, scale, change) for change in changes),
        values=_values(of, scale),
        runs=_runs(of.points, scale),
        even=scale.y(1.0) if of.is_paired and scale.low < 0 < scale.high else None,
    )


def _scale(points: Sequence[Point]) -> _Scale:
    """Return the scale of the values; intervals that reach far beyond them are cut."""
    logs = [math.log(point.value) for point in points]
    low, high = min(logs), max(logs)
    room = max(high - low, _ROOM)
    for point in points:
        for end in (point.low, point.high):
            if end is not None and 0 < end < math.inf:
                low = max(min(low, math.log(end)), min(logs) - room)
                high = min(max(high, math.log(end)), max(logs) + room)
    edge = max((high - low) * _ROOM, _ROOM / 2)
    return _Scale(low - edge, high + edge, len(points))


def _dot(of: Series, scale: _Scale, index: int, point: Point) -> Dot:
    low, high = (
        None if end is None or not 0 < end < math.inf else scale.y(end)
        for end in (point.low, point.high)
    )
    title = f"{words.run(point)}: {words.value(of, point.value)}"
    return Dot(scale.x(index), scale.y(point.value), low, high, title)


def _stretches(of: Series, scale: _Scale, changes: Sequence[ChangePoint]) -> tuple[Stretch, ...]:
    if not changes:
        return ()
    ends = [0, *(change.index for change in changes), len(of.points)]
    levels = [changes[0].before, *(change.after for change in changes)]
    return tuple(
        Stretch(scale.x(start), scale.x(end - 1), scale.y(level))
        for (start, end), level in zip(pairwise(ends), levels, strict=True)
    )


def _mark(of: Series, scale: _Scale, change: ChangePoint) -> Mark:
    verdict = words.verdict(of, change)
    return Mark(scale.x(change.index - 0.5), verdict, f"{change.ratio:.2f}x, {verdict}")


def _values(of: Series, scale: _Scale) -> tuple[Tick, ...]:
    """Return the marks of the values: near the ends of what is drawn, and in the middle."""
    span = scale.high - scale.low
    found = [math.exp(scale.low + span * part) for part in (0.08, 0.5, 0.92)]
    return tuple(Tick(scale.y(value), words.value(of, value)) for value in found)


def _runs(points: Sequence[Point], scale: _Scale) -> tuple[Tick, ...]:
    """Return the marks of the first and the last run."""
    chosen = (0, len(points) - 1) if len(points) > 1 else (0,)
    return tuple(Tick(scale.x(index), words.run(points[index])) for index in chosen)
