"""A report that is read again ends as its run did, whatever went wrong there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hettest.cli.commands.report import exit_code
from hettest.ledger import INCOMPLETE
from hettest.outcome import Outcome, Record
from tests.unit.hettest.case.written import text, write
from tests.unit.hettest.report.made import content
from tests.unit.hettest.test_cli import hettest

ID = "area/case[plain]"


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ("", INCOMPLETE),
        ("passed", 0),
        ("passed unsupported", 0),
        ("unsupported", INCOMPLETE),
        ("unsupported not_run", INCOMPLETE),
        ("waived unsupported", 0),
        ("passed not_run", INCOMPLETE),
        ("not_run crashed", 1),
    ],
)
def test_what_proves_nothing_is_incomplete(outcomes: str, code: int) -> None:
    found = [
        Record(f"{ID}{number}", Outcome[word.upper()], "why", 2, case="area/case", waiver="w")
        for number, word in enumerate(outcomes.split())
    ]

    assert exit_code(content(found)) == code


def test_tests_of_ones_own_may_all_skip_themselves() -> None:
    assert exit_code(content([Record("test_it.py::test_a", Outcome.UNSUPPORTED, "skipped")])) == 0


def test_a_crash_after_all_items_stands_in_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, text())
    report = tmp_path / "report.json"
    backend = "--backend=tests.unit.hettest.hostile:ExitsInClose"

    assert hettest(monkeypatch, "run", f"--cases={tmp_path}", backend, f"--report={report}") == 1
    capsys.readouterr()

    assert hettest(monkeypatch, "report", str(report)) == 1
    (problem,) = json.loads(report.read_text())["problems"]
    assert problem.startswith("crashed: ")
    assert problem in capsys.readouterr().out
