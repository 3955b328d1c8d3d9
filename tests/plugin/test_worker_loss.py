"""What was selected is counted by the controller: a worker that dies takes no item with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugin.sessions import run, write

THREE = """
import os

def test_one(device): pass
def test_two(device): {body}
def test_three(device): pass
"""


def test_the_only_worker_dies_and_is_not_replaced(tmp_path: Path) -> None:
    write(tmp_path, {"test_it.py": THREE.format(body="os._exit(0)")})

    ended = run(tmp_path, "-n1", "--max-worker-restart=0")

    assert ended.code == 1
    assert ended.counts == {"passed": 1, "crashed": 1, "not run": 4}
    assert "the run was cut short: worker gw0 died" in ended.reasons


@pytest.mark.parametrize("dist", ["load", "loadscope", "worksteal"])
def test_a_worker_that_is_replaced_loses_nothing(tmp_path: Path, dist: str) -> None:
    """Some schedulers run the item again: of its two ends the crash counts."""
    died = "'died-' + device.name"
    once = f"os.path.exists({died}) or (open({died}, 'x').close(), os._exit(0))"
    write(tmp_path, {"test_it.py": THREE.format(body=once)})

    ended = run(tmp_path, "-n1", f"--dist={dist}")

    assert ended.code == 1
    assert ended.counts == {"passed": 4, "crashed": 2}


def test_with_each_an_item_ends_once_on_every_worker(tmp_path: Path) -> None:
    body = "os.environ['PYTEST_XDIST_WORKER'] == 'gw1' and os._exit(0)"
    write(tmp_path, {"test_it.py": THREE.format(body=body)})

    ended = run(tmp_path, "--dist=each", "--tx=2*popen", "--max-worker-restart=0")

    assert ended.code == 1
    assert ended.counts == {"passed": 1, "crashed": 1, "not run": 4}
    assert any(reason.startswith("it ended 1 of 2 times; ") for reason in ended.reasons)


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ("while it collects", "import os\nos._exit(0)\n"),
        ("as it is imported", "import ctypes\nctypes.CDLL(None)._exit(0)\n"),
    ],
)
def test_a_worker_that_dies_before_it_has_collected_is_told(
    tmp_path: Path, where: str, text: str
) -> None:
    write(tmp_path, {"test_it.py": text})

    ended = run(tmp_path, "-n1", "--max-worker-restart=0")

    assert ended.code not in (0, 5), where
    assert ended.report is not None
    (problem,) = ended.report["problems"]
    assert "what it was to run is not known" in problem
    assert problem in ended.output


def test_a_worker_that_dies_in_a_teardown_has_not_passed_the_item(tmp_path: Path) -> None:
    fixture = "import os, pytest\n\n@pytest.fixture\ndef late():\n    yield\n    os._exit(0)\n\n"
    write(tmp_path, {"test_it.py": fixture + "def test_it(device, late): pass\n"})

    ended = run(tmp_path, "-n1", "--max-worker-restart=0", devices="cpu")

    assert (ended.code, ended.counts) == (1, {"crashed": 1})


def test_a_worker_that_dies_after_all_items_is_no_success(tmp_path: Path) -> None:
    conftest = "import os\n\ndef pytest_unconfigure(config):\n    pass\n\n"
    conftest += "def pytest_sessionfinish(session):\n"
    conftest += "    if hasattr(session.config, 'workerinput'): os._exit(0)\n"
    write(tmp_path, {"conftest.py": conftest, "test_it.py": "def test_it(device): pass\n"})

    ended = run(tmp_path, "-n1", "--max-worker-restart=0", devices="cpu")

    assert (ended.code, ended.counts) == (1, {"passed": 1})
    assert "crashed: worker gw0 died outside of tests" in ended.output


def test_ends_are_the_same_for_a_device_that_is_missing(tmp_path: Path) -> None:
    write(tmp_path, {"test_it.py": THREE.format(body="os._exit(0)")})

    ended = run(tmp_path, "-n1", devices="cpu,cuda")

    assert ended.counts == {"passed": 2, "crashed": 1, "not run": 3}
