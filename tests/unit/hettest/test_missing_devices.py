"""No command ends with 0 where a device or a backend that it was asked for is missing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from typer.main import get_command

from hettest.cli.main import application
from tests.unit.hettest.case.written import text, write
from tests.unit.hettest.test_cli import hettest
from tests.unit.hettest.unruly import ABSENT

UNRULY = "tests.unit.hettest.unruly"
CODES = {"incomplete": 6, "fail": 1, "skip": 0}
CASE = (
    text(head='requires = ["distinct-devices"]')
    .replace("multiply", "add")
    .replace("subtract", "add")
)

ASKING: Final[Mapping[str, Callable[[str], tuple[str, ...]]]] = {
    "run": lambda backend: ("run", f"--backend={backend}", "--cases=cases"),
    "probe": lambda backend: ("probe", backend, "--cases=cases"),
    "doctor": lambda backend: ("doctor", f"--backend={backend}"),
    "backend check": lambda backend: ("backend", "check", backend),
    "conformance run": lambda backend: (
        *("conformance", "run", "--out=out", "--level=0", f"--backend={backend}"),
    ),
    "waive audit": lambda backend: (
        *("waive", "audit", "waivers.toml", "--cases=cases", f"--backend={backend}"),
    ),
}
"""The commands that use a backend, and how each is asked to."""

WITHOUT_A_BACKEND = {
    *("list", "report", "export", "explain", "backend new", "case check", "waive add"),
    *("conformance verify", "conformance diff", "conformance pack"),
    *("bench compare", "bench gate", "bench trend", "bench export", "bench import"),
}
"""Those that read files, or write them; what a report says was not run they say too."""

WITH_A_POLICY = ("run", "backend check")
WAIVERS = """format = 1

[[waiver]]
case    = "area/name"
stage   = "values"
kind    = "permanent"
reason  = "off by one"
owner   = "me"
expires = 2999-01-01
"""


def commands(group: Any, above: str = "") -> Iterator[str]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{above}{name} ")
        else:
            yield f"{above}{name}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with one case on two devices and a waiver for it."""
    write(tmp_path / "cases", CASE)
    (tmp_path / "waivers.toml").write_text(WAIVERS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_command_is_here() -> None:
    assert set(commands(get_command(application()))) == set(ASKING) | WITHOUT_A_BACKEND


@pytest.mark.parametrize("backend", ["AllGone", "AcceleratorGone", "SeenWithoutAccelerator"])
@pytest.mark.parametrize("command", ASKING)
def test_a_missing_device_is_told_and_the_exit_code_is_six(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    backend: str,
) -> None:
    asked = (*ASKING[command](f"{UNRULY}:{backend}"), "--devices=cpu,npu")

    assert hettest(monkeypatch, *asked) == 6
    assert ABSENT in capsys.readouterr().out


@pytest.mark.parametrize("policy", CODES)
@pytest.mark.parametrize("command", WITH_A_POLICY)
def test_the_policy_decides_how_it_ends(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    policy: str,
) -> None:
    backend = f"{UNRULY}:AcceleratorGone"
    asked = (*ASKING[command](backend), "--devices=cpu,npu", f"--policy={policy}")

    assert hettest(monkeypatch, *asked) == CODES[policy]
    assert ABSENT in capsys.readouterr().out


@pytest.mark.parametrize("backend", ["AllGone", "AcceleratorGone", "SeenWithoutAccelerator"])
def test_a_check_without_named_devices_misses_the_kinds_that_are_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], backend: str
) -> None:
    assert hettest(monkeypatch, "backend", "check", f"{UNRULY}:{backend}") == 6

    out = capsys.readouterr().out
    assert f"missing device npu:0: {ABSENT}" in out
    assert "0 failed" in out


@pytest.mark.parametrize("command", ASKING)
def test_a_device_of_a_kind_that_is_not_known_is_no_success(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
) -> None:
    asked = (*ASKING[command](f"{UNRULY}:Backend"), "--devices=cpu,tensorcore")

    assert hettest(monkeypatch, *asked) in (1, 2, 6)
    found = capsys.readouterr()
    assert "tensorcore:0" in found.out + found.err


@pytest.mark.parametrize("command", ASKING)
@pytest.mark.parametrize("name", ["nowhere_at_all:Backend", f"{UNRULY}:Absent", "nobody"])
def test_a_backend_that_is_not_there_is_no_success(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    name: str,
) -> None:
    assert hettest(monkeypatch, *ASKING[command](name), "--devices=cpu,npu") in (1, 2)

    found = capsys.readouterr()
    assert name.partition(":")[0] in found.out + found.err


@pytest.mark.parametrize("command", ["run", "probe", "backend check"])
def test_a_device_that_vanishes_in_a_run_is_no_success(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
) -> None:
    asked = (*ASKING[command](f"{UNRULY}:VanishesInRun"), "--devices=cpu,npu")

    assert hettest(monkeypatch, *asked) == 1
    assert ABSENT in capsys.readouterr().out


def test_a_report_of_what_was_not_run_ends_as_the_run_did(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = (*ASKING["run"](f"{UNRULY}:AcceleratorGone"), "--devices=cpu,npu", "--report=r.json")
    assert hettest(monkeypatch, *asked) == 6
    capsys.readouterr()

    assert hettest(monkeypatch, "report", "r.json") == 6
    assert ABSENT in capsys.readouterr().out


def test_the_findings_as_json_say_what_was_not_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hettest(monkeypatch, "backend", "check", f"{UNRULY}:SeenWithoutAccelerator", "--json")

    found = {c["check"]: c for c in json.loads(capsys.readouterr().out)["checks"]}
    assert found["devices available"]["state"] == "not run"
    assert found["placement"]["state"] == "not run"
    assert found["runs"]["state"] == "ok"
