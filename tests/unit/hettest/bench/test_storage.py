"""A name means a file, the last run of a folder, or the run that pytest-benchmark numbered so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hettest.bench.storage import find, history
from hettest.errors import UsageError
from tests.unit.hettest.bench.runs import plain, run, write


def test_a_folder_means_its_last_run_of_all_machines(tmp_path: Path) -> None:
    write(tmp_path / "Linux-a", run(plain("a"), number=1))
    last = write(tmp_path / "Linux-b", run(plain("a"), number=2))

    assert find(str(tmp_path)) == last


def test_a_number_means_the_run_of_that_number(tmp_path: Path) -> None:
    seventh = write(tmp_path / "Linux-a", run(plain("a"), number=7))
    write(tmp_path / "Linux-a", run(plain("a"), number=8))

    assert find("7", tmp_path) == find("0007", tmp_path) == seventh


def test_a_number_of_two_machines_is_refused_with_both(tmp_path: Path) -> None:
    both = [write(tmp_path / name, run(plain("a"), number=7)) for name in "ab"]

    with pytest.raises(UsageError) as refused:
        find("7", tmp_path)

    assert all(str(path) in str(refused.value) for path in both)


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no stored run"):
        find(str(tmp_path))
    with pytest.raises(UsageError, match="found none in"):
        find("3", tmp_path)


def test_history_goes_by_time_whatever_the_files_are_called(tmp_path: Path) -> None:
    later = write(tmp_path, replace(run(plain("a"), number=5), path=Path("0001_x.json")))
    write(tmp_path, run(plain("a"), number=2))

    found = history([tmp_path, later])

    assert [run.path.name for run in found] == ["0002_run.json", "0001_x.json"]
