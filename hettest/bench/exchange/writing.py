"""Writes runs as pytest-benchmark does, so that it and `stored.read` read them.

What is no time is kept too: ``extra_info["imported"]`` says its unit, and whether more is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, quantiles
from typing import Any

from hettest.bench.stored import Entry, StoredRun
from hettest.errors import UsageError
from hettest.files import file_name, json_text, write_files


def require_free(folder: Path) -> None:
    """Return if files can be written to a folder, one that is empty or not there.

    Raises:
        UsageError: Something is in it.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: exists, expected a folder that is empty or not there")


def write(folder: Path, runs: Sequence[StoredRun]) -> list[Path]:
    """Write runs, each to a file of its own, numbered in their order; return the files.

    Raises:
        UsageError: They cannot be written.
    """
    found = {}
    for number, run in enumerate(runs, start=1):
        path = folder / f"{number:04}_{file_name(run.commit[:12], 'imported')}.json"
        found[path] = json_text(to_json(run)).encode()
    write_files(found)
    return list(found)


def to_json(run: StoredRun) -> dict[str, Any]:
    """Return what pytest-benchmark would have written of benchmarks that are not paired."""
    return {
        "machine_info": {"node": run.machine, "python_version": run.python},
        "commit_info": {"id": run.commit, "branch": run.branch, "dirty": run.dirty},
        "benchmarks": [_benchmark(entry) for entry in run.entries],
        "datetime": None if run.when is None else run.when.isoformat(),
        "version": "imported by hettest",
    }


def _benchmark(entry: Entry) -> dict[str, Any]:
    return {
        "group": None,
        "name": entry.name.rpartition("::")[2],
        "fullname": entry.name,
        "params": None,
        "param": None,
        "extra_info": {
            "imported": {"unit": entry.unit, "bigger_is_better": entry.bigger_is_better}
        },
        "options": {},
        "stats": _stats(entry),
    }


def _stats(entry: Entry) -> dict[str, Any]:
    """Return the numbers of which pytest-benchmark makes its tables."""
    numbers = entry.seconds or (entry.median,)
    first, _, third = (
        quantiles(numbers, n=4, method="inclusive") if len(numbers) > 1 else numbers * 3
    )
    spread = 1.5 * (third - first)
    inside = [n for n in numbers if first - spread <= n <= third + spread]
    far = [n for n in numbers if abs(n - fmean(numbers)) > entry.stddev]
    outside = len(numbers) - len(inside)
    return {
        "min": min(numbers),
        "max": max(numbers),
        "mean": fmean(numbers),
        "stddev": entry.stddev,
        "rounds": max(entry.rounds, 1),
        "median": entry.median,
        "iqr": third - first,
        "q1": first,
        "q3": third,
        "iqr_outliers": outside,
        "stddev_outliers": len(far),
        "outliers": f"{len(far)};{outside}",
        "ld15iqr": min(inside),
        "hd15iqr": max(inside),
        "ops": 1 / fmean(numbers) if fmean(numbers) else 0.0,
        "total": sum(numbers),
        "iterations": 1,
        "data": list(entry.seconds),
    }
