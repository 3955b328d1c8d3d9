"""Every item as a row of one table, and those that did not pass with their whole story."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

from hettest.outcome import Outcome, Record, Status
from hettest.report.html.words import part

MANY: Final = 8
"""Items that ended for one reason are told as one from here on."""

NAMED: Final = 60
"""How many of them are named."""

WHOLE: Final = 1_500_000
"""How many characters of whole stories the page holds; the JSON report has them all."""


@final
@dataclass(frozen=True, slots=True)
class Row:
    """One item."""

    name: str
    """Its id without that of its case."""

    outcome: str
    level: str
    checks: str
    """How many clauses are proven, and which are not."""

    worst: str
    """The largest error of all checks, as a part of what is allowed."""

    reason: str


@final
@dataclass(frozen=True, slots=True)
class Group:
    """The items of one case, or of one file of one's own tests."""

    case: str
    rows: tuple[Row, ...]


@final
@dataclass(frozen=True, slots=True)
class Story:
    """One item that did not pass, or several that did not for one reason."""

    ids: tuple[str, ...]
    count: int
    reason: str
    text: str
    """Of the first."""

    cut: bool = False
    """Whether the text was left out to keep the page small."""


@final
@dataclass(frozen=True, slots=True)
class Ending:
    """All items that ended in one way other than passed."""

    outcome: str
    count: int
    stories: tuple[Story, ...]


def groups(records: Iterable[Record]) -> tuple[Group, ...]:
    """Return all items in order, those of one case that follow each other together."""
    found: list[tuple[str, list[Row]]] = []
    for record in records:
        case = record.case or record.id.partition("::")[0]
        if not found or found[-1][0] != case:
            found.append((case, []))
        name = record.id.removeprefix(case).removeprefix("::")
        found[-1][1].append(_row(record, name or record.id))
    return tuple(Group(case, tuple(rows)) for case, rows in found)


def _row(record: Record, name: str) -> Row:
    level = "" if record.level is None else f"L{record.level}"
    outcome = str(record.outcome) if record.counted else "skipped"
    reason = record.waiver or record.reason
    return Row(name, outcome, level, _checks(record), _worst(record), reason)


def _checks(record: Record) -> str:
    counts = Counter(clause.status for clause in record.clauses)
    proven = [f"{counts[Status.PROVEN]} proven"] if counts[Status.PROVEN] else []
    others = (c for c in record.clauses if c.status is not Status.PROVEN)
    return ", ".join([*proven, *dict.fromkeys(f"{c.name} {c.status}" for c in others)])


def _worst(record: Record) -> str:
    """Return the largest error with its check, ``0.42 local``; empty if there is none."""
    measures = [measure for clause in record.clauses for measure in clause.measures]
    endless = [m for m in measures if m.worst is None and m.status == "fails" and m.name != "form"]
    known = [(m.worst, m.name) for m in measures if m.worst is not None]
    if endless:
        return f"∞ {endless[0].name}"
    if not known:
        return ""
    worst, name = max(known)
    return f"{part(worst)} {name}" if worst else "0"


def endings(records: Sequence[Record]) -> tuple[Ending, ...]:
    """Return what failed, crashed or was not run, and what was skipped, each with its reasons."""
    left = WHOLE
    found: list[Ending] = []
    kinds: list[tuple[str, list[Record]]] = [
        (str(outcome), [r for r in records if r.outcome is outcome and r.counted])
        for outcome in (Outcome.FAILED, Outcome.CRASHED, Outcome.NOT_RUN)
    ]
    kinds.append(("skipped", [r for r in records if not r.counted]))
    for kind, same in kinds:
        stories = []
        for story in _stories(same):
            fits = len(story.text) <= left
            left -= len(story.text) if fits else 0
            short = Story(story.ids, story.count, story.reason, "", cut=True)
            stories.append(story if fits else short)
        if stories:
            found.append(Ending(kind, len(same), tuple(stories)))
    return tuple(found)


def _stories(records: Iterable[Record]) -> Iterator[Story]:
    by_reason: dict[str, list[Record]] = {}
    for record in records:
        by_reason.setdefault(record.reason, []).append(record)
    for reason, same in by_reason.items():
        if len(same) > MANY:
            ids = tuple(record.id for record in same[:NAMED])
            yield Story(ids, len(same), reason, same[0].text)
            continue
        yield from (Story((record.id,), 1, reason, record.text) for record in same)
