"""What is said of one benchmark in other tools: one number, with its unit.

A paired benchmark is three numbers: the seconds placed under its own name, those of the CPU alone
and the ratio under names of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, final

from hettest.bench.stored import Entry

SECONDS: Final = "seconds"
RATIO: Final = "times the CPU-only time"

_PREFIXES: Final = {"": 1.0, "m": 1e-3, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "n": 1e-9}
_TIME: Final = re.compile(r"(|m|u|µ|μ|n)(?:s|secs?|seconds?)(?:/(?:iter|op))?", re.IGNORECASE)
_RATE: Final = re.compile(r"(?:iter|iters|ops|op)/(|m|u|µ|μ|n)(?:s|secs?|seconds?)", re.IGNORECASE)


@final
@dataclass(frozen=True, slots=True)
class Value:
    """One number of one benchmark, and the rounds it comes from."""

    name: str
    number: float
    unit: str
    rounds: tuple[float, ...] = ()
    low: float | None = None
    high: float | None = None
    note: str = ""
    """What a reader may want to know beside it."""


def values(entry: Entry) -> Iterator[Value]:
    """Yield what is to be said of a benchmark; nothing of one that was not timed."""
    if entry.paired is None:
        yield Value(entry.name, entry.median, entry.unit, entry.seconds)
        return
    timings = entry.paired.timings
    if timings is None:
        return
    found, note = timings.assessment, str(entry.paired)
    yield Value(entry.name, median(timings.placed), SECONDS, timings.placed, note=note)
    alone = f"{entry.name}:cpu_only"
    yield Value(alone, median(timings.cpu_only), SECONDS, timings.cpu_only)
    ratios = tuple(p / c for p, c in zip(timings.placed, timings.cpu_only, strict=True))
    name = f"{entry.name}:ratio"
    yield Value(name, found.ratio, RATIO, ratios, found.low, found.high, note)


def entry_of(
    name: str, numbers: Sequence[float], unit: str, *, number: float | None = None, bigger: bool
) -> Entry:
    """Return the benchmark that another tool has ``numbers`` of, in seconds if the unit is a time.

    Args:
        name: Its name.
        numbers: Of each round; one, if only one is known.
        unit: Of the numbers; ``iter/sec`` is turned round into seconds.
        number: What stands for them all; by default their median.
        bigger: Whether more is better; of a time it never is.
    """
    factor, is_rate = _seconds(unit)
    if factor is None:
        found, middle = tuple(numbers), median(numbers) if number is None else number
    else:
        found = tuple(factor / n if is_rate else factor * n for n in numbers)
        middle = median(found) if number is None else factor * number
    return Entry(
        name=name,
        median=middle,
        stddev=_deviation(found),
        rounds=len(found),
        seconds=found if len(found) > 1 else (),
        unit=unit if factor is None else SECONDS,
        bigger_is_better=bigger and factor is None,
    )


def _seconds(unit: str) -> tuple[float | None, bool]:
    """Return how many seconds a unit is, ``None`` if it is no time; and whether it is a rate."""
    if found := _TIME.fullmatch(unit.strip()):
        return _PREFIXES[found[1].lower()], False
    if found := _RATE.fullmatch(unit.strip()):
        return _PREFIXES[found[1].lower()], True
    return None, False


def _deviation(numbers: Sequence[float]) -> float:
    from statistics import stdev

    return stdev(numbers) if len(numbers) > 1 else 0.0
