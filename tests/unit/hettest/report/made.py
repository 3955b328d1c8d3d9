"""Content of a report for tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hettest.ledger import Ledger
from hettest.levels.standing import Blocker, Reach, Rung, Standing
from hettest.outcome import Record
from hettest.report import ReportContent


def content(records: Sequence[Record], **more: object) -> ReportContent:
    ledger = Ledger()
    for record in records:
        ledger.add(record)
    made = ReportContent(
        backend="fake",
        devices=("cpu:0", "sim:0"),
        policy="incomplete",
        counts=ledger.counts(),
        records=ledger.in_order(),
        deselected={},
        environment={"python": "3.11"},
        packages={},
    )
    return replace(made, **more)  # type: ignore[arg-type]


def rung(level: int, reach: Reach, reason: str = "", group: str | None = None) -> Rung:
    blocker = Blocker("a/b[x]", "failed", "values: wrong", "ops.add", "docs/reference/semantics.md")
    return Rung(
        level=level,
        group=group,
        reach=reach,
        items=4,
        selected=0 if reach is Reach.NOT_JUDGED else 4,
        passed=4 if reach is Reach.REACHED else 3,
        excused=0,
        blocking=int(reach is Reach.BLOCKED),
        blocker=blocker if reach is Reach.BLOCKED else None,
        reason=reason,
        devices=("cpu:0", "sim:0") if reach is Reach.REACHED else (),
    )


def core(*rungs: Rung, **evidence: str) -> Standing:
    return Standing("core@1", "0" * 64, rungs, evidence)
