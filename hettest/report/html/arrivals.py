"""From what to what each transfer of a run went, and where what is given lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from hettest.outcome import Seen


@final
@dataclass(frozen=True, slots=True)
class Arrival:
    """One transfer."""

    index: int
    """Among the run's transfers."""

    source: str
    target: str
    origin: str | None
    """The variable that it copied, if that is clear."""

    reader: str | None
    """The first variable that it was made for."""


def arrivals(seen: Seen, host: str) -> tuple[Arrival, ...]:
    """Return the transfers with their ends; one of a view is of what the view is of."""
    found = []
    results = iter(_far_results(seen, host))
    for index, transfer in enumerate(seen.transfers):
        reader = _reader(seen, transfer.value, transfer.reader, transfer.target)
        origin = transfer.value
        if origin is None:
            origin = next(results, None)
        elif origin not in seen.placement and not _is_read(seen, origin):
            origin = _behind(seen, reader, transfer.source) or origin
        found.append(Arrival(index, transfer.source, transfer.target, origin, reader))
    return tuple(found)


def given(seen: Seen, arrived: Sequence[Arrival]) -> dict[str, str]:
    """Return on which device lies what was not computed: where it was sent from, or read."""
    homes: dict[str, str] = {}
    for arrival in arrived:
        if arrival.origin is not None and arrival.origin not in seen.placement:
            homes.setdefault(arrival.origin, arrival.source)
    for name, sources in seen.reads.items():
        for source in sources:
            if source not in seen.placement and seen.placement.get(name):
                homes.setdefault(source, seen.placement[name][0])
    return homes


def _far_results(seen: Seen, host: str) -> list[str]:
    """Return the results that unnamed transfers bring, if it is clear which brings which."""
    unnamed = sum(transfer.value is None for transfer in seen.transfers)
    far = [r for r in seen.results if host not in seen.placement.get(r, (host,))]
    return far if len(far) == unnamed else []


def _reader(seen: Seen, value: str | None, stated: str | None, target: str) -> str | None:
    """Return the first variable that needs a copy: as stated, else one that reads it there."""
    if stated in seen.placement:
        return stated
    there = (n for n, homes in seen.placement.items() if target in homes)
    return next((n for n in there if value in seen.reads.get(n, ())), None)


def _is_read(seen: Seen, name: str) -> bool:
    return any(name in sources for sources in seen.reads.values())


def _behind(seen: Seen, reader: str | None, source: str) -> str | None:
    """Return the one value on ``source`` that ``reader`` reads, if there is just one."""
    names = seen.reads.get(reader or "", ())
    there = [n for n in names if source in seen.placement.get(n, ())]
    return there[0] if len(there) == 1 else None
