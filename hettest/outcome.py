"""How an item ends: exactly one of six ways, and the one place that counts them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, final


class Outcome(StrEnum):
    """The end of one selected item."""

    PASSED = "passed"
    """Every expectation was checked and holds."""

    FAILED = "failed"
    CRASHED = "crashed"
    """The implementation raised something other than a rejection, or its process died."""

    NOT_RUN = "not run"
    """A requested device is missing, or the run was cut short."""

    UNSUPPORTED = "unsupported"
    """By declaration: a capability word that the item needs is not claimed."""

    WAIVED = "waived"


class Status(StrEnum):
    """How one clause of an item ended."""

    PROVEN = "proven"
    FAILED = "failed"
    UNPROVEN = "unproven"
    """The backend does not show what would prove it."""

    ADVISORY = "advisory"
    """Differs from what only we have pinned; shown, never counted."""


@final
@dataclass(frozen=True, slots=True)
class Clause:
    """One thing that was checked of one item."""

    name: str
    """``values``, ``placement``, ``copies``, ``moved``, ``arrivals``, ``arguments``, ``memory`` or
    ``diagnostics``."""

    status: Status
    detail: str
    """What was found and what was expected, in one line or a few."""

    line: int | None = None
    """In the case file."""

    word: str | None = None
    """The capability word that is missing, of an unproven clause."""


@final
@dataclass(frozen=True, slots=True)
class Record:
    """The end of one item, as reports hold it."""

    id: str
    outcome: Outcome
    reason: str = ""
    """Why, in one line; empty when passed."""

    level: int | None = None
    clauses: tuple[Clause, ...] = ()
    seconds: float = 0.0
    text: str = ""
    """The whole story of a failure, over several lines."""

    counted: bool = True
    """Whether it counts; not under policy ``skip`` for missing devices."""

    def to_json(self) -> dict[str, Any]:
        """Return plain data, from which `from_json` makes an equal record."""
        clauses = [
            {"name": c.name, "status": c.status.value, "detail": c.detail, "line": c.line}
            | ({"word": c.word} if c.word else {})
            for c in self.clauses
        ]
        return {
            "id": self.id,
            "outcome": self.outcome.value,
            "reason": self.reason,
            "level": self.level,
            "clauses": clauses,
            "seconds": round(self.seconds, 6),
            "text": self.text,
            "counted": self.counted,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Record:
        clauses = tuple(
            Clause(c["name"], Status(c["status"]), c["detail"], c["line"], c.get("word"))
            for c in data["clauses"]
        )
        return cls(
            id=data["id"],
            outcome=Outcome(data["outcome"]),
            reason=data["reason"],
            level=data["level"],
            clauses=clauses,
            seconds=data["seconds"],
            text=data["text"],
            counted=data["counted"],
        )


@final
@dataclass
class Ledger:
    """Every selected item and how it ended; all counts are taken from here."""

    selected: dict[str, int | None] = field(default_factory=dict)
    """The items that were to be run, with their levels, in order."""

    records: dict[str, Record] = field(default_factory=dict)
    deselected: dict[str, int] = field(default_factory=dict)
    """How many items were left out before the run, by reason."""

    def select(self, id: str, level: int | None = None) -> None:  # noqa: A002 - the item's own word
        self.selected.setdefault(id, level)

    def leave_out(self, reason: str, count: int = 1) -> None:
        if count:
            self.deselected[reason] = self.deselected.get(reason, 0) + count

    def add(self, record: Record) -> None:
        """Note how an item ended; of several ends of one item the worst counts."""
        self.select(record.id, record.level)
        known = self.records.get(record.id)
        if known is None or known.outcome not in (Outcome.FAILED, Outcome.CRASHED):
            self.records[record.id] = record

    def close(self) -> None:
        """Give each selected item without an end its own: the run was cut short."""
        for item, level in self.selected.items():
            if item not in self.records:
                reason = "the run was cut short"
                self.records[item] = Record(item, Outcome.NOT_RUN, reason, level)

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


INCOMPLETE = 6
"""The exit code of a run in which something was not run; pytest uses 0 to 5 itself."""


def worst(clauses: Iterable[Clause]) -> Status:
    """Return failed if any clause failed, else unproven if any is, else proven."""
    found = {clause.status for clause in clauses}
    return next((s for s in (Status.FAILED, Status.UNPROVEN) if s in found), Status.PROVEN)
