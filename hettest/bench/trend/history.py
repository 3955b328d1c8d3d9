"""The history of each benchmark, from stored runs, first to last.

A paired benchmark is followed by its ratio to the CPU-only side of the same run, across machines;
one of pytest-benchmark's own by its time, on each machine apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias, final

from hettest.bench.stored import Entry, StoredRun

RATIO: Final = "times the CPU-only time"
"""The unit of a paired benchmark."""

_Key: TypeAlias = tuple[str, str, str, bool]


@final
@dataclass(frozen=True, slots=True)
class Point:
    """One run of one benchmark."""

    value: float
    commit: str
    """Its short id; empty if it is not known."""

    when: datetime | None
    machine: str
    low: float | None = None
    """Of the confidence interval, or of the middle half of the rounds; ``None`` if unknown."""

    high: float | None = None


@final
@dataclass(frozen=True)
class Series:
    """One benchmark over all runs that have it, on one machine unless it is paired."""

    name: str
    unit: str
    machine: str
    """Empty if all runs are of one, or if it does not matter."""

    bigger_is_better: bool
    points: tuple[Point, ...]

    @property
    def is_paired(self) -> bool:
        return self.unit == RATIO

    @property
    def title(self) -> str:
        """The benchmark's name, and the machine if it matters."""
        return f"{self.name} on {self.machine}" if self.machine else self.name


def series(runs: Sequence[StoredRun]) -> tuple[Series, ...]:
    """Return the history of each benchmark, sorted by name; what was not timed is left out."""
    found: dict[_Key, list[Point]] = {}
    for run in runs:
        for entry in run.entries:
            for key, point in _points(run, entry):
                found.setdefault(key, []).append(point)
    count = Counter(name for name, *_ in found)
    return tuple(
        Series(name, unit, machine if count[name] > 1 else "", bigger, tuple(points))
        for (name, unit, machine, bigger), points in sorted(found.items())
    )


def _points(run: StoredRun, entry: Entry) -> Iterator[tuple[_Key, Point]]:
    about = (run.commit[:12], run.when, run.machine)
    if entry.paired is None:
        if entry.median > 0:
            key = entry.name, entry.unit, run.machine, entry.bigger_is_better
            yield key, Point(entry.median, *about, *_middle(entry))
    elif entry.paired.timings is not None:
        found = entry.paired.timings.assessment
        yield (entry.name, RATIO, "", False), Point(found.ratio, *about, found.low, found.high)


def _middle(entry: Entry) -> tuple[float | None, float | None]:
    """Return the quartiles of the rounds, if they are kept."""
    if len(entry.seconds) < 2:
        return None, None
    from statistics import quantiles

    low, _, high = quantiles(entry.seconds, n=4, method="inclusive")
    return low, high
