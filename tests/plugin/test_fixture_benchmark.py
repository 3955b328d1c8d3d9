"""``het_benchmark`` checks first, then times both ways in turn."""

from __future__ import annotations

import json

import pytest

from tests.plugin.conftest import PROGRAM, Run

TEST = (
    "import numpy as np\n"
    + PROGRAM
    + """
A = np.arange(4, dtype=np.float32)

def test_it(het_benchmark, device_pair):
    found = het_benchmark(PROGRAM, (A, A), on=device_pair, rounds=5)
    assert found.copies == 3
"""
)


def test_both_medians_copies_and_bytes_are_kept(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(TEST)

    result = run(
        "--devices=cpu,sim",
        "-k",
        "cpu:0-sim:0",
        "--benchmark-enable",
        "--benchmark-json=bench.json",
    )

    result.assert_outcomes(passed=1, deselected=1)
    (kept,) = json.loads((pytester.path / "bench.json").read_text())["benchmarks"]
    assert kept["stats"]["rounds"] == 5
    info = kept["extra_info"]
    assert info["placed_median"] == kept["stats"]["median"]
    assert info["speedup"] == info["cpu_only_median"] / info["placed_median"]
    assert (info["copies"], info["moved_bytes"]) == (3, 48)


def test_the_rounds_are_interleaved(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        TEST
        + """
from tests.unit.hettest import fake_backend

def test_order(het_benchmark, monkeypatch):
    order = []
    original = fake_backend.Executable.run

    def noted(self, entry, args, mode=None):
        order.append("alone" if set(self.device_map.values()) == {"cpu:0"} else "placed")
        return original(self, entry, args)

    monkeypatch.setattr(fake_backend.Executable, "run", noted)
    het_benchmark(PROGRAM, (A, A), on="host=cpu:0,accel=sim:0", rounds=4)
    assert order[2:] == ["alone", "placed"] * 5
"""
    )

    run("-k", "test_order", "--benchmark-enable").assert_outcomes(passed=1, deselected=1)


def test_disabled_it_checks_and_times_nothing(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(TEST + "    assert found.speedup is None\n")

    run("--devices=cpu,sim", "--benchmark-disable").assert_outcomes(passed=2)


def test_a_wrong_program_is_not_timed(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(TEST)

    result = run("--devices=cpu,sim", "-k", "cpu:0-sim:0", backend="wrong_value")

    result.assert_outcomes(failed=1, deselected=1)
    result.stdout.fnmatch_lines(["E*values failed*"])


def test_without_pytest_benchmark_it_says_what_to_install(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(TEST)

    result = run("--devices=cpu,sim", "-p", "no:benchmark")

    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*pip install 'hettest[[]bench[]]'*"])
