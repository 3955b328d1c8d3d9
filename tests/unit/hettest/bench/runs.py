"""Stored runs made for tests: benchmarks whose seconds are drawn by a seed."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from hettest.bench.measurement import CompileSeconds, Costs, Paired, Timings
from hettest.bench.statistics import assess
from hettest.bench.stored import Entry, StoredRun

START = datetime(2027, 3, 1, 12, tzinfo=UTC)


def seconds(middle: float, seed: int, rounds: int = 60, spread: float = 0.02) -> tuple[float, ...]:
    """Return seconds around ``middle``."""
    drawn = middle * np.exp(np.random.default_rng(seed).normal(0, spread, rounds))
    return tuple(float(second) for second in drawn)


def paired(
    name: str,
    ratio: float,
    *,
    cpu_only: float = 1e-3,
    seed: int = 0,
    costs: Costs | None = None,
    spread: float = 0.02,
) -> Entry:
    """Return a paired benchmark, placed ``ratio`` times as slow as CPU-only."""
    alone = seconds(cpu_only, seed)
    noise = seconds(ratio, seed + 1000, spread=spread)
    placed = tuple(second * factor for second, factor in zip(alone, noise, strict=True))
    found = Paired(
        backend="mine",
        devices={"host": "cpu:0", "accel": "npu:0"},
        compile_seconds=CompileSeconds(0.3, 0.1, 0.2),
        costs=costs or Costs(3, 48, 0.25, {"npu:0": 64}, None),
        timings=Timings(alone, placed, assess(alone, placed), 16, True),
    )
    return Entry(name, median(placed), 0.1, len(placed), placed, found)


def untimed(name: str) -> Entry:
    """Return a paired benchmark that was not timed."""
    found = Paired("mine", {}, CompileSeconds(0, 0, 0), Costs(), not_timed="it was switched off")
    return Entry(name, 1.0, 0.0, 1, (), found)


def plain(name: str, middle: float = 1e-3, *, seed: int = 0, kept: bool = True) -> Entry:
    """Return a benchmark of pytest-benchmark's own; ``kept`` says whether its rounds are."""
    found = seconds(middle, seed)
    return Entry(name, median(found), 0.1, len(found), found if kept else ())


def run(*entries: Entry, number: int = 0, machine: str = "here, Acme 1") -> StoredRun:
    """Return the run of that number; one a day."""
    return StoredRun(
        path=Path(f"{number:04}_run.json"),
        entries=entries,
        commit=f"{number:x}".rjust(7, "c") + "0" * 33,
        branch="main",
        when=START + timedelta(days=number),
        machine=machine,
    )


def to_json(found: StoredRun) -> dict[str, Any]:
    """Return what pytest-benchmark would have written."""
    node, _, brand = found.machine.partition(", ")
    return {
        "machine_info": {"node": node, "cpu": {"brand_raw": brand}},
        "commit_info": {"id": found.commit, "branch": found.branch},
        "datetime": None if found.when is None else found.when.isoformat(),
        "benchmarks": [
            {
                "fullname": entry.name,
                "extra_info": {"hettest": entry.paired.to_json()} if entry.paired else {},
                "stats": {
                    "median": entry.median,
                    "stddev": entry.stddev,
                    "rounds": entry.rounds,
                    "data": list(entry.seconds),
                },
            }
            for entry in found.entries
        ],
    }


def write(folder: Path, found: StoredRun) -> Path:
    """Write the run to a file of its own name, and return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / found.path.name
    path.write_text(json.dumps(to_json(found), indent=1))
    return path
