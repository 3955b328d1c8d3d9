"""``hettest bench gate`` runs pytest itself, on a clock that only the benchmarks move."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hettest.cli import main as command
from tests.plugin.conftest import PROGRAM

CLOCK = """\
import random
from pathlib import Path

SPEEDS = Path(__file__).with_name("speeds.txt")
speed, *later = SPEEDS.read_text().split()
if later:
    SPEEDS.write_text(" ".join(later))
noise = random.Random(len(later))
seconds = 1.0

def now():
    return seconds

def work():
    global seconds
    seconds += float(speed) * noise.lognormvariate(0, 0.02)
"""
TEST = """\
import clock

def test_work(benchmark):
    benchmark.pedantic(clock.work, rounds=40)
"""
QUICK = ("-q", "-p", "no:hettest", "-p", "no:hypothesispytest", "-p", "no:cacheprovider")
ARGS = (*QUICK, "--benchmark-timer=clock.now")
WITHOUT = """\
import sys
from importlib.machinery import PathFinder

class Plain(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        hidden = name.partition(".")[0] == "pytest_benchmark"
        return None if hidden else super().find_spec(name, path, target)

    @classmethod
    def find_distributions(cls, context):
        found = PathFinder.find_distributions(context)
        return (d for d in found if d.metadata["Name"] != "pytest-benchmark")

sys.meta_path[sys.meta_path.index(PathFinder)] = Plain
"""

Gate = Callable[..., tuple[int, str]]


def checkout(folder: Path, speeds: str = "1.0", test: str = TEST) -> Path:
    """Write a project with one benchmark; each run takes the next speed, the last one for ever."""
    (folder / "src").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "src" / "clock.py").write_text(CLOCK)
    (folder / "src" / "speeds.txt").write_text(speeds)
    (folder / "tests" / "test_work.py").write_text(test)
    return folder


@pytest.fixture(autouse=True)
def _outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no run be taken for a worker of the one that this test is in."""
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Gate:
    """Run the command in a checkout; return its exit code and all that it printed."""

    def run(folder: Path, *args: str, pytest_args: tuple[str, ...] = ARGS) -> tuple[int, str]:
        monkeypatch.chdir(folder)
        monkeypatch.setattr("sys.argv", ["hettest", "bench", "gate", *args, "--", *pytest_args])
        with pytest.raises(SystemExit) as ended:
            command.main()
        assert isinstance(ended.value.code, int)
        return ended.value.code, "".join(capfd.readouterr())

    return run


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stored run at speed 1."""
    folder = checkout(tmp_path_factory.mktemp("then"))
    stored = folder / "base.json"
    subprocess.run(
        [sys.executable, "-m", "pytest", *ARGS, f"--benchmark-json={stored}"],
        cwd=folder,
        env={**_plain_environment(), "PYTHONPATH": str(folder / "src")},
        check=True,
        capture_output=True,
    )
    return stored


def _plain_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}


def test_slower_once_passes_and_slower_each_time_fails(
    tmp_path: Path, baseline: Path, gate: Gate
) -> None:
    against = f"--against={baseline}"
    once, always = checkout(tmp_path / "once", "1.3 1.0"), checkout(tmp_path / "always", "1.3")

    code, printed = gate(once, against)
    assert (code, "gate: passed" in printed) == (0, True)
    assert "measured 2 times: slower, then same" in printed

    code, printed = gate(always, against, "--confirm=1", "--json")
    assert code == 1
    shown, _ = json.JSONDecoder().raw_decode(printed[printed.index("{") :])
    (found,) = shown["benchmarks"]
    assert (found["standing"], len(found["measurements"])) == ("slower", 2)


def test_each_checkout_runs_its_own_sources(
    tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is installed, as far as Python can tell."""
    base, own = checkout(tmp_path / "base", "1.0"), checkout(tmp_path / "own", "1.3")
    monkeypatch.setenv("PYTHONPATH", str(base / "src"))

    code, printed = gate(own, f"--checkout={base}", "--turns=3", "--confirm=0", "--keep=../kept")

    assert (code, "1 benchmark: 1 slower" in printed) == (1, True)
    assert "turn 3 of 3: this checkout: all benchmarks" in printed
    assert len(list((tmp_path / "kept").glob("*.json"))) == 6


OFF = {
    "under xdist": ("-n1", "pytest-benchmark times nothing under pytest-xdist; run without -n"),
    "disabled": ("--benchmark-disable", "nothing was timed"),
    "left out": ("-pno:benchmark", "pytest-benchmark is not installed, or is switched off"),
    "no tests": ("-knothing", "pytest found no tests"),
}


@pytest.mark.parametrize("way", OFF)
def test_nothing_timed_never_passes(tmp_path: Path, baseline: Path, gate: Gate, way: str) -> None:
    option, reason = OFF[way]
    timer = ("--benchmark-timer=clock.now",) if way != "left out" else ()

    code, printed = gate(
        checkout(tmp_path / "now"), f"--against={baseline}", pytest_args=(*QUICK, *timer, option)
    )

    assert (code, reason in printed, "gate: incomplete" in printed) == (6, True, True), printed


def test_without_pytest_benchmark_it_never_passes(
    tmp_path: Path, baseline: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "sitecustomize.py").write_text(WITHOUT)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "hidden"))
    test = TEST.replace("(benchmark)", "()").replace("    benchmark", "    pass  # benchmark")

    code, printed = gate(
        checkout(tmp_path / "now", test=test), f"--against={baseline}", pytest_args=QUICK
    )

    assert code == 6
    assert "pytest-benchmark is not installed, or is switched off" in printed


