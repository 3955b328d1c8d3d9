"""The report for people: counts, and each item that did not pass, with its reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hettest.outcome import Outcome, Record, Status
from hettest.report.content import ReportContent

LISTED = (Outcome.FAILED, Outcome.CRASHED, Outcome.NOT_RUN, Outcome.WAIVED, Outcome.UNSUPPORTED)
_BETWEEN = re.compile(r", (?=[a-z]+:)")
MANY = 8
"""Items with one and the same reason that are listed one by one."""


def lines(content: ReportContent) -> Iterator[str]:
    """Yield the report's lines."""
    yield f"{content.backend} on {', '.join(content.devices) or 'no named devices'}"
    counts = ", ".join(f"{content.counts[o]} {o}" for o in Outcome)
    skipped = [r for r in content.records if not r.counted]
    apart = f"; {len(skipped)} skipped and not counted" if skipped else ""
    yield f"{len(content.records)} items: {counts}{apart}"
    for outcome in LISTED:
        found = [r for r in content.records if r.outcome is outcome and r.counted]
        yield from (
            _lacking(found)
            if outcome is Outcome.UNSUPPORTED and len(found) > MANY
            else _listed(str(outcome), found)
        )
    yield from _listed("skipped, device missing", skipped)
    yield from _advisories(content.records)
    for reason, count in content.deselected.items():
        yield f"deselected: {count} {reason}"
    yield from _expected(content)


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


def _advisories(records: Sequence[Record]) -> Iterator[str]:
    """Yield what differs from our pins alone: shown, never counted."""
    found = [(r, c) for r in records for c in r.clauses if c.status is Status.ADVISORY]
    if found:
        yield f"advisory, not counted ({len(found)}):"
    for record, clause in found:
        yield f"  {record.id}: {clause.detail.splitlines()[0]}"


def _expected(content: ReportContent) -> Iterator[str]:
    if content.expected is None:
        return
    wanted, found = set(content.expected), set(content.case_ids)
    if wanted == found:
        yield f"expected: {len(wanted)} items, as {content.expected_file} lists them"
        return
    yield (
        f"expected: {len(wanted)} items as {content.expected_file} lists them; "
        f"{len(wanted - found)} missing, {len(found - wanted)} not listed"
    )
