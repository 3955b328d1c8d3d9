"""A run may not lose what a lock says it had, and reaches the levels that are required of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hettest.outcome_lock import read
from tests.unit.hettest.case.written import text, write
from tests.unit.hettest.test_cli import FAKE, hettest

WAIVER = """format = 1
[[waiver]]
case = "area/name"
stage = "values"
kind = "permanent"
reason = "off by one"
owner = "me"
expires = 2999-01-01
"""
LOCK = "--lock=hettest.lock"
Hettest = Callable[..., tuple[int, str]]


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Hettest:
    """Run two cases on the fake backend; returns the exit code and what was printed."""
    for name in ("area/name.toml", "area/other.toml"):
        write(tmp_path / "cases", text(), name)
    (tmp_path / "waivers.toml").write_text(WAIVER)
    monkeypatch.chdir(tmp_path)

    def call(*args: str, backend: str = "Backend", cases: str = "--cases=cases") -> tuple[int, str]:
        code = hettest(monkeypatch, "run", f"{FAKE}:{backend}", *filter(None, [cases]), *args)
        found = capsys.readouterr()
        return code, found.out + found.err

    return call


@pytest.fixture
def lock(run: Hettest, tmp_path: Path) -> Path:
    """A lock of both items, which passed."""
    assert run(LOCK, "--update-lock")[0] == 0
    return tmp_path / "hettest.lock"


def test_a_lock_has_each_item_with_its_outcome(run: Hettest, lock: Path) -> None:
    head, *lines = lock.read_text().splitlines()

    assert head.startswith("# ")
    assert len(lines) == 2
    assert all(line.endswith("]  passed on cpu:0 sim:0") for line in lines)
    assert run(LOCK)[0] == 0


def test_what_passed_and_is_unsupported_now_fails(run: Hettest, lock: Path) -> None:
    assert run(backend="without_multiply")[0] == 6

    code, out = run(LOCK, backend="without_multiply")

    assert code == 1
    assert "0 passed, 2 failed" in out
    place = "unsupported, and passed by hettest.lock:"
    assert f"{place}2: not claimed: op:multiply:f32" in out
    assert f"{place}3: not claimed: op:multiply:f32" in out


def test_what_passed_and_is_waived_now_fails(run: Hettest, lock: Path) -> None:
    asked = ("area/name", "--waivers=waivers.toml")
    assert run(*asked, backend="wrong_value")[0] == 0
    one = lock.read_text().splitlines()[1]
    lock.write_text(one)

    code, out = run(*asked, LOCK, backend="wrong_value")

    assert code == 1
    assert "waived, and passed by hettest.lock:1: permanent: off by one" in out


def test_what_was_waived_and_is_unsupported_now_fails(run: Hettest, lock: Path) -> None:
    lock.write_text(re.sub("passed on .*", "waived", lock.read_text()))

    code, out = run(LOCK, backend="without_multiply")

    assert code == 1
    assert "unsupported, and waived by hettest.lock:2" in out


@pytest.mark.parametrize("former", ["unsupported", "waived"])
def test_what_ends_better_is_told_and_can_be_written(run: Hettest, lock: Path, former: str) -> None:
    lock.write_text(re.sub("passed on .*", former, lock.read_text()))

    code, out = run(LOCK)

    assert code == 0
    assert f": {former} by hettest.lock, now passed" in out
    assert "--update-lock" in out
    assert run(LOCK, "--update-lock")[0] == 0
    assert lock.read_text().count("  passed on cpu:0 sim:0\n") == 2


@pytest.mark.parametrize("backend", ["no_observation"])
def test_what_is_not_seen_any_more_where_it_was_fails(
    run: Hettest, lock: Path, backend: str
) -> None:
    assert run(backend=backend)[0] == 0

    code, out = run(LOCK, backend=backend)

    assert code == 1
    assert "passed, and was seen to run on cpu:0, sim:0 by hettest.lock:2: nothing was" in out


def test_what_fails_is_no_line_of_a_lock(run: Hettest, lock: Path) -> None:
    before = lock.read_text()

    assert run(LOCK, "--update-lock", backend="wrong_value")[0] == 1
    assert lock.read_text() == before
    lock.unlink()
    assert run(LOCK, "--update-lock", backend="wrong_value")[0] == 1
    assert "passed" not in lock.read_text()
    assert run(LOCK)[0] == 0


def test_a_list_without_outcomes_holds_to_items_alone(run: Hettest, lock: Path) -> None:
    lock.write_text(re.sub("  passed on .*", "", lock.read_text()))

    assert run(LOCK)[0] == 0
    code, out = run(LOCK, backend="without_multiply")
    assert code == 6
    assert "nothing was proven: all 2 items are unsupported" in out
    assert run("area/name", LOCK)[0] == 6


def test_there_must_be_a_lock_to_write(run: Hettest) -> None:
    code, out = run("--update-lock")

    assert code == 2
    assert "no lock is named that could be written again" in out


L0 = ("--level=0", "--devices=cpu,sim")


@pytest.mark.parametrize("required", ["core@1:L0", "core@1:L0:cpu", "core@1:l0:sim:0,cpu:0"])
def test_a_level_that_is_reached_changes_nothing(run: Hettest, required: str) -> None:
    assert run(*L0, f"--require={required}", cases="")[0] == 0


@pytest.mark.parametrize(
    ("required", "told"),
    [
        ("core@1:L1", "L1 is not judged: none of "),
        ("core@1:L0:sim:1", "L0 is reached on cpu:0, sim:0, and nothing was seen to run on sim:1"),
        ("dynamic@1:L5", "L5 functions is not reached: not declared: "),
        ("dynamic@1:L5-data-types", "L5 data types is not reached: not declared: "),
    ],
)
def test_a_level_that_is_missed_fails_and_is_told(run: Hettest, required: str, told: str) -> None:
    code, out = run(*L0, "--require=core@1:L0", f"--require={required}", cases="")

    assert code == 1
    assert "is required: L0 is not" not in out
    assert told in out


def test_a_missing_device_under_skip_is_no_level(run: Hettest) -> None:
    asked = ("--level=0", "--devices=cpu,cuda", "--policy=skip")

    assert run(*asked, cases="")[0] == 0
    code, out = run(*asked, "--require=core@1:L0", cases="")
    assert code == 1
    assert "core@1:L0 is required: L0 is not reached: " in out


def test_cases_of_ones_own_reach_no_level(run: Hettest) -> None:
    code, out = run("--require=core@1:L2")

    assert code == 1
    assert "core@1:L2 is required: no item of core@1 was run" in out


@pytest.mark.parametrize(
    ("required", "message"),
    [
        ("core@1", "found 'core@1' to be required, expected a profile and a level: core@1:L2"),
        ("core@9:L2", "found no profile core@9; this installation has core@1, dynamic@1"),
        ("core@1:L7", "core@1:L7: core@1 has no L7; it has L0, L1, L2, L3, L4"),
        ("core@1:L2:a b", "found 'a b', expected a device such as cpu, sim:1 or sim.no-f64:0"),
    ],
)
def test_what_names_no_level_is_wrong_usage(run: Hettest, required: str, message: str) -> None:
    code, out = run(f"--require={required}")

    assert code == 2
    assert message in out


def test_a_conformance_report_says_what_was_required(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report"
    asked = ("conformance", "run", f"--out={out}", "--level=0", f"{FAKE}:Backend")

    assert hettest(monkeypatch, *asked, "--require=core@1:L1") == 1
    assert "core@1:L1 is required: L1 is not judged" in capsys.readouterr().out
    assert hettest(monkeypatch, "report", str(out / "report.json")) == 1
    assert "core@1:L1 is required" in capsys.readouterr().out
    assert hettest(monkeypatch, "conformance", "verify", str(out)) == 0


def test_a_comment_begins_behind_a_space(tmp_path: Path) -> None:
    path = tmp_path / "hettest.lock"
    path.write_text("# all\nc#/case[plain]  # slow\n\tother[plain]  passed on cpu # once\n")

    assert read(path).items == ("c#/case[plain]", "other[plain]")
