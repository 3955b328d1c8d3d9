"""Errors as parts of what is allowed, one dot for each item and check: where each dot stands.

Each check is a strip; from left to right the largest error grows, in powers of ten, up to the limit
1 and beyond. Left of the scale stand errors of zero and those too small for it, right of it those
without bound. Dots of one place are piled up; what would lie on another dot is not drawn twice.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from hettest.outcome import Measure, Record
from hettest.report.html.words import part

CHECKS: Final = ("expected", "local", "ratio", "anchor", "bound")
WIDTH: Final = 1010
STRIP: Final = 58
"""Pixels from the foot of one strip to that of the next; dots pile up to `PILE`."""

PILE: Final = 40
TOP: Final = 30
ZERO: Final = 104
TINY: Final = 144
FIRST: Final = 192
DECADE: Final = 62
ENDLESS: Final = FIRST + 9 * DECADE + 48
RIGHT: Final = ENDLESS + 24
LOWEST: Final = -6
HIGHEST: Final = 3
_BIN: Final = 4
_STEP: Final = 4.0
_FINEST: Final = 0.5
_NAMED: Final = 5


@final
@dataclass(frozen=True, slots=True)
class Pile:
    """Dots that stand upon each other."""

    kind: str
    """``holds``, ``fails``, or ``open``: nothing rests on it."""

    path: str
    title: str


@final
@dataclass(frozen=True, slots=True)
class Strip:
    """One check."""

    name: str
    foot: float
    piles: tuple[Pile, ...]
    counts: tuple[str, ...]
    """How many items ended how: ``4544 hold``, ``1 fails``."""


@final
@dataclass(frozen=True, slots=True)
class Tick:
    """A mark of the scale."""

    x: float
    label: str


@final
@dataclass(frozen=True, slots=True)
class Largest:
    """One of the largest errors of a check."""

    check: str
    item: str
    worst: str
    status: str


@final
@dataclass(frozen=True, slots=True)
class Plot:
    """All strips, and the largest errors in words."""

    width: float
    height: float
    limit: float
    """Where 1 is: what is allowed."""

    right: float
    """Where the scale ends, and the counts of each strip begin."""

    ticks: tuple[Tick, ...]
    strips: tuple[Strip, ...]
    largest: tuple[Largest, ...]


@final
@dataclass
class _Found:
    """What one check found."""

    statuses: Counter[str] = field(default_factory=Counter)
    errors: list[tuple[float, Measure, str]] = field(default_factory=list)
    """Each error, as a part of what is allowed, with the item's id."""


def plot(records: Iterable[Record]) -> Plot | None:
    """Return the plot of all numeric checks; ``None`` if none of them gave a number."""
    found = _found(records)
    shown = [name for name in CHECKS if found[name].errors]
    if not shown:
        return None
    strips = tuple(
        _strip(name, found[name], TOP + PILE + STRIP * row) for row, name in enumerate(shown)
    )
    height = TOP + PILE + STRIP * (len(shown) - 1) + 24
    largest = tuple(row for name in shown for row in _largest(name, found[name]))
    return Plot(WIDTH, height, x_of(1.0), RIGHT, _ticks(), strips, largest)


def x_of(error: float) -> float:
    """Return how far to the right an error stands, in pixels; an infinite one the farthest."""
    if error == 0:
        return ZERO
    if math.isinf(error):
        return ENDLESS
    power = math.log10(error)
    if power < LOWEST:
        return TINY
    return FIRST + (min(power, HIGHEST) - LOWEST) * DECADE


def _found(records: Iterable[Record]) -> Mapping[str, _Found]:
    found = {name: _Found() for name in CHECKS}
    for record in records:
        for measure in (m for clause in record.clauses for m in clause.measures):
            if measure.name in found:
                found[measure.name].statuses[measure.status] += 1
                error = _error(measure)
                if error is not None:
                    found[measure.name].errors.append((error, measure, record.id))
    return found


def _error(measure: Measure) -> float | None:
    if measure.worst is None:
        return math.inf if measure.status == "fails" else None
    return measure.worst


def _strip(name: str, found: _Found, foot: float) -> Strip:
    bins: dict[float, list[tuple[float, Measure, str]]] = {}
    for entry in found.errors:
        bins.setdefault(_bin(entry[0]), []).append(entry)
    piles = (pile for x in sorted(bins) for pile in _piles(x, foot, bins[x]))
    counts = (_counted(count, status) for status, count in found.statuses.most_common())
    return Strip(name, foot, tuple(piles), tuple(counts))


def _counted(count: int, status: str) -> str:
    """Return ``1 fails``, ``17 fail``, ``3 undecided``."""
    verb = status in ("holds", "fails") and count != 1
    return f"{count} {status.removesuffix('s') if verb else status}"


def _bin(error: float) -> float:
    x = x_of(error)
    return x if x in (ZERO, TINY, ENDLESS) else round(x / _BIN) * _BIN


def _piles(x: float, foot: float, entries: Sequence[tuple[float, Measure, str]]) -> Iterator[Pile]:
    """Yield the dots of one place: those that hold at the bottom, those that fail on top."""
    step = min(_STEP, PILE / len(entries))
    below = 0
    for kind in ("holds", "open", "fails"):
        same = [entry for entry in entries if _kind(entry[1]) == kind]
        if same:
            heights = dict.fromkeys(_fine(foot - step * (below + row)) for row in range(len(same)))
            yield Pile(kind, _path(kind, x, heights), _title(same))
            below += len(same)


def _kind(measure: Measure) -> str:
    return measure.status if measure.status in ("holds", "fails") else "open"


def _fine(y: float) -> float:
    return round(y / _FINEST) * _FINEST


def _path(kind: str, x: float, heights: Iterable[float]) -> str:
    """Return dots as lines of no length, which round ends make visible; failures as crosses."""
    if kind == "fails":
        return "".join(f"M{x - 3:g} {y - 3:g}l6 6m0-6l-6 6" for y in heights)
    return "".join(f"M{x:g} {y:g}h0" for y in heights)


def _title(entries: Sequence[tuple[float, Measure, str]]) -> str:
    least, most = min(entries, key=_by_error), max(entries, key=_by_error)
    if len(entries) == 1:
        return f"{most[2]}: {_words(most[0])} of what is allowed, {most[1].status}"
    ends = dict.fromkeys((_words(least[0]), _words(most[0])))
    return f"{len(entries)} items, {' to '.join(ends)} of what is allowed; most: {most[2]}"


def _by_error(entry: tuple[float, Measure, str]) -> float:
    return entry[0]


def _words(error: float) -> str:
    return part(None if math.isinf(error) else error)


def _largest(name: str, found: _Found) -> Iterator[Largest]:
    for error, measure, item in sorted(found.errors, key=_by_error, reverse=True)[:_NAMED]:
        if error > 0:
            yield Largest(name, item, _words(error), measure.status)


def _ticks() -> tuple[Tick, ...]:
    scale = (
        Tick(x_of(10.0**power), "1" if power == 0 else f"1e{power}")
        for power in range(LOWEST, HIGHEST + 1, 1)
    )
    return (Tick(ZERO, "0"), Tick(TINY, "less"), *scale, Tick(ENDLESS, "∞"))
