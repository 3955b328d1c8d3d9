"""One waiver, which items and stages it is for, and what becomes of a record that has one."""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

from hettest.outcome import Clause, Outcome, Record, Status, headline
from hettest.patterns import fits

STAGES: Final = (
    *("values", "placement", "copies", "moved", "arrivals", "evidence", "arguments", "memory"),
    "diagnostics",
    *("backend", "compile", "run", "crash", "timeout"),
)
"""The clauses, and the stages of items that end outside them."""

KINDS: Final = ("permanent", "pending")


@final
@dataclass(frozen=True, slots=True)
class Waiver:
    """One known fault."""

    case: str
    """Items, by their ids or those of their cases; ``*`` and ``?`` stand for any characters."""

    stage: str
    """The clause that fails, or ``compile``, ``run``, ``crash``, ``timeout``, ``backend``."""

    kind: str
    """``permanent`` or ``pending``."""

    reason: str
    owner: str
    expires: datetime.date
    """The last day on which it holds."""

    issue: str = ""
    """``owner/repository#1`` or a link; a pending one has it."""

    devices: str = ""
    """Only items bound so: ``accel=cuda:*``; empty for all."""

    file: str = ""
    line: int | None = None

    def covers(self, record: Record) -> bool:
        """Whether it is for this item, however that ended."""
        if record.case is None:
            return False
        named = any(fits(name, self.case) for name in (record.id, record.case))
        return named and _bound_so(record.id, self.devices)

    def names(self, case: str) -> bool:
        """Whether it may be for items of this case."""
        stars = (i for i, character in enumerate(self.case, 1) if character == "*")
        heads = (self.case.partition("[")[0], *(self.case[:i] for i in stars))
        return any(fits(case, head) for head in heads)

    def has_expired(self, today: datetime.date) -> bool:
        return today > self.expires

    @property
    def place(self) -> str:
        """Where it stands: ``waivers.toml:3``."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def __str__(self) -> str:
        """What reports say of it."""
        issue = f", {self.issue}" if self.issue else ""
        return f"{self.kind}: {self.reason} ({self.owner}{issue}, until {self.expires})"


def _bound_so(item: str, devices: str) -> bool:
    """Whether the item's id binds each role to a device as ``accel=cuda:*,host=cpu:0`` says."""
    inside = item.partition("[")[2].rpartition("]")[0]
    bound = dict(part.partition("=")[::2] for part in inside.split(","))
    wanted = (part.strip().partition("=") for part in devices.split(",") if part.strip())
    return all(fits(bound.get(role, ""), device) for role, _, device in wanted)


def stages(record: Record) -> tuple[str, ...]:
    """Return where an item failed: its own stage, else each clause that failed, waived or not."""
    if record.stage:
        return (record.stage,)
    failed = (Status.FAILED, Status.WAIVED)
    return tuple(dict.fromkeys(c.name for c in record.clauses if c.status in failed))


@final
@dataclass(frozen=True, slots=True)
class Waivers:
    """The waivers of one file."""

    entries: Sequence[Waiver] = ()

    def applied(self, record: Record, today: datetime.date) -> Record:
        """Return ``record``, as waived if each stage at which it failed has a waiver in force.

        One that only some stages have a waiver for stays failed, and shows what has none.
        """
        if record.outcome not in (Outcome.FAILED, Outcome.CRASHED):
            return record
        failed = stages(record)
        found = list(self._in_force(record, failed, today))
        left = [stage for stage in failed if stage not in {waiver.stage for waiver in found}]
        if found and left:
            return _split(record, [stage for stage in failed if stage not in left], left)
        if not found:
            return record
        told = "; ".join(map(str, found))
        return replace(record, outcome=Outcome.WAIVED, waiver=told)

    def _in_force(
        self, record: Record, failed: Collection[str], today: datetime.date
    ) -> Iterator[Waiver]:
        for waiver in self.entries:
            if waiver.stage in failed and not waiver.has_expired(today) and waiver.covers(record):
                yield waiver


def _split(record: Record, held: Sequence[str], left: Sequence[str]) -> Record:
    """Return a record some of whose failed clauses are waived: it fails in what is left."""
    clauses = tuple(_waived(clause, held) for clause in record.clauses)
    first = headline(c for c in clauses if c.status is Status.FAILED)
    split = f"waived: {', '.join(held)}; not waived: {', '.join(left)}"
    return replace(
        record,
        clauses=clauses,
        reason=f"{first} ({split})",
        text=_MARKED.sub(lambda found: _mark(found, held), record.text),
    )


def _waived(clause: Clause, held: Sequence[str]) -> Clause:
    waived = clause.status is Status.FAILED and clause.name in held
    return replace(clause, status=Status.WAIVED) if waived else clause


_MARKED: Final = re.compile(r"^  (?P<clause>\w+) FAILED:", re.MULTILINE)
"""In the story of a failure: where the line of a clause begins."""


def _mark(found: re.Match[str], held: Sequence[str]) -> str:
    return f"  {found['clause']} {'waived' if found['clause'] in held else 'FAILED'}:"
