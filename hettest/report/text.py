"""The report for people: the first page, then each item that did not pass, with its reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hettest.outcome import Outcome, Record
from hettest.report.content import ReportContent
from hettest.report.summary import MANY, Section, sections

LISTED = (Outcome.FAILED, Outcome.CRASHED, Outcome.NOT_RUN, Outcome.WAIVED, Outcome.UNSUPPORTED)
_BETWEEN = re.compile(r", (?=[a-z]+:)")
_UNTITLED = ("levels", "items")
"""Sections whose lines say by themselves what they are about."""


def lines(content: ReportContent, former: ReportContent | None = None) -> Iterator[str]:
    """Yield the report's lines; with ``former``, also what changed since that run."""
    yield f"{content.backend} on {', '.join(content.devices) or 'no named devices'}"
    for section in sections(content, former):
        yield from _shown(section)
    for outcome in LISTED:
        found = [r for r in content.records if r.outcome is outcome and r.counted]
        yield from (
            _lacking(found)
            if outcome is Outcome.UNSUPPORTED and len(found) > MANY
            else _listed(str(outcome), found)
        )
    yield from _listed("skipped, device missing", [r for r in content.records if not r.counted])


def _shown(section: Section) -> Iterator[str]:
    if section.title in _UNTITLED:
        yield from section.lines
    elif len(section.lines) == 1:
        yield f"{section.title}: {section.lines[0]}"
    else:
        yield f"{section.title}:"
        yield from (f"  {line}" for line in section.lines)


def _listed(title: str, records: Sequence[Record]) -> Iterator[str]:
    if not records:
        return
    yield f"{title} ({len(records)}):"
    by_reason: dict[str, list[Record]] = {}
    for record in records:
        by_reason.setdefault(record.reason, []).append(record)
    for reason, same in by_reason.items():
        if len(same) > MANY:
            yield f"  {len(same)} items, {same[0].id} to {same[-1].id}: {reason}"
            continue
        yield from (f"  {record.id}: {reason}" for record in same)


def _lacking(records: Sequence[Record]) -> Iterator[str]:
    """Yield what is not claimed, word by word, that of the most items first."""
    yield f"unsupported ({len(records)}):"
    by_word: dict[str, list[Record]] = {}
    for record in records:
        for word in _words(record.reason):
            by_word.setdefault(word, []).append(record)
    for word, same in sorted(by_word.items(), key=lambda pair: -len(pair[1])):
        many = f"{len(same)} items, first {same[0].id}" if len(same) > 1 else same[0].id
        yield f"  {many}: {word}"


def _words(reason: str) -> list[str]:
    """Return what an item lacks, ``not claimed: op:det``; another reason is one by itself."""
    start = "not claimed: "
    if not reason.startswith(start):
        return [reason]
    return [start + word for word in _BETWEEN.split(reason.removeprefix(start))]
