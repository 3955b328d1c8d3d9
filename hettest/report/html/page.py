"""What the page's template is filled with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, final

from hettest.levels.coverage import Coverage, Part
from hettest.outcome import Evidence, Outcome, Record
from hettest.report.changes import Change, changes
from hettest.report.content import ReportContent, environment
from hettest.report.html.cases import on_one, on_several
from hettest.report.html.items import endings, groups
from hettest.report.html.matrix import matrix
from hettest.report.html.plot import plot
from hettest.report.html.words import duration
from hettest.report.json_report import source_digests
from hettest.report.json_report import waivers as used_waivers
from hettest.report.summary import sections
from hettest.report.undeclared import lacks

LISTED: Final = 400
"""How many changes are listed one by one."""

_FIRST: Final = (
    ("levels", "Level reached", "No level: no item of the corpus was run."),
    ("ran on", "Really ran on", "No conformance item was run."),
    ("items", "How items ended", ""),
    ("waivers", "Waived", "Nothing is waived."),
    ("since the former report", "Since the former report", "No former report was given."),
)
"""The five questions: what `sections` calls each, what the page does, and what else to say."""

_UNKNOWN: Final = (
    ("unproven", "Unproven", "nothing"),
    ("undecided", "Undecided", "nothing"),
    ("bounds vacuous", "Bounds vacuous", "none"),
    ("bounds loosened", "Bounds loosened", "none"),
    ("advisory, not counted", "Advisory, not counted", "nothing"),
    ("deselected", "Left out before the run", "nothing"),
    ("expected", "Against the committed list", "there is none"),
    ("words", "What the words mean", "none is used"),
)
_SYMBOLS: Final = {
    "passed": "✓",
    "failed": "✕",
    "crashed": "!",
    "not run": "○",
    "unsupported": "\N{EN DASH}",
    "waived": "w",
    "skipped": "·",
}


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """One question of the first page, and its answer."""

    title: str
    lines: tuple[str, ...]
    empty: bool
    """Whether the answer is that there is nothing."""


@final
@dataclass(frozen=True, slots=True)
class Share:
    """One outcome's part of the bar of all items, in thousandths of its width."""

    outcome: str
    count: int
    start: float
    width: float


def context(content: ReportContent, former: ReportContent | None) -> dict[str, Any]:
    """Return the values of the template's names, all taken from the content."""
    found = {section.title: section.lines for section in sections(content, former)}
    records = content.records
    counted = content.coverage
    return {
        "content": content,
        "symbols": _SYMBOLS,
        "title": f"{content.backend} on {', '.join(content.devices) or 'no named devices'}",
        "first": _answers(_FIRST, found),
        "unknown": _answers(_UNKNOWN, found),
        "shares": _shares(content),
        "skipped": sum(not record.counted for record in records),
        "matrix": matrix(() if counted is None else counted.matrix, content.devices),
        "cases": on_several(records),
        "scenes": on_one(records),
        "grades": _grades(records),
        "grade_names": [str(grade) for grade in Evidence],
        "plot": plot(records),
        "endings": endings(records),
        "lacks": lacks(records),
        "waivers": used_waivers(records),
        "changes": _changes(content, former),
        "coverage": _coverage(counted),
        "models": _models(content.models),
        "facts": _facts(content),
        "groups": groups(records),
        "item_outcomes": list(dict.fromkeys(_ended(record) for record in records)),
        "item_levels": sorted({r.level for r in records if r.level is not None}),
    }


def _answers(
    wanted: Iterable[tuple[str, str, str]], found: Mapping[str, tuple[str, ...]]
) -> list[Answer]:
    return [
        Answer(title, found.get(name) or ((otherwise,) if otherwise else ()), name not in found)
        for name, title, otherwise in wanted
    ]


def _ended(record: Record) -> str:
    return str(record.outcome) if record.counted else "skipped"


def _shares(content: ReportContent) -> list[Share]:
    total = max(1, sum(content.counts.values()))
    shares: list[Share] = []
    start = 0.0
    for outcome in Outcome:
        count = content.counts[outcome]
        width = 1000 * count / total
        shares.append(Share(str(outcome), count, start, width))
        start += width
    return shares


def _grades(records: Iterable[Record]) -> dict[str, Counter[str]]:
    """Return how many items know each kind of clause how well."""
    found: dict[str, Counter[str]] = {}
    for clause in (clause for record in records for clause in record.clauses):
        if clause.evidence is not None:
            found.setdefault(clause.name, Counter())[str(clause.evidence)] += 1
    return found


def _changes(content: ReportContent, former: ReportContent | None) -> tuple[list[Change], int]:
    """Return the changes that are listed, the worse first, and how many more there are."""
    if former is None:
        return [], 0
    found = sorted(changes(former, content), key=lambda change: not change.worse)
    return found[:LISTED], max(0, len(found) - LISTED)


def _coverage(coverage: Coverage | None) -> list[tuple[str, Part]]:
    if coverage is None:
        return []
    names = (("clauses", "Clauses"), ("operators", "Operators"), ("dtypes", "Dtypes"))
    parts = [*names, ("faults", "Kinds of fault")]
    return [(title, getattr(coverage, name)) for name, title in parts]


def _models(models: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return the columns and rows of the table of real models."""
    columns = list(dict.fromkeys(key for model in models for key in model))
    return columns, [[str(model.get(key, "")) for key in columns] for model in models]


def _facts(content: ReportContent) -> dict[str, str]:
    """Return what the run depended on, by name; times are rounded as the JSON report has them."""
    started = datetime.fromtimestamp(int(content.started), UTC)
    facts = {
        "started": started.strftime("%Y-%m-%d %H:%M:%S UTC"),
        "took": duration(round(content.seconds, 3)),
        "policy for missing devices": content.policy,
    }
    if content.seed is not None:
        facts["seed"] = str(content.seed)
    facts |= environment() if content.environment is None else content.environment
    facts |= {f"corpus, {name}": value for name, value in content.suite.items()}
    facts |= {f"source of {name}": value for name, value in source_digests(content).items()}
    facts |= {f"profile {s.profile}": s.digest for s in content.standings}
    return facts
