"""A signal that ends a run: every item has its end, reports are whole, no process stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.plugin.sessions import REPORT, Session, command, environment, hettest, read, write

WAITING = """
import os, pathlib, time
import pytest

def wait(phase):
    if os.environ["PHASE"] == phase:
        pathlib.Path("waits").write_text(str(os.getpid()))
        time.sleep(600)

wait("collect")

@pytest.fixture
def phases(device):
    wait("setup")
    yield
    wait("teardown")

def test_one(device): pass
def test_two(phases): wait("call")
def test_three(device): pass
"""
BACKEND = '''
"""A backend that says where it runs and never answers."""
import os, pathlib, subprocess, sys, time
from tests.unit.hettest.fake_backend import Backend

class Stuck(Backend):
    def compile(self, *args):
        code = "import time; time.sleep(600)"
        child = subprocess.Popen([sys.executable, "-c", code])
        pathlib.Path("part").write_text(f"{os.getpid()} {child.pid}")
        os.rename("part", "waits")
        time.sleep(600)
'''
ITEM = "placement/shared_input"
PATIENCE = 60.0
"""Seconds until a test gives up on what it waits for."""


def until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < end
        time.sleep(0.02)


def _heed_signals() -> None:
    """Undo what a shell in the background or ``nohup`` ignores, which a process inherits."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def signalled(folder: Path, line: list[str], *numbers: int, **env: str) -> Session:
    """Run a command, send it signals when a test waits, and return how it ended."""
    with (folder / "output").open("w") as output:
        process = subprocess.Popen(
            line,
            cwd=folder,
            env=environment(**env),
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=_heed_signals,
        )
        try:
            until(lambda: (folder / "waits").exists() or process.poll() is not None)
            for number in numbers:
                process.send_signal(number)
            code = process.wait(PATIENCE)
        finally:
            process.kill()
    return Session(code, (folder / "output").read_text("utf-8"), read(folder))


def is_running(process: int) -> bool:
    """Whether a process runs; one that has ended and that nobody waited for does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("phase", ["setup", "call", "teardown"])
def test_each_item_has_its_end(tmp_path: Path, number: signal.Signals, phase: str) -> None:
    write(tmp_path, {"test_it.py": WAITING})

    ended = signalled(tmp_path, command("cpu,sim"), number, PHASE=phase)

    assert ended.code == (6 if number == signal.SIGINT else 128 + number), ended.output
    assert ended.counts == {"passed": 1, "not run": 5}
    cause = "KeyboardInterrupt" if number == signal.SIGINT else number.name
    assert ended.reasons == {f"the run was cut short: {cause}"}


def test_a_signal_while_tests_are_collected_is_no_success(tmp_path: Path) -> None:
    write(tmp_path, {"test_it.py": WAITING})

    ended = signalled(tmp_path, command("cpu,sim"), signal.SIGTERM, PHASE="collect")

    assert ended.code == 128 + signal.SIGTERM
    assert ended.report is not None
    assert ended.report["problems"] == ["the run ended before all tests were collected"]


def test_the_workers_of_a_distributed_run_end_too(tmp_path: Path) -> None:
    write(tmp_path, {"test_it.py": WAITING})

    ended = signalled(tmp_path, command("cpu,sim", "-n1"), signal.SIGTERM, PHASE="call")

    assert ended.code == 128 + signal.SIGTERM
    assert ended.counts == {"passed": 1, "not run": 5}
    until(lambda: not is_running(int((tmp_path / "waits").read_text())))


def test_a_worker_that_gets_the_signal_alone_has_crashed(tmp_path: Path) -> None:
    text = "import os, signal\n\ndef test_one(device): os.kill(os.getpid(), signal.SIGTERM)\n"
    write(tmp_path, {"test_it.py": text + "def test_two(device): pass\n", "waits": ""})

    line = command("cpu", "-n1", "--max-worker-restart=0")
    ended = signalled(tmp_path, line)

    assert (ended.code, ended.counts) == (1, {"crashed": 1, "not run": 1})


def test_a_second_signal_ends_a_run_that_does_not_heed_the_first(tmp_path: Path) -> None:
    deaf = WAITING.replace("time.sleep(600)", "deaf()") + (
        "\ndef deaf():\n"
        "    try:\n"
        "        time.sleep(600)\n"
        "    except KeyboardInterrupt:\n"
        "        os.kill(os.getpid(), __import__('signal').SIGTERM)\n"
        "        time.sleep(600)\n"
    )
    write(tmp_path, {"test_it.py": deaf})

    ended = signalled(tmp_path, command("cpu,sim"), signal.SIGTERM, PHASE="call")

    assert ended.code == -signal.SIGTERM
    assert ended.counts == {"passed": 1, "not run": 5}


@pytest.mark.parametrize(
    ("how", "number"),
    [
        *((how, signal.SIGTERM) for how in ("pytest", "pytest -n1", "run", "conformance")),
        ("run", signal.SIGHUP),
    ],
)
def test_no_isolated_process_stays(tmp_path: Path, number: signal.Signals, how: str) -> None:
    write(tmp_path, {"stuck.py": BACKEND})
    named = ("--backend=stuck:Stuck", "--devices=cpu,sim")
    line = {
        "pytest": [*command("cpu,sim", "--pyargs", "hettest.suite", "-k", ITEM)],
        "pytest -n1": [*command("cpu,sim", "--pyargs", "hettest.suite", "-n1", "-k", ITEM)],
        "run": hettest("run", ITEM, *named, f"--report={REPORT}"),
        "conformance": hettest("conformance", "run", "--level=1", *named, "--out=out"),
    }[how]
    if how.startswith("pytest"):
        line += ["--het-backend=stuck:Stuck", "--het-isolate"]
    env = environment(PYTHONPATH=f"{environment()['PYTHONPATH']}{os.pathsep}{tmp_path}")

    ended = signalled(tmp_path, line, number, PYTHONPATH=env["PYTHONPATH"])

    assert ended.code == 128 + number, ended.output
    for process in map(int, (tmp_path / "waits").read_text().split()):
        until(lambda: not is_running(process))  # noqa: B023 - called at once
    report = ended.report or json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert {item["outcome"] for item in report["items"]} <= {"not run", "unsupported"}
    assert report["selected"] == len(report["items"]) > 0
