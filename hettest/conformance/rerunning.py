"""Runs a sample of a report's items again, and says which do not end as it says."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TypeVar, final

from hettest.case.expansion import Item
from hettest.outcome import Clause, Outcome, Record

_T = TypeVar("_T")

AGAIN = 2
"""How often an item that ended otherwise is run once more, to tell a flaky one."""


@final
@dataclass(frozen=True, slots=True)
class Deviation:
    """An item that did not end as the report says."""

    item: str
    reported: str
    found: tuple[str, ...]
    """How it ended now, run by run."""

    reason: str
    """Of the first run."""

    @property
    def is_flaky(self) -> bool:
        """Whether it ended as reported in some runs and not in others."""
        return len(set(self.found)) > 1

    def __str__(self) -> str:
        ends = ", ".join(self.found)
        what = "is flaky" if self.is_flaky else "does not reproduce"
        why = f": {self.reason}" if self.reason else ""
        return f"{self.item}: {what}: reported {self.reported}, now {ends}{why}"


def sample(all_: Sequence[_T], percent: float, seed: int) -> tuple[_T, ...]:
    """Return that part of ``all_``, at least one of any, chosen by ``seed``; in its order."""
    count = min(len(all_), ceil(len(all_) * percent / 100))
    chosen = set(random.Random(seed).sample(range(len(all_)), count))
    return tuple(one for i, one in enumerate(all_) if i in chosen)


def deviations(
    pairs: Sequence[tuple[Record, Item]], run: Callable[[Item], Record]
) -> Iterator[Deviation]:
    """Yield each item that ``run`` ends otherwise than its record: outcome, clauses, evidence."""
    for record, item in pairs:
        found = run(item)
        if _end(found) == _end(record):
            continue
        runs = (found, *(run(item) for _ in range(AGAIN)))
        if found.outcome is record.outcome:
            reported = f"{record.outcome} with {_differing(record, found)}"
            ends = tuple(f"{one.outcome} with {_differing(one, record, found)}" for one in runs)
        else:
            reported, ends = record.outcome.value, tuple(one.outcome.value for one in runs)
        yield Deviation(record.id, reported, ends, found.reason)


def _end(record: Record) -> tuple[Outcome, Counter[str]]:
    """Return what must be the same again; clauses in whatever order."""
    return record.outcome, Counter(map(_told, record.clauses))


def _differing(record: Record, *others: Record) -> str:
    """Return the clauses of ``record`` that not all of ``others`` have."""
    own = Counter(map(_told, record.clauses))
    left: Counter[str] = Counter()
    for other in others:
        left |= own - Counter(map(_told, other.clauses))
    return ", ".join(sorted(left)) or "no other clause"


def _told(clause: Clause) -> str:
    by = "" if clause.evidence is None else f" ({clause.evidence})"
    return f"{clause.name} {clause.status}{by}"
