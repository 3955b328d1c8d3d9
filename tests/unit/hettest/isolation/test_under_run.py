"""``hettest run`` isolates strangers of its own accord, and never ends green without a report."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from hettest.cli import main as command
from tests.unit.hettest.isolation.test_isolated import MOODY, items
from tests.unit.hettest.moody import HANGS
from tests.unit.hettest.test_cli import hettest

RUN = [sys.executable, "-c", "from hettest.cli.main import main; main()", "run"]


def test_a_backend_that_leaves_is_a_crash_and_the_rest_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    items(tmp_path, "leaves", "well")
    args = ["run", f"--cases={tmp_path}", f"--backend={MOODY}:Backend"]
    monkeypatch.setattr("sys.argv", ["hettest", *args])

    with pytest.raises(SystemExit) as ended:
        command.main()

    printed = capsys.readouterr().out
    assert ended.value.code == 1
    assert "2 items: 1 passed, 0 failed, 1 crashed" in printed
    assert "  printed:\n    good bye" in printed


def test_one_that_cannot_be_asked_crashes_each_item(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    items(tmp_path, "well", "other")
    args = ("run", f"--cases={tmp_path}", f"--backend={MOODY}:DiesInDevices", "--isolate")

    assert hettest(monkeypatch, *args) == 1

    printed = capsys.readouterr().out
    assert "2 items: 0 passed, 0 failed, 2 crashed" in printed
    story, _, summary = printed.partition("and the same for 1 other item\n")
    told = "exit code 7 during: load the backend and ask for its devices"
    assert story.count(told) == 1
    assert summary.count(told) == 2  # on the first page, and in the list of what crashed


def test_a_hang_as_it_is_loaded_costs_the_time_limit_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    items(tmp_path, *"abcd")
    backend = f"--backend={MOODY}:HangsInDevices"
    started = time.monotonic()

    args = ("run", f"--cases={tmp_path}", backend, "--isolate", "--timeout=6")
    assert hettest(monkeypatch, *args) == 1

    assert time.monotonic() - started < 60  # not the limit of each item
    printed = capsys.readouterr().out
    story, _, summary = printed.partition("and the same for 3 other items\n")
    told = "no answer within 6 s during: load the backend"
    assert story.count(told) == 1
    assert summary.count(told) == 2  # on the first page, and in the list of what crashed


def test_too_many_failures_stop_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    items(tmp_path, "1_well", "2/interrupts", "3_well", "4/interrupts", "5_well", "6_well")
    args = ("run", f"--cases={tmp_path}", f"--backend={MOODY}:Backend", "--isolate", "--maxfail=2")

    assert hettest(monkeypatch, *args) == 1

    printed = capsys.readouterr()
    assert "6 items: 2 passed, 0 failed, 2 crashed, 2 not run" in printed.out
    assert "stopped after 2 failed or crashed; 2 are not run" in printed.err


def test_one_that_cannot_be_imported_is_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    items(tmp_path, "well")

    assert hettest(monkeypatch, "run", f"--cases={tmp_path}", "--backend=no:B", "--isolate") == 2
    assert "No module named 'no'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("backend", "told"),
    [
        ("DiesInDevices", "exit code 7 during: load the backend and ask for its devices"),
        ("DiesWhenMade", "exit code 3 during: load the backend and ask for its devices"),
        ("DiesInNotes", "exit code 5 during: ask the backend for its notes"),
        ("DiesInClose", "killed by SIGABRT during: close the backend"),
    ],
)
def test_doctor_outlives_the_backend_that_it_asks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], backend: str, told: str
) -> None:
    assert hettest(monkeypatch, "doctor", f"--backend={MOODY}:{backend}") == 1

    printed = capsys.readouterr().out
    assert "case files:" in printed
    assert "  crashed: " in printed
    assert told in printed


def test_the_users_interrupt_leaves_a_report_and_no_process(tmp_path: Path) -> None:
    items(tmp_path, "hangs", "well")
    hangs = tmp_path / "hangs"
    running = subprocess.Popen(
        [*RUN, f"--cases={tmp_path}", f"--backend={MOODY}:Backend", f"--report={tmp_path}/r.json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONPATH": os.getcwd(), HANGS: str(hangs)},
        # A shell has what it starts in the background ignore interrupts, and so would this.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    while not (hangs.is_file() and hangs.read_text()):
        assert running.poll() is None
        time.sleep(0.05)

    running.send_signal(signal.SIGINT)
    printed, _ = running.communicate(timeout=60)

    assert running.returncode == 6, printed
    assert "interrupted: the items that are left are not run" in printed
    assert "2 items: 0 passed, 0 failed, 0 crashed, 2 not run" in printed
    assert (tmp_path / "r.json").is_file()
    assert not Path(f"/proc/{hangs.read_text()}").exists()
