"""Joins pytest's reports of a test's phases to the one end of the test.

A test has ended when it was torn down: one whose process dies in its teardown has not passed. An
attempt that a plugin will repeat (a rerun) is no end.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, final

import pytest

from hettest.ledger import Ledger, more_severe
from hettest.outcome import Outcome, Record

_FINAL: Final = ("passed", "failed", "skipped")
"""What the report of a phase may say that nobody will repeat."""

_BAD: Final = (Outcome.FAILED, Outcome.CRASHED)


@final
@dataclass
class PhaseReports:
    """Takes reports as they come, of one process or of many workers."""

    ledger: Ledger
    deaths: dict[str, str]
    """Takes the tests whose process died, with what is known of it."""

    _begun: dict[tuple[str, str], Record] = field(default_factory=dict)
    """How the tests that are not torn down stand, by worker and node."""

    def add(self, report: pytest.TestReport) -> None:
        """Take one phase of a test, as any process reports it."""
        key = (_worker(report), report.nodeid)
        if report.when not in ("setup", "call", "teardown"):
            self._add_death(key, report)
        elif report.outcome not in _FINAL:
            self._begun.pop(key, None)
        elif not is_part(report) or report.failed:
            record = _record(report)
            if record is not None:
                self._begun[key] = more_severe(self._begun.get(key), record)
            if report.when == "teardown" and key in self._begun:
                self.ledger.add(self._begun.pop(key))

    def close(self) -> None:
        """Note the failures of tests that were never torn down; the others have not ended."""
        for record in self._begun.values():
            if record.outcome in _BAD:
                self.ledger.add(record)
        self._begun.clear()

    def _add_death(self, key: tuple[str, str], report: pytest.TestReport) -> None:
        self._begun.pop(key, None)
        if report.outcome == "failed":
            self.deaths[report.nodeid] = str(report.longrepr)


def _worker(report: pytest.TestReport) -> str:
    node = getattr(report, "node", None)
    return "" if node is None else str(node.gateway.id)


def is_part(report: pytest.TestReport) -> bool:
    """Whether the report is of a part of a test (a subtest), which has its own as well.

    A part that failed counts as a failure of the test, with the part's reason.
    """
    return hasattr(report, "context")


def _record(report: pytest.TestReport) -> Record | None:
    """Return what the kit wrote on the report; a failure that somebody made of it later counts."""
    data = getattr(report, "hettest", None)
    if data is None:
        return None
    record = Record.from_json(data)
    if report.failed and record.outcome is Outcome.PASSED:
        reason = "reported as failed by a plugin or a conftest"
        return replace(record, outcome=Outcome.FAILED, reason=reason, text=report.longreprtext)
    return record
