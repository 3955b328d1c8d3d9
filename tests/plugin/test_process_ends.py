"""A test that ends the process, or leaves a copy of it, is no success and takes no item with it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.plugin.sessions import environment, hettest, run, write

SUITE = """
import os, sys, threading

def test_one(device): pass
def test_two(device):
    {body}
def test_three(device): pass
"""


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("os._exit(0)", 1),
        ("os._exit(256)", 1),  # of which the system keeps 0
        ("os._exit(3)", 3),
        ("os.execv(sys.executable, [sys.executable, '-c', ''])", 1),
        ("os.execlp(sys.executable, sys.executable, '-c', '')", 1),
        ("t = threading.Thread(target=os._exit, args=(0,)); t.start(); t.join()", 1),
    ],
)
def test_the_end_of_the_process_is_a_crash(tmp_path: Path, body: str, code: int) -> None:
    write(tmp_path, {"test_it.py": SUITE.format(body=body)})

    ended = run(tmp_path)

    assert ended.code == code, ended.output
    assert ended.counts == {"passed": 1, "crashed": 1, "not run": 4}
    assert any("was called in test_it.py::test_two[cpu:0]" in reason for reason in ended.reasons)
    assert "6 items: 1 passed, 0 failed, 1 crashed, 4 not run" in ended.output


def test_the_end_of_the_process_while_tests_are_collected_is_no_success(tmp_path: Path) -> None:
    write(tmp_path, {"test_it.py": "import os\nos._exit(0)\n"})

    ended = run(tmp_path)

    assert ended.code == 1
    assert "os._exit(0) was called outside of tests" in ended.output


def test_children_end_as_they_like(tmp_path: Path) -> None:
    body = "child = os.fork() or os._exit(7); assert os.waitpid(child, 0)[1] >> 8 == 7"
    write(tmp_path, {"test_it.py": SUITE.format(body=body)})

    ended = run(tmp_path)

    assert (ended.code, ended.counts) == (0, {"passed": 6})


@pytest.mark.parametrize("how", [(), ("-n1",)])
def test_a_child_that_comes_back_out_of_a_test_ends_there(
    tmp_path: Path, how: tuple[str, ...]
) -> None:
    body = "child = os.fork(); child and os.waitpid(child, 0); assert child"
    write(tmp_path, {"test_it.py": SUITE.format(body=body)})

    ended = run(tmp_path, *how)

    assert (ended.code, ended.counts) == (0, {"passed": 6})
    assert "6 passed" in ended.output


def test_os_is_as_it_was_after_a_run(pytester: pytest.Pytester) -> None:

    former = os._exit, os.execv, os.execve
    pytester.makepyfile("import os\n\ndef test_it(device): assert os._exit.__name__ == 'guarded'\n")

    pytester.runpytest_inprocess("--devices=cpu").assert_outcomes(passed=1)

    assert (os._exit, os.execv, os.execve) == former


NATIVE = "import ctypes; ctypes.CDLL(None)._exit(0)"
"""Ends the process where Python can do nothing about it."""


@pytest.mark.parametrize("body", [NATIVE, "os.kill(os.getpid(), 9)"])
def test_a_report_of_an_earlier_run_is_known_as_one(tmp_path: Path, body: str) -> None:
    write(tmp_path, {"test_it.py": SUITE.format(body="pass")})
    earlier = run(tmp_path)
    assert (earlier.code, earlier.counts) == (0, {"passed": 6})
    assert not (tmp_path / "r.json.unfinished").exists()
    (tmp_path / "test_it.py").write_text(SUITE.format(body=body))

    later = run(tmp_path)
    read = subprocess.run(
        hettest("report", "r.json"), cwd=tmp_path, env=environment(), capture_output=True, text=True
    )

    assert later.report == earlier.report
    assert read.returncode == 2
    assert "r.json: a run that was to write it began at " in read.stderr
    (tmp_path / "test_it.py").write_text(SUITE.format(body="pass"))
    again = run(tmp_path)
    assert "what is there is of an earlier run" in again.output
    assert again.code == 0
    assert not (tmp_path / "r.json.unfinished").exists()


def test_native_code_that_ends_a_worker_takes_no_item_with_it(tmp_path: Path) -> None:
    write(tmp_path, {"test_it.py": SUITE.format(body=NATIVE)})

    ended = run(tmp_path, "-n1", "--max-worker-restart=0")

    assert (ended.code, ended.counts) == (1, {"passed": 1, "crashed": 1, "not run": 4})
