"""The report for people: the first page, what did not pass, with its reason, and the level again.

It is kept short: of a long list it shows what matters most and says how much more there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from hettest.files import one_line
from hettest.outcome import Outcome, Record
from hettest.report.content import ReportContent
from hettest.report.counting import counted
from hettest.report.summary import MANY, Section, levels, sections
from hettest.report.undeclared import lacks

LISTED = (Outcome.FAILED, Outcome.CRASHED, Outcome.NOT_RUN, Outcome.WAIVED, Outcome.UNSUPPORTED)
LONGEST: Final = 10
"""How many lines of a section, reasons of an outcome, or words are shown."""

_UNTITLED = ("levels", "items")
"""Sections whose lines say by themselves what they are about."""

_ELSEWHERE: Final = "the JSON, Markdown and HTML reports list all"


def lines(content: ReportContent, former: ReportContent | None = None) -> Iterator[str]:
    """Yield the report's lines; with ``former``, also what changed since that run.

    Each is one line, whatever stands in it.
    """
    yield from map(one_line, _lines(content, former))


def _lines(content: ReportContent, former: ReportContent | None) -> Iterator[str]:
    yield f"{content.backend} on {', '.join(content.devices) or 'no named devices'}"
    for section in sections(content, former):
        yield from _shown(section)
    listed = tuple(_not_passed(content.records))
    yield from listed
    if listed:  # the level stands far above by now
        yield from levels(content)


def _not_passed(records: Sequence[Record]) -> Iterator[str]:
    for outcome in LISTED:
        found = [r for r in records if r.outcome is outcome and r.counted]
        many = outcome is Outcome.UNSUPPORTED and len(found) > MANY
        yield from _lacking(found) if many else _listed(str(outcome), found)
    yield from _listed("skipped, device missing", [r for r in records if not r.counted])


def _shown(section: Section) -> Iterator[str]:
    if section.title in _UNTITLED:
        yield from section.lines
    elif len(section.lines) == 1:
        yield f"{section.title}: {section.lines[0]}"
    else:
        yield f"{section.title}:"
        yield from (f"  {line}" for line in section.lines[:LONGEST])
        if len(section.lines) > LONGEST:
            yield f"  and {len(section.lines) - LONGEST} more; {_ELSEWHERE}"


def _listed(title: str, records: Sequence[Record]) -> Iterator[str]:
    """Yield the items by reason, those of one reason together, that of the most items first."""
    if not records:
        return
    yield f"{title} ({len(records)}):"
    by_reason: dict[str, list[Record]] = {}
    for record in records:
        by_reason.setdefault(record.reason, []).append(record)
    groups = sorted(by_reason.items(), key=lambda pair: -len(pair[1]))
    for reason, same in groups[:LONGEST]:
        yield from _alike(reason, same)
    left = sum(len(same) for _, same in groups[LONGEST:])
    if left:
        yield f"  and {counted(left, 'more item')}; the JSON report lists all"


def _alike(reason: str, records: Sequence[Record]) -> Iterator[str]:
    """Yield items that ended for one reason, which is told once."""
    first, *others = records
    yield f"  {first.id}: {reason}"
    if len(records) > MANY:
        yield f"  and {counted(len(others), 'more item')}, to {others[-1].id}: the same"
    else:
        yield from (f"  {record.id}: the same" for record in others)


def _lacking(records: Sequence[Record]) -> Iterator[str]:
    """Yield what is not claimed, word by word, that of the most items first."""
    yield f"unsupported ({len(records)}), not claimed:"
    found = lacks(records)
    for lack in islice(found, LONGEST):
        yield f"  {lack.word}: {counted(lack.items, 'item')}, first {lack.first}"
    if len(found) > LONGEST:
        yield f"  and {counted(len(found) - LONGEST, 'more word')}; {_ELSEWHERE}"
