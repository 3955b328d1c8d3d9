"""Results of asv become stored runs, and stored runs become results that asv reads."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hettest.bench.exchange import asv, writing
from hettest.bench.located import StoredError
from hettest.bench.stored import read
from hettest.errors import UsageError
from tests.unit.hettest.bench.runs import paired, plain, run, untimed

DATA = Path(__file__).with_name("data") / "asv"
FILE = DATA / "mm" / "b67e9f86-virtualenv-py3.11.json"


def test_what_asv_wrote_is_read() -> None:
    """The folder is what asv 0.6.6 wrote, shortened."""
    (found,) = asv.read(DATA)

    assert (found.commit[:8], found.machine, found.python) == ("b67e9f86", "mm, Acme 1", "3.11")
    assert found.when is not None
    assert f"{found.when:%Y-%m-%d}" == "2026-11-30"
    assert [(e.name, e.median, e.unit, len(e.seconds)) for e in found.entries] == [
        ("b.TimeIt.time_sum(10, 'a')", 2.744000084931031e-06, "seconds", 3),
        ("b.TimeIt.time_sum(10, 'b')", 2.434000634821132e-06, "seconds", 0),
        ("b.TimeIt.time_sum(20, 'a')", 2.8740014386130497e-06, "seconds", 0),
        ("b.TimeIt.time_sum(20, 'b')", 2.873999619623646e-06, "seconds", 0),
        ("b.mem_list", 2096, "bytes", 0),
        ("b.track_x", 42, "things", 0),
    ]


def test_without_the_folder_units_are_taken_from_names(tmp_path: Path) -> None:
    (tmp_path / "alone.json").write_text(FILE.read_text())

    (found,) = asv.read(tmp_path / "alone.json")

    assert [e.unit for e in found.entries][-3:] == ["seconds", "bytes", "unit"]


def test_what_is_written_is_read_back_the_same(tmp_path: Path) -> None:
    runs = [run(plain("t.py::test_a[x-y]", seed=n), number=n) for n in (1, 2)]

    asv.write(tmp_path, runs)
    found = asv.read(tmp_path)

    for before, after in zip(runs, found, strict=True):
        assert (after.commit, after.when, after.machine) == (
            before.commit,
            before.when,
            before.machine,
        )
        (then,), (now,) = before.entries, after.entries
        assert (now.name, now.median, now.seconds) == (then.name, then.median, then.seconds)


def test_stored_again_it_is_read_as_pytest_benchmarks_own(tmp_path: Path) -> None:
    (imported,) = asv.read(DATA)

    (path,) = writing.write(tmp_path, [imported])
    found = read(path)

    assert path.name == "0001_b67e9f8616b3.json"
    assert found == replace(imported, path=path)


def test_a_paired_benchmark_is_three(tmp_path: Path) -> None:
    asv.write(tmp_path, [run(paired("a", 1.25), untimed("b"))])

    (found,) = asv.read(tmp_path)

    assert {e.name: (e.unit, len(e.seconds)) for e in found.entries} == {
        "a": ("seconds", 60),
        "a:cpu_only": ("seconds", 60),
        "a:ratio": ("times the CPU-only time", 60),
    }
    assert found.by_name["a:ratio"].median == pytest.approx(1.25, rel=0.02)


def test_rows_have_the_columns_that_asv_reads(tmp_path: Path) -> None:
    asv.write(tmp_path, [run(plain("a"))])

    (path,) = [p for p in tmp_path.glob("*/*.json") if p.name != "machine.json"]
    data = json.loads(path.read_text())
    row = dict(zip(data["result_columns"], data["results"]["a"], strict=False))

    assert data["version"] == 2
    assert row["stats_q_25"][0] < row["result"][0] < row["stats_q_75"][0]
    assert row["stats_repeat"] == [60]
    assert json.loads((tmp_path / "benchmarks.json").read_text())["a"]["unit"] == "seconds"
    assert json.loads((tmp_path / "here" / "machine.json").read_text())["machine"] == "here"


def test_a_run_without_a_commit_is_refused(tmp_path: Path) -> None:
    nameless = replace(run(plain("a")), commit="unversioned")

    with pytest.raises(UsageError, match="names no commit, which asv files results by"):
        asv.write(tmp_path / "one", [nameless])
    with pytest.raises(UsageError, match="is a second run of"):
        asv.write(tmp_path / "two", [run(plain("a")), run(plain("a"))])


def broken(folder: Path, change: Any) -> tuple[Path, list[str]]:
    """Return a file with a change, and its lines."""
    data = json.loads(FILE.read_text())
    change(data)
    path = folder / "wrong.json"
    path.write_text(json.dumps(data, indent=1))
    return path, path.read_text().splitlines()


@pytest.mark.parametrize(
    ("change", "key", "message"),
    [
        (lambda d: d.update(version=1), "version", "found version 1, expected 2; asv update"),
        (lambda d: d.update(date="now"), "date", "'now' is not of type 'number'"),
        (lambda d: d["results"].update({"b.track_x": 3}), "results.b.track_x", "3 is not of type"),
        (
            lambda d: d["results"]["b.TimeIt.time_sum"][0].pop(),
            "results.b.TimeIt.time_sum",
            "found 3 results, expected one for each of 4 combinations of parameters",
        ),
        (
            lambda d: d["results"]["b.TimeIt.time_sum"].__setitem__(11, [["x"]] * 4),
            "results.b.TimeIt.time_sum",
            "found other samples",
        ),
        (
            lambda d: d["results"]["b.mem_list"].__setitem__(0, [[1]]),
            "results.b.mem_list[0][0]",
            "[1] is not of type",
        ),
    ],
)
def test_a_malformed_file_says_line_and_key(
    tmp_path: Path, change: Any, key: str, message: str
) -> None:
    path, lines = broken(tmp_path, change)
    last = key.rpartition(".")[2].partition("[")[0]

    with pytest.raises(StoredError) as refused:
        asv.read(path)

    (problem,) = refused.value.problems
    assert (problem.where, message in problem.message) == (key, True), problem
    assert problem.line is not None
    assert f'{last}"' in "".join(lines[max(0, problem.line - 3) : problem.line])


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no results of asv"):
        asv.read(tmp_path)
    (tmp_path / "x.json").write_text("{\n,")
    with pytest.raises(StoredError, match=r"x\.json:2: found no JSON"):
        asv.read(tmp_path)
