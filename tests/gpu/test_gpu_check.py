"""The check for a machine with a GPU, rehearsed on a simulated device."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import gpu_check


def test_a_rehearsal_writes_a_report_after_each_step(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    options = ["--device=sim:0", "--quick", "--steps=environment,timings", f"--out={out}"]
    assert gpu_check.main(options) == 0
    steps = json.loads(out.read_text())["steps"]
    assert {name: s["outcome"] for name, s in steps.items()} == {
        "environment": "passed",
        "timings": "passed",
    }
    assert steps["environment"]["packages"]["numpy"]
    assert steps["timings"]["kernel_us_in_a_session"] > 0
    assert [c["bytes"] for c in steps["timings"]["copies"]] == [1 << 12, 1 << 20]


def test_a_step_that_fails_says_why_and_fails_the_check(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    options = ["--device=sim.fast:0", "--quick", "--steps=environment,timings", f"--out={out}"]
    assert gpu_check.main(options) == 1
    steps = json.loads(out.read_text())["steps"]
    assert "sim has no variant fast" in steps["environment"]["reason"]
    assert "sim has no variant fast" in steps["timings"]["reason"]


def test_no_step_is_begun_without_time(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    assert gpu_check.main(["--device=sim:0", "--seconds=0", f"--out={out}"]) == 1
    steps = json.loads(out.read_text())["steps"]
    assert {s["outcome"] for s in steps.values()} == {"not run"}
    assert set(steps) == set(gpu_check.STEPS)


def test_an_unknown_step_is_wrong_usage() -> None:
    with pytest.raises(SystemExit, match="2"):
        gpu_check.main(["--step", "nothing"])
