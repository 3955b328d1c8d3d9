"""``het_benchmark`` checks first, then times both ways in turn; here on a clock of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import scipy.stats  # noqa: F401 - loaded once: pytester forgets what a run loads

from tests.plugin.conftest import PROGRAM, Run
from tests.unit.hettest import clocked_backend

TEST = (
    "import numpy as np\n"
    + PROGRAM
    + """
A = np.arange(4, dtype=np.float32)

def test_it(het_benchmark, device_pair):
    found = het_benchmark(PROGRAM, (A, A), on=device_pair, rounds=40)
    assert found.copies == 3
"""
)
SIZES = PROGRAM.replace("f32[4]", "f32[n]") + (
    """
import numpy as np

def make(n):
    return np.ones(n, np.float32), np.ones(n, np.float32)

def test_it(het_benchmark, device_pair):
    het_benchmark(PROGRAM, make, on=device_pair, rounds=40, sizes={"n": (100, 400, 1600)})
"""
)
CLOCKED = clocked_backend.__name__
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "benchmarks.md"

Timed = Callable[..., tuple[pytest.RunResult, dict[str, Any]]]


@pytest.fixture
def timed(pytester: pytest.Pytester) -> Timed:
    """Run pytest on a backend with a clock; return the result and what was kept."""

    def run_pytest(*args: str, backend: str = "Backend") -> tuple[pytest.RunResult, dict[str, Any]]:
        result = pytester.runpytest_inprocess(
            f"--het-backend={CLOCKED}:{backend}",
            *("-p", "no:cacheprovider", "--devices=cpu,sim", "-k", "cpu:0-sim:0"),
            *("--benchmark-enable", f"--benchmark-timer={clocked_backend.NOW}"),
            "--benchmark-json=bench.json",
            *args,
        )
        kept = json.loads((pytester.path / "bench.json").read_text())["benchmarks"]
        return result, kept[0] if kept else {}

    return run_pytest


@pytest.mark.parametrize(
    ("backend", "verdict"), [("Backend", "same"), ("Slower", "slower"), ("Faster", "faster")]
)
def test_the_verdict_is_kept_and_said(
    pytester: pytest.Pytester, timed: Timed, backend: str, verdict: str
) -> None:
    pytester.makepyfile(TEST)

    result, kept = timed(backend=backend)

    result.assert_outcomes(passed=1, deselected=1)
    assert kept["extra_info"]["verdict"] == verdict
    result.stdout.fnmatch_lines(
        [
            "*= hettest benchmarks =*",
            f"*::test_it[[]cpu:0-sim:0]: {verdict}: * times the CPU-only *",
        ]
    )


def test_both_series_and_all_costs_are_kept(pytester: pytest.Pytester, timed: Timed) -> None:
    pytester.makepyfile(TEST)

    _, kept = timed()

    info, found = kept["extra_info"], kept["extra_info"]["hettest"]
    assert found["timings"]["placed_seconds"] == kept["stats"]["data"]
    assert len(found["timings"]["cpu_only_seconds"]) == 40
    assert info["speedup"] == 1 / info["ratio"]
    assert (info["copies"], info["moved_bytes"], info["copy_share"]) == (3, 48, 0.25)
    assert found["costs"]["placed_peak"]["sim:0"] == 48
    assert set(found["compile_seconds"]) == {"first", "cpu_only", "placed"}


def test_the_size_from_which_on_it_pays_is_found(pytester: pytest.Pytester, timed: Timed) -> None:
    pytester.makepyfile(SIZES)

    result, kept = timed(backend="WorthItWhenLarge")

    result.assert_outcomes(passed=1, deselected=1)
    even = kept["extra_info"]["hettest"]["sweep"]["break_even"]
    assert (even["reach"], even["above"], even["upto"]) == ("from", 400, 1600)
    assert 550 < even["at"] < 700
    result.stdout.fnmatch_lines(["*over n: faster from size about * on (surely from 1600*"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("(PROGRAM, make)", "*expected the arguments*sizes*"),
        ('(PROGRAM, make(4), sizes={"n": (4,)})', "*found a tuple*makes them for one size*"),
        ('(PROGRAM, make, sizes={"n": (8, 4)})', "*sizes [[]8, 4]*expected them to ascend*"),
        ('(PROGRAM, make, sizes={"n": ()})', "*sizes [[]]*expected positive*"),
        ('(PROGRAM, make, sizes={"n": (4,), "m": (4,)})', "*names n, m*expected one*"),
        ("(PROGRAM, make(4), rounds=0)", "*rounds=0*expected 1 or more*"),
    ],
)
def test_what_makes_no_sense_is_refused(
    pytester: pytest.Pytester, run: Run, call: str, message: str
) -> None:
    head, _, _ = SIZES.rpartition("het_benchmark(")
    pytester.makepyfile(f"{head}het_benchmark{call}\n")

    result = run("--devices=cpu,sim", "-k", "cpu:0-sim:0")

    result.assert_outcomes(failed=1, deselected=1)
    result.stdout.fnmatch_lines([f"E*{message}"])


def test_a_second_benchmark_in_a_test_is_refused(pytester: pytest.Pytester, timed: Timed) -> None:
    pytester.makepyfile(TEST + "    het_benchmark(PROGRAM, (A, A), on=device_pair, rounds=40)\n")

    result, _ = timed()

    result.assert_outcomes(failed=1, deselected=1)
    result.stdout.fnmatch_lines(["E*call it once in a test*"])


def test_disabled_it_checks_times_nothing_and_says_so(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(TEST + "    assert found.speedup is None\n")

    result = run("--devices=cpu,sim", "--benchmark-disable", "--het-report=report.json")

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*test_it*: not timed: --benchmark-disable was given"])
    records = json.loads((pytester.path / "report.json").read_text())["items"]
    clauses = [(c["name"], c["status"]) for r in records for c in r["clauses"]]
    assert clauses == [("timing", "unproven")] * 2


def test_in_parallel_it_checks_times_nothing_and_says_so(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST)
    pytester.makeconftest("pytest_plugins = ()")

    result = pytester.runpytest_subprocess(
        "--het-backend=tests.unit.hettest.fake_backend:Backend",
        *("--devices=cpu,sim", "-n", "1", "-p", "no:cacheprovider"),
        timeout=60,
    )

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*test_it*: not timed: *under pytest-xdist; run without -n"])


def test_it_counts_as_a_benchmark(pytester: pytest.Pytester, timed: Timed, run: Run) -> None:
    pytester.makepyfile(TEST + "\ndef test_other(device_pair):\n    pass\n")

    only, _ = timed("--benchmark-only")
    skipped = run("--devices=cpu,sim", "-k", "cpu:0-sim:0", "--benchmark-skip")

    only.assert_outcomes(passed=1, skipped=1, deselected=2)
    skipped.assert_outcomes(passed=1, skipped=1, deselected=2)


def test_a_wrong_program_is_not_timed(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(TEST)

    result = run("--devices=cpu,sim", "-k", "cpu:0-sim:0", backend="wrong_value")

    result.assert_outcomes(failed=1, deselected=1)
    result.stdout.fnmatch_lines(["E*values failed*"])
    result.stdout.no_fnmatch_line("*hettest benchmarks*")


def test_what_is_wrong_only_when_compiled_for_speed_is_not_timed(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(TEST)

    result = pytester.runpytest_inprocess(
        f"--het-backend={CLOCKED}:WrongWhenTimed",
        *("-p", "no:cacheprovider", "--devices=cpu,sim", "-k", "cpu:0-sim:0"),
    )

    result.assert_outcomes(failed=1, deselected=1)
    result.stdout.fnmatch_lines(["E*compiled to be timed, the program on*something else*"])


def test_without_pytest_benchmark_it_says_what_to_install(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(TEST)

    result = run("--devices=cpu,sim", "-p", "no:benchmark")

    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*needs pytest-benchmark: pip install 'hettest[[]bench[]]'*"])


def test_the_example_of_the_guide_runs(pytester: pytest.Pytester) -> None:
    example = GUIDE.read_text(encoding="utf-8").partition("```python\n")[2].partition("```\n")[0]
    pytester.makepyfile(example)

    result = pytester.runpytest_subprocess(
        *("--devices=cpu,sim", "--benchmark-disable", "-p", "no:cacheprovider"), timeout=120
    )

    result.assert_outcomes(passed=2)
