"""What to read about an item that blocks a level, and about a word that is not declared."""

from __future__ import annotations

from typing import Final

from hettest.levels.standing import Blocker
from hettest.outcome import Outcome, Record, Status

CLAUSES: Final = "docs/reference/clauses.md"
WORDS: Final = "docs/reference/protocol.md#capabilities"
"""Where it says how words are declared."""

_PAGES: Final = {
    "values": "docs/reference/semantics.md",
    "placement": "docs/reference/planning.md",
    "copies": "docs/reference/planning.md",
    "moved": "docs/reference/planning.md",
    "arrivals": "docs/reference/planning.md",
    "arguments": "docs/reference/protocol.md",
    "backend": "docs/reference/protocol.md",
    "memory": "docs/reference/observation.md",
    "diagnostics": "docs/reference/errors.md",
}
_ALIKE: Final = {"moved": "copies", "arrivals": "copies", "values": "ops"}
"""The area of published clauses that a check is nearest to, where it is not its own name."""


def explained(name: str) -> str:
    """Return the command that prints what a clause or a page says, where no page is at hand."""
    return f"hettest explain {name.removeprefix('docs/reference/').replace('.md', '')}"


def blocker_of(record: Record) -> Blocker:
    """Return what reports say of an item that did not pass."""
    failed = next((c for c in record.clauses if c.status is Status.FAILED), None)
    check = None if failed is None else failed.name
    return Blocker(
        item=record.id,
        outcome=record.outcome.value,
        reason=_reason(record),
        clause=_clause(record, check),
        page=_PAGES.get(check or "", CLAUSES),
    )


def _reason(record: Record) -> str:
    if record.outcome is Outcome.WAIVED and record.waiver:
        return record.waiver
    return next(iter(record.reason.splitlines()), "")


def _clause(record: Record, check: str | None) -> str | None:
    """Return the clause of the case that the failed check is about, else its first."""
    area = _ALIKE.get(check or "", check)
    near = (clause for clause in record.proves if clause.partition(".")[0] == area)
    return next(near, next(iter(record.proves), None))
