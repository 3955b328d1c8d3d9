"""Tables and JSON of what became of benchmarks, for the commands that compare them."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from hettest.bench.change import Change
from hettest.bench.comparison import Comparison, Row
from hettest.bench.gate.deciding import Decision, Finding
from hettest.bench.statistics import Verdict
from hettest.bench.trend.page import Step
from hettest.files import one_line

if TYPE_CHECKING:
    from rich.table import Table

WIDTH: Final = 200
"""Columns of a table that goes into a file or a log."""

_STYLES: Final = {
    "slower": "bold red",
    "worse": "bold red",
    "costs more": "bold red",
    "faster": "green",
    "better": "green",
    "ambiguous": "yellow",
    "undecided": "yellow",
    "not compared": "yellow",
}


def compared(found: Comparison) -> Table:
    """Return the table of two runs: what each said, and what became of it."""
    head = ("benchmark", "then", "now", "change", "interval", "verdict", "note")
    return _table(head, (_compared_cells(row) for row in found.rows), numbers=(1, 2, 3, 4))


def decided(found: Decision) -> Table:
    """Return the table of a gate: how much longer each benchmark takes, and may take."""
    head = ("benchmark", "change", "interval", "limit", "", "note")
    cells = (_decided_cells(finding) for finding in found.findings)
    return _table(head, cells, numbers=(1, 2, 3))


def changed(found: Sequence[Step]) -> Table:
    """Return the table of where benchmarks changed for good."""
    head = ("benchmark", "first run after it", "before", "after", "ratio", "verdict")
    cells = ((s.benchmark, s.run, s.before, s.after, s.ratio, _styled(s.verdict)) for s in found)
    return _table(head, cells, numbers=(2, 3, 4))


def show(table: Table) -> None:
    """Print a table on standard output, without cutting names where that is no terminal."""
    from rich.console import Console

    width = None if sys.stdout is not None and sys.stdout.isatty() else WIDTH
    Console(width=width, highlight=False, soft_wrap=False).print(table)


def comparison_json(found: Comparison) -> dict[str, Any]:
    """Return plain data of two runs' comparison."""
    return {
        "benchmarks": [_row_json(row) for row in found.rows],
        "missing": list(found.missing),
        "new": list(found.new),
    }


def decision_json(found: Decision) -> dict[str, Any]:
    """Return plain data of what a gate decided."""
    return {
        "benchmarks": [_finding_json(finding) for finding in found.findings],
        "missing": list(found.missing),
        "new": list(found.new),
        "incomplete": list(found.incomplete),
        "exit_code": found.exit_code,
    }


def _compared_cells(row: Row) -> Sequence[str]:
    ratio, interval = _numbers(row.change)
    notes = [row.note] if row.note else []
    if row.change is not None and row.change.reason:
        notes.append(row.change.reason)
    word = "not compared" if row.verdict is None else str(row.verdict)
    then, now = _side(row.then, row.ratio_then), _side(row.now, row.ratio_now)
    return row.name, then, now, ratio, interval, _styled(word), "; ".join(notes)


def _side(verdict: Verdict | None, ratio: float | None) -> str:
    """Return what one run said: the placed program beside the CPU-only one."""
    return "" if verdict is None or ratio is None else f"{verdict}, {ratio:.3g}x"


def _decided_cells(finding: Finding) -> Sequence[str]:
    ratio, interval = _numbers(finding.changes[-1] if finding.changes else None)
    notes = "; ".join((*finding.notes, *finding.unseen))
    return (
        finding.name,
        ratio,
        interval,
        f"{finding.limit:g}x",
        _styled(str(finding.standing)),
        notes,
    )


def _numbers(change: Change | None) -> tuple[str, str]:
    if change is None:
        return "", ""
    known = math.isfinite(change.high)
    return f"{change.ratio:.3g}x", f"{change.low:.3g} to {change.high:.3g}" if known else ""


def _styled(word: str) -> str:
    style = _STYLES.get(word)
    return f"[{style}]{word}[/]" if style else word


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, title in enumerate(head):
        justify = "right" if index in numbers else "left"
        table.add_column(title, justify=justify, overflow="fold")  # type: ignore[arg-type]
    styled = head.index("verdict") if "verdict" in head else head.index("")
    for row in rows:
        table.add_row(*(c if i == styled else Text(one_line(c)) for i, c in enumerate(row)))
    return table


def _row_json(row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "unit": row.unit,
        "then": row.then,
        "now": row.now,
        "ratio_then": row.ratio_then,
        "ratio_now": row.ratio_now,
        "change": _change_json(row.change),
        "placed": _change_json(row.placed),
        "cpu_only": _change_json(row.cpu_only),
        "note": row.note,
    }


def _finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "name": finding.name,
        "standing": finding.standing,
        "limit": finding.limit,
        "measurements": [_change_json(change) for change in finding.changes],
        "notes": [*finding.notes, *finding.unseen],
    }


def _change_json(change: Change | None) -> dict[str, Any] | None:
    if change is None:
        return None
    return {
        "verdict": change.verdict,
        "ratio": change.ratio,
        "low": change.low,
        "high": change.high if math.isfinite(change.high) else None,
        "confidence": change.confidence,
        "band": change.band,
        "reason": change.reason,
    }
