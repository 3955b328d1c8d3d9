"""What ran on more than one device, case by case, each different graph drawn once.

Items of one case whose runs differ in nothing but sizes share a graph. Programs that ran whole on
one device share theirs over all cases, since there are few different ones and many programs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, final

from hettest.outcome import Outcome, Record, Seen, Transfer
from hettest.report.html.graph import draw
from hettest.report.html.shapes import Drawing, Sizes
from hettest.report.html.words import size, transfer_words

NAMED: Final = 12
"""How many items or cases are named under one graph."""

_WHOLE: Final = re.compile(r"[\[,]default=[^,\]]+\]$")

_Key: TypeAlias = tuple[object, ...]


@final
@dataclass(frozen=True, slots=True)
class Scene:
    """One graph, and the items whose runs it shows."""

    drawing: Drawing | None
    computed: tuple[str, ...]
    """Which device computed what, in words."""

    transfers: tuple[str, ...]
    names: tuple[str, ...]
    """Of the items, without the case; or of cases."""

    more: int
    """How many more there are."""

    items: int

    @property
    def summary(self) -> str:
        """The graph in one line: what a reader hears who does not see it."""
        moved = "; ".join(self.transfers) or "nothing was transferred"
        return f"{'. '.join(self.computed) or 'nothing was shown as computed'}. {moved}"


@final
@dataclass(frozen=True, slots=True)
class CaseView:
    """One case."""

    id: str
    devices: str
    outcomes: tuple[tuple[str, int], ...]
    moved: str
    """How many transfers an item has, and their bytes."""

    scenes: tuple[Scene, ...]


def on_several(records: Iterable[Record]) -> tuple[CaseView, ...]:
    """Return the cases in whose runs more than one device computed or was meant to."""
    by_case: dict[str, list[Record]] = {}
    for record in records:
        if record.seen is not None and not _is_whole(record):
            by_case.setdefault(record.case or record.id, []).append(record)
    return tuple(_view(case, same) for case, same in by_case.items())


def on_one(records: Iterable[Record]) -> tuple[Scene, ...]:
    """Return the graphs of programs that ran whole on one device, those of the most items first."""
    whole = [record for record in records if record.seen is not None and _is_whole(record)]
    groups = _grouped(whole)
    scenes = [_scene(same, list(dict.fromkeys(r.case or r.id for r in same))) for same in groups]
    return tuple(sorted(scenes, key=lambda scene: -scene.items))


def _is_whole(record: Record) -> bool:
    """Whether the item has no roles: its program was given to one device as a whole."""
    return _WHOLE.search(record.id) is not None


def _view(case: str, records: Sequence[Record]) -> CaseView:
    counts = Counter(record.outcome for record in records)
    outcomes = tuple((str(outcome), counts[outcome]) for outcome in Outcome if counts[outcome])
    devices = dict.fromkeys(device for record in records for device in record.devices)
    scenes = tuple(
        _scene(same, [record.id.removeprefix(case) for record in same])
        for same in _grouped(records)
    )
    return CaseView(case, ", ".join(devices), outcomes, _moved(records), scenes)


def _moved(records: Sequence[Record]) -> str:
    """Return how much the items transferred, the least and the most."""
    transfers = [record.seen.transfers for record in records if record.seen is not None]
    counts = [sum(t.count for t in moved) for moved in transfers]
    known = [sum((t.bytes or 0) * t.count for t in moved) for moved in transfers]
    times = " to ".join(map(str, dict.fromkeys((min(counts), max(counts)))))
    bytes_ = " to ".join(map(size, dict.fromkeys((min(known), max(known)))))
    return f"{times} transfer{'' if times == '1' else 's'}, {bytes_}"


def _grouped(records: Iterable[Record]) -> list[list[Record]]:
    groups: dict[_Key, list[Record]] = {}
    for record in records:
        assert record.seen is not None
        groups.setdefault(_key(record.seen, record.devices), []).append(record)
    return list(groups.values())


def _key(seen: Seen, devices: Sequence[str]) -> _Key:
    """Return what runs have in common that are drawn as one: all but sizes and causes.

    For which reader a transfer was made counts where nothing else says what reads what.
    """
    moved = tuple(
        (t.value, t.source, t.target, t.count, None if seen.reads else t.reader)
        for t in seen.transfers
    )
    reads = tuple(seen.reads.items())
    return (tuple(devices), tuple(seen.placement.items()), moved, reads, seen.results)


def _scene(records: Sequence[Record], names: Sequence[str]) -> Scene:
    seen = records[0].seen
    assert seen is not None
    alike = list(zip(*(r.seen.transfers for r in records if r.seen is not None), strict=True))
    sizes = [_sizes(transfers) for transfers in alike]
    seen = replace(seen, transfers=tuple(map(_merged, alike)))
    told = (
        transfer_words(transfer, found.least, found.most)[1]
        for transfer, found in zip(seen.transfers, sizes, strict=True)
    )
    return Scene(
        draw(seen, records[0].devices, sizes),
        tuple(_computed(seen)),
        tuple(told),
        tuple(names[:NAMED]),
        max(0, len(names) - NAMED),
        len(records),
    )


def _merged(transfers: Sequence[Transfer]) -> Transfer:
    """Return one transfer for those of several runs, with all their causes."""
    causes = dict.fromkeys(t.cause for t in transfers if t.cause is not None)
    readers = {t.reader for t in transfers}
    reader = transfers[0].reader if len(readers) == 1 else None
    return replace(transfers[0], cause=" or ".join(causes) or None, reader=reader)


def _sizes(transfers: Sequence[Transfer]) -> Sizes:
    known = [transfer.bytes for transfer in transfers if transfer.bytes is not None]
    if len(known) < len(transfers):
        return Sizes(None, None)
    return Sizes(min(known), max(known))


def _computed(seen: Seen) -> list[str]:
    by_device: dict[str, list[str]] = {}
    for name, devices in seen.placement.items():
        for device in devices:
            by_device.setdefault(device, []).append(name)
    return [f"{device} computed {', '.join(names)}" for device, names in by_device.items()]
