"""The one place that counts how items end: what was selected, and the end of each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, final

from hettest.outcome import Outcome, Record

INCOMPLETE: Final = 6
"""The exit code of a run in which something was not run; of pytest itself it says that there were
too many warnings."""

_SEVERITY = {
    Outcome.PASSED: 0,
    Outcome.UNSUPPORTED: 1,
    Outcome.WAIVED: 1,
    Outcome.NOT_RUN: 2,
    Outcome.FAILED: 3,
    Outcome.CRASHED: 3,
}
"""Which of several ends of one item counts: the most severe one, and of equals the first."""


def more_severe(first: Record | None, second: Record) -> Record:
    """Return the one of two ends of an item that counts."""
    if first is None or _SEVERITY[second.outcome] > _SEVERITY[first.outcome]:
        return second
    return first


@final
@dataclass
class Ledger:
    """Every selected item and how it ended; all counts are taken from here."""

    selected: dict[str, int | None] = field(default_factory=dict)
    """The items that were to be run, with their levels, in order."""

    records: dict[str, Record] = field(default_factory=dict)
    deselected: dict[str, int] = field(default_factory=dict)
    """How many items were left out before the run, by reason."""

    due: dict[str, int] = field(default_factory=dict)
    """How often an item is to end, where that is more than once."""

    ends: dict[str, int] = field(default_factory=dict)
    """How often each item has ended."""

    def select(  # noqa: D417
        self,
        id: str,  # noqa: A002 - the item's own word
        level: int | None = None,
        times: int = 1,
    ) -> None:
        """Note that an item is to be run.

        Args:
            times: How often; an item that ends less often is not run.
        """
        self.selected.setdefault(id, level)
        if times > self.due.get(id, 1):
            self.due[id] = times

    def leave_out(self, reason: str, count: int = 1) -> None:
        if count:
            self.deselected[reason] = self.deselected.get(reason, 0) + count

    def add(self, record: Record) -> None:
        """Note how an item ended; of several ends of one item the most severe counts."""
        self.select(record.id, record.level)
        self.ends[record.id] = self.ends.get(record.id, 0) + 1
        self.records[record.id] = more_severe(self.records.get(record.id), record)

    def close(self, why: str = "") -> None:
        """Give each selected item that has not ended its end: the run was cut short.

        Args:
            why: What cut it short, where that is known.
        """
        reason = f"the run was cut short{why and ': '}{why}"
        for item, level in self.selected.items():
            ends, due = self.ends.get(item, 0), self.due.get(item, 1)
            if ends < due:
                often = f"it ended {ends} of {due} times; " if ends else ""
                cut = Record(item, Outcome.NOT_RUN, often + reason, level)
                self.records[item] = more_severe(self.records.get(item), cut)
                self.ends[item] = due

    def of(self, outcome: Outcome) -> tuple[Record, ...]:
        """Return the counted records that ended so, in the order of selection."""
        return tuple(r for r in self.in_order() if r.outcome is outcome and r.counted)

    def in_order(self) -> tuple[Record, ...]:
        return tuple(self.records[i] for i in self.selected if i in self.records)

    @property
    def skipped(self) -> tuple[Record, ...]:
        """The records that policy ``skip`` keeps out of the counts."""
        return tuple(r for r in self.in_order() if not r.counted)

    def counts(self) -> dict[Outcome, int]:
        """Return how many items ended each way; their sum is the number selected.

        Raises:
            AssertionError: They do not add up, so that no report of this run can be trusted.
        """
        counts = {outcome: len(self.of(outcome)) for outcome in Outcome}
        total = sum(counts.values()) + len(self.skipped)
        assert total == len(self.selected), f"{total} outcomes of {len(self.selected)} items"
        return counts

    def exit_code(self, own: int = 0) -> int:
        """Return 1 if anything failed or crashed, else 6 if anything was not run, else ``own``."""
        counts = self.counts()
        if counts[Outcome.FAILED] or counts[Outcome.CRASHED]:
            return 1
        return INCOMPLETE if counts[Outcome.NOT_RUN] else own


def undecided(records: Sequence[Record], devices: Sequence[str]) -> str:
    """Return why a run of conformance items says nothing, or nothing of a device; "" if it does.

    A backend that declares none of what the items on a device need is not wrong there; but nothing
    that was asked for was proven.
    """
    cases = [record for record in records if record.case is not None]
    if cases and all(map(_is_unsupported, cases)):
        every = "the item is" if len(cases) == 1 else f"all {len(cases)} items are"
        return f"nothing was proven: {every} unsupported"
    silent = ", ".join(device for device in devices if _is_silent(device, cases))
    return silent and f"nothing was proven on {silent}: every item on it is unsupported"


def _is_unsupported(record: Record) -> bool:
    return record.outcome is Outcome.UNSUPPORTED


def _is_silent(device: str, records: Sequence[Record]) -> bool:
    """Whether there were items on the device, and the backend supports none of them."""
    there = [record for record in records if device in record.devices]
    return bool(there) and all(map(_is_unsupported, there))
