"""``hettest waive add`` writes what `load` reads; ``audit`` says what is not true any more."""

from __future__ import annotations

from pathlib import Path

import pytest

from hettest.waivers import load
from tests.unit.hettest.case.written import text, write
from tests.unit.hettest.test_cli import FAKE, hettest

FAR = "--expires=2999-01-01"
WELL = ("--case=area/name", "--stage=values", "--kind=permanent", "--owner=me", FAR)
COMMENT = "# ours\nformat = 1   # fixed\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one case in it, which is the working folder."""
    write(tmp_path / "cases", text())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_waiver_is_added_below_what_is_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "waivers.toml"
    path.write_text(COMMENT)

    added = ("waive", "add", *WELL, '--reason=it says "no"\n', "--issue=a/b#1", "--cases=cases")
    assert hettest(monkeypatch, *added) == 0
    assert hettest(monkeypatch, *added, "--devices=accel=sim:*") == 0

    assert path.read_text().startswith(COMMENT)
    first, second = load(path).entries
    assert (first.reason, first.issue, first.line) == ('it says "no"\n', "a/b#1", 4)
    assert second.devices == "accel=sim:*"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--reason=",), "reason: is missing"),
        (("--reason=x", "--case=area/nam"), "--case=area/nam: no case has such an id"),
        (("--reason=x", "--stage=value"), "found 'value', expected one of values"),
        (("--reason=x", "--kind=pending"), "issue: is missing"),
        (("--reason=x", "--expires=2020-01-01"), "--expires=2020-01-01: that day is past"),
        (("--reason=x", "--expires=soon"), "--expires=soon: expected a date"),
    ],
)
def test_what_is_not_whole_is_not_written(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    args: tuple[str, ...],
    message: str,
) -> None:
    assert hettest(monkeypatch, "waive", "add", *WELL, *args, "--cases=cases") == 2

    assert message in capsys.readouterr().err
    assert not (folder / "waivers.toml").exists()


def test_the_same_is_not_added_twice(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    added = ("waive", "add", *WELL, "--reason=x", "--cases=cases")
    assert hettest(monkeypatch, *added) == 0
    before = (folder / "waivers.toml").read_text()

    assert hettest(monkeypatch, *added) == 2

    assert "has the case, stage and devices of waiver[0]" in capsys.readouterr().err
    assert (folder / "waivers.toml").read_text() == before


def test_a_run_waives_and_an_audit_reads_its_report(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hettest(monkeypatch, "waive", "add", *WELL, "--reason=off by one", "--cases=cases")
    chosen = ("--cases=cases", "--waivers=waivers.toml")
    audit = ("waive", "audit", "--report=r.json", "--cases=cases")

    run = ("run", f"{FAKE}:wrong_value", *chosen, "--report=r.json")
    assert hettest(monkeypatch, *run) == 0
    assert "1 waived" in capsys.readouterr().out
    assert hettest(monkeypatch, *audit) == 0
    assert capsys.readouterr().out == "waivers: 1, problems: 0\n"

    run = ("run", f"{FAKE}:Backend", *chosen, "--report=r.json")
    assert hettest(monkeypatch, *run) == 1
    assert "is not needed any more" in capsys.readouterr().out
    assert hettest(monkeypatch, *audit) == 1
    assert "waivers.toml:3: the waiver of values for area/name is not" in capsys.readouterr().out
    assert hettest(monkeypatch, "report", "r.json") == 1


def test_an_audit_without_a_report_runs_what_is_waived(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder / "cases", text(), "area/other.toml")
    hettest(monkeypatch, "waive", "add", *WELL, "--reason=off by one", "--cases=cases")

    assert hettest(monkeypatch, "waive", "audit", "--cases=cases") == 1
    assert "is not needed any more: take it out (1 passed)" in capsys.readouterr().out
