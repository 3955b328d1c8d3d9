"""The report as Markdown, for build summaries and pages: the first page, levels, every item."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hettest.levels.standing import Standing
from hettest.outcome import Outcome, Record
from hettest.report.content import ReportContent, environment
from hettest.report.summary import Section, sections
from hettest.report.undeclared import lacks

_SHOWN = (Outcome.FAILED, Outcome.CRASHED, Outcome.NOT_RUN, Outcome.WAIVED)
LONGEST = 500
"""Items of one outcome that the page lists; the JSON report has them all."""


def render(content: ReportContent, former: ReportContent | None = None) -> str:
    """Return the report's text; with ``former``, also what changed since that run."""
    return "\n".join(_lines(content, former)) + "\n"


def _lines(content: ReportContent, former: ReportContent | None) -> Iterator[str]:
    devices = ", ".join(content.devices) or "no named devices"
    yield f"# {_plain(content.backend)} on {_plain(devices)}"
    for section in sections(content, former):
        yield from _section(section)
    if content.standings:
        yield from ("", "## Levels", "")
        rows = (row for standing in content.standings for row in _rungs(standing))
        yield from _table(("profile", "level", "", "items", "passed", "excused", "why"), rows)
    for outcome in _SHOWN:
        yield from _items(outcome, [r for r in content.records if r.outcome is outcome])
    yield from _lacking(content)
    yield from ("", "## Environment", "")
    found = environment() if content.environment is None else content.environment
    yield from _table(("", ""), found.items())


def _section(section: Section) -> Iterator[str]:
    yield from ("", f"**{section.title[0].upper()}{section.title[1:]}**", "")
    yield from (f"* {_plain(line)}" for line in section.lines)


def _rungs(standing: Standing) -> Iterator[Sequence[str]]:
    for rung in standing.rungs:
        counts = (str(rung.items), str(rung.passed), str(rung.excused))
        yield (standing.profile, rung.name, str(rung.reach), *counts, rung.reason)


def _items(outcome: Outcome, records: Sequence[Record]) -> Iterator[str]:
    if not records:
        return
    yield from ("", f"## {outcome.capitalize()} ({len(records)})", "")
    rows = ((record.id, record.waiver or record.reason) for record in records[:LONGEST])
    yield from _table(("item", "why"), rows)
    if len(records) > LONGEST:
        yield from ("", f"and {len(records) - LONGEST} more, in the JSON report")


def _lacking(content: ReportContent) -> Iterator[str]:
    """Yield every word that is not claimed and that items need."""
    found = lacks(content.records)
    if found:
        yield from ("", f"## Unsupported ({content.counts[Outcome.UNSUPPORTED]})", "")
        rows = ((lack.word, str(lack.items), lack.first) for lack in found)
        yield from _table(("not claimed", "items", "first"), rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    yield from (f"| {' | '.join(map(_plain, row))} |" for row in rows)


def _plain(text: str) -> str:
    """Return ``text`` as one line that Markdown shows as it is."""
    line = " ".join(text.split())
    for mark in ("\\", "`", "*", "_", "[", "]", "<", "|", "#"):
        line = line.replace(mark, f"\\{mark}")
    return line
