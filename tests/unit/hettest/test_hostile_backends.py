"""Whatever a backend does short of ending the process, the run ends with a report."""

from __future__ import annotations

from pathlib import Path

import pytest

from hettest.backend.discovery import load
from hettest.case.expansion import expand
from hettest.errors import UsageError
from hettest.outcome import Outcome, Record, Status
from hettest.runner import run_item
from hettest.runner.run import Environment
from tests.unit.hettest import hostile
from tests.unit.hettest.case.written import PROGRAM, load_text, text, write
from tests.unit.hettest.fake_backend import Backend
from tests.unit.hettest.test_cli import hettest

HOSTILE = "tests.unit.hettest.hostile"
DEVICES = ("cpu:0", "sim:0")


def ended(folder: Path, content: str, backend: Backend) -> Record:
    (case,) = load_text(folder, content)
    return run_item(expand(case, DEVICES)[0], Environment(backend, "hostile", DEVICES, {}))


@pytest.mark.parametrize(
    ("backend", "reason"),
    [
        ("ExitsInRun", "SystemExit: 0"),
        ("ExitsInCompile", "SystemExit"),
        ("RaisesBaseException", "BaseException: at the bottom"),
        ("ExitsInDevices", "fake.devices() raised SystemExit: 0"),
    ],
)
def test_each_item_crashes_and_the_report_is_printed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    backend: str,
    reason: str,
) -> None:
    write(tmp_path, text())

    ended_with = hettest(
        monkeypatch, "run", f"--cases={tmp_path}", f"--backend={HOSTILE}:{backend}"
    )

    printed = capsys.readouterr().out
    assert ended_with == 1
    assert "1 item: 0 passed, 0 failed, 1 crashed" in printed
    assert f"policy=copy]: {reason}\n" in printed


def test_a_backend_that_does_not_open_is_said_to(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ("run", "opening/*", "--level=0", f"--backend={HOSTILE}:ExitsInDevices")

    assert hettest(monkeypatch, *args) == 1

    printed = capsys.readouterr().out
    why = "the backend did not open: fake.devices() raised SystemExit: 0"
    assert f"core@1: L0 is not reached: {why}" in printed
    assert f"ran on: no device; nothing ran: {why}\n" in printed
    assert "not declared: device" not in printed
    assert printed.count("raised SystemExit: 0\n") < 6, "told once, not for each item"


def test_a_crash_at_the_end_is_told_after_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, text())

    args = ("run", f"--cases={tmp_path}", f"--backend={HOSTILE}:ExitsInClose")
    assert hettest(monkeypatch, *args) == 1

    printed = capsys.readouterr()
    assert "1 item: 1 passed" in printed.out
    assert "ExitsInClose.close() raised SystemExit: 0" in printed.err


def test_the_users_interrupt_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        ended(tmp_path, text(), hostile.IsInterrupted())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (":", "expected the form module:attribute"),
        ("os:", "expected the form module:attribute"),
        ("os:path", r"os:path is a module, not a class or a function"),
        (f"{HOSTILE}:ExitsWhenMade", "cannot be loaded: SystemExit"),
        (f"{HOSTILE}:ClaimsAText", "its capabilities are a str, expected a frozenset of words"),
        (f"{HOSTILE}:Headless", "is no backend: it has no method compile, close"),
        ("builtins:dict", "is no backend: it has no method devices, compile, close"),
    ],
)
def test_what_is_no_backend_is_refused_with_what_it_lacks(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load(name)


def test_a_backend_never_sees_the_markers(tmp_path: Path) -> None:
    malformed = PROGRAM.replace("%d = subtract(%s, %t)", "%d subtract(%s, %t)").replace(
        "%t)  @host", "%t)  //~ syntax-error"
    )

    assert "//~" in malformed
    record = ended(tmp_path, text(malformed, run=""), hostile.ReadsMarkers())

    assert record.outcome is Outcome.PASSED, record.text


def test_an_empty_list_of_executions_proves_no_placement(tmp_path: Path) -> None:
    record = ended(tmp_path, text(), hostile.FoldsNothing())

    failed = {c.name: c.detail for c in record.clauses if c.status is Status.FAILED}
    assert set(failed) == {"backend", "placement"}
    assert failed["backend"] == "its executions show nothing computed, though main/%s must be"
    assert [line.partition(":")[0] for line in failed["placement"].splitlines()] == [
        "main/%s",
        "main/%t",
        "main/%d",
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return %d", "return %a"),
        ("%d = subtract(%s, %t)", "%d = subtract(%a, %a)"),
    ],
)
def test_what_nobody_reads_may_be_absent(tmp_path: Path, old: str, new: str) -> None:
    content = text(PROGRAM.replace(old, new)).replace(
        'result = { dtype = "f32", shape = [4], data = [1, -4, -11, -20] }', 'result = "oracle"'
    )

    record = ended(tmp_path, content, hostile.FoldsNothing())

    failed = "\n".join(c.detail for c in record.clauses if c.status is Status.FAILED)
    assert "main/%t" not in failed
    assert ("main/%d" in failed) == ("return" not in old)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("run", "--cases=EMPTY/absent"), "EMPTY/absent"),
        (("run", "--cases=EMPTY"), "found no case files under EMPTY"),
        (("case", "check", "EMPTY"), "found no case files under EMPTY"),
        (("run", "ops/add", "--report=EMPTY/file/x.json"), "file/x.json cannot be written: "),
        (("run", "ops/add", "--report=EMPTY/folder.json"), "cannot be written: Is a directory"),
        (("run", "ops/add", "--device-map="), "the device map binds no role"),
    ],
)
def test_nothing_to_run_and_nowhere_to_write_is_wrong_usage(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    args: tuple[str, ...],
    message: str,
) -> None:
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "file").touch()
    here = [arg.replace("EMPTY", str(tmp_path)) for arg in args]

    assert hettest(monkeypatch, *here) == 2

    printed = capsys.readouterr()
    assert message.replace("EMPTY", str(tmp_path)) in printed.err
    assert printed.out == ""
