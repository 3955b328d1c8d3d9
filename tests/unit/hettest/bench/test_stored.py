"""Files of pytest-benchmark are read into records; what is malformed is said with its line."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hettest.bench.break_even import BreakEven, Reach
from hettest.bench.measurement import CompileSeconds, Costs, Paired, Sweep, Timings
from hettest.bench.statistics import Assessment, Verdict
from hettest.bench.stored import StoredError, read

FOUND = Assessment(Verdict.SLOWER, 1.3, 1.2, 1.4, 12, 0, 1, 0.995, 0.05)
PAIRED = Paired(
    backend="mine",
    devices={"host": "cpu:0", "accel": "npu:0"},
    compile_seconds=CompileSeconds(0.3, 0.1, 0.2),
    costs=Costs(3, 48, 0.25, {"npu:0": 64}, None),
    timings=Timings((1.0,) * 12, (1.3,) * 12, FOUND, 16, True),
    sweep=Sweep("n", (1, 2), (FOUND, FOUND), BreakEven(Reach.NEVER, above=2)),
)
FILE: dict[str, Any] = {
    "machine_info": {"node": "here", "cpu": {"brand_raw": "Acme 1"}},
    "commit_info": {"id": "abc", "branch": "main", "dirty": True},
    "datetime": "2027-03-01T12:00:00+00:00",
    "benchmarks": [
        {
            "fullname": "test_it.py::test_paired",
            "extra_info": {"verdict": "slower", "hettest": PAIRED.to_json()},
            "stats": {"median": 1.3, "stddev": 0.1, "rounds": 12, "data": [1.3] * 12},
        },
        {
            "fullname": "test_it.py::test_other",
            "extra_info": {},
            "stats": {"median": 2.0, "stddev": 0.0, "rounds": 5},
        },
    ],
}

Change = Callable[[dict[str, Any]], None]


def written(folder: Path, change: Change = lambda data: None) -> Path:
    data = copy.deepcopy(FILE)
    change(data)
    path = folder / "bench.json"
    path.write_text(json.dumps(data, indent=1))
    return path


def test_what_was_kept_is_read_back(tmp_path: Path) -> None:
    run = read(written(tmp_path))

    assert (run.commit, run.branch, run.dirty, run.machine) == ("abc", "main", True, "here, Acme 1")
    assert run.when is not None
    assert run.by_name["test_it.py::test_paired"].paired == PAIRED
    assert run.by_name["test_it.py::test_other"].paired is None
    assert run.by_name["test_it.py::test_other"].seconds == ()


def test_a_measurement_without_timings_is_read_back(tmp_path: Path) -> None:
    untimed = Paired("mine", {}, CompileSeconds(0, 0, 0), Costs(), not_timed="no reason")

    def change(data: dict[str, Any]) -> None:
        data["benchmarks"][0]["extra_info"]["hettest"] = untimed.to_json()

    (entry, _) = read(written(tmp_path, change)).entries
    assert entry.paired == untimed


def paired_of(data: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = data["benchmarks"][0]["extra_info"]["hettest"]
    return found


MALFORMED: dict[str, tuple[Change, str, str]] = {
    "format": (
        lambda d: paired_of(d).update(format=2),
        "benchmarks[0].extra_info.hettest.format",
        "1 was expected",
    ),
    "verdict": (
        lambda d: paired_of(d)["sweep"]["found"][1].update(verdict="good"),
        "benchmarks[0].extra_info.hettest.sweep",
        "is not valid under any of the given schemas",
    ),
    "share": (
        lambda d: paired_of(d)["costs"].update(copy_share=2),
        "benchmarks[0].extra_info.hettest.costs.copy_share",
        "2 is greater than the maximum of 1",
    ),
    "rounds": (
        lambda d: paired_of(d)["timings"]["placed_seconds"].pop(),
        "benchmarks[0].extra_info.hettest",
        "found 12 CPU-only rounds and 11 placed ones",
    ),
    "why": (
        lambda d: paired_of(d).update(not_timed="off"),
        "benchmarks[0].extra_info.hettest",
        "says why it was not timed",
    ),
    "median": (
        lambda d: d["benchmarks"][1]["stats"].update(median=None),
        "benchmarks[1].stats.median",
        "found None, expected a number of seconds",
    ),
    "negative": (
        lambda d: d["benchmarks"][0]["stats"]["data"].__setitem__(3, -0.5),
        "benchmarks[0].stats.data[3]",
        "found -0.5, expected a positive number of seconds",
    ),
    "no time": (
        lambda d: d["benchmarks"][0]["stats"]["data"].__setitem__(3, 0.0),
        "benchmarks[0].stats.data[3]",
        "found 0.0, expected a positive number of seconds",
    ),
    "name": (
        lambda d: d["benchmarks"][1].pop("fullname"),
        "benchmarks[1]",
        "found no fullname",
    ),
    "twice": (
        lambda d: d["benchmarks"].append(d["benchmarks"][1]),
        "benchmarks[2]",
        "found test_it.py::test_other twice",
    ),
    "time": (lambda d: d.update(datetime="soon"), "datetime", "found 'soon', expected a time"),
    "list": (lambda d: d.update(benchmarks={}), "benchmarks", "found no list of benchmarks"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_malformed_is_said_with_its_line_and_key(tmp_path: Path, name: str) -> None:
    change, key, message = MALFORMED[name]
    path = written(tmp_path, change)

    with pytest.raises(StoredError) as caught:
        read(path)

    (problem,) = caught.value.problems
    assert problem.where == key
    assert message in problem.message
    last = key.rpartition(".")[2].partition("[")[0]
    assert problem.line is not None
    assert last in path.read_text().splitlines()[problem.line - 1] or key.endswith("]")


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "found no JSON"), ("[]", "found no list of benchmarks"), ("{}", "found no list")],
)
def test_what_is_no_such_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bench.json"
    path.write_text(text)

    with pytest.raises(StoredError, match=message):
        read(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoredError, match=r"none\.json: cannot be read"):
        read(tmp_path / "none.json")