def test_a_paired_benchmark_that_was_not_timed_says_why(
    tmp_path: Path, baseline: Path, gate: Gate
) -> None:
    test = (
        "import numpy as np\n"
        + PROGRAM
        + "A = np.ones(4, np.float32)\n"
        + "def test_it(het_benchmark, device_pair):\n"
        + "    het_benchmark(PROGRAM, (A, A), on=device_pair)\n"
    )
    args = ("-q", "-p", "no:hypothesispytest", "--devices=cpu,sim", "--benchmark-disable")

    code, printed = gate(
        checkout(tmp_path / "now", test=test),
        f"--against={baseline}",
        pytest_args=(*args, "-k", "cpu:0-sim:0"),
    )

    assert code == 6
    assert "nothing was timed: --benchmark-disable was given" in printed


def test_other_names_than_the_baseline_never_pass(
    tmp_path: Path, baseline: Path, gate: Gate
) -> None:
    renamed = checkout(tmp_path / "now", test=TEST.replace("test_work", "test_other"))

    code, printed = gate(renamed, f"--against={baseline}")

    assert code == 6
    assert "incomplete: tests/test_work.py::test_work: is in the baseline, and did" in printed
    assert "incomplete: nothing was compared" in printed


def test_a_failing_test_fails(tmp_path: Path, baseline: Path, gate: Gate) -> None:
    failing = checkout(tmp_path / "now", test=TEST + "    assert not 'right'\n")

    code, printed = gate(failing, f"--against={baseline}")

    assert (code, "gate: failed" in printed) == (1, True)
    assert "tests failed, so that not all was measured" in printed
    assert "assert not 'right'" in printed


def test_a_run_that_hangs_is_ended(tmp_path: Path, baseline: Path, gate: Gate) -> None:
    hanging = checkout(tmp_path / "now", test="import time\ntime.sleep(60)\n" + TEST)

    code, printed = gate(hanging, f"--against={baseline}", "--timeout=2")

    assert code == 6
    assert "pytest was ended after 2 seconds" in printed


def test_a_malformed_baseline_says_line_and_key(tmp_path: Path, baseline: Path, gate: Gate) -> None:
    data = json.loads(baseline.read_text())
    data["benchmarks"][0]["stats"]["median"] = "fast"
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps(data, indent=1))
    line = next(n for n, t in enumerate(wrong.read_text().splitlines(), 1) if '"fast"' in t)

    code, printed = gate(tmp_path, f"--against={wrong}")

    assert code == 2
    assert f"{wrong}:{line}: benchmarks[0].stats.median: found 'fast', expected a" in printed


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "give either --against=RUN or --checkout=FOLDER"),
        (("--against=a.json", "--checkout=."), "give either --against=RUN or --checkout=FOLDER"),
        (("--against=none.json",), "none.json: cannot be read"),
        (("--against=7",), "7: found none in .benchmarks, expected one run of that number"),
        (("--checkout=.", "--command=no-such-command"), "no-such-command: there is no such"),
        (("--checkout=nowhere",), "nowhere: there is no such folder, expected a checkout"),
        (("--against=a.json", "--slower=1"), "--slower=1: expected a number above 1"),
    ],
)
def test_wrong_usage_is_told(
    tmp_path: Path, gate: Gate, args: tuple[str, ...], message: str
) -> None:
    code, printed = gate(tmp_path, *args)

    assert code == 2
    assert message in printed
