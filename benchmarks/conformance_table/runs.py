"""Runs the corpus on an engine, and the minimal programs of its findings."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path
from typing import final

from rich.console import Console
from rich.progress import track

from benchmarks.conformance_table.findings import Engine, Finding
from hettest.backend.discovery import load
from hettest.case.expansion import Item
from hettest.corpus import cases, corpus_root, select
from hettest.outcome import Record
from hettest.runner import run_item
from hettest.runner.run import Environment


@final
@dataclass(frozen=True)
class EngineRun:
    """The corpus on one engine."""

    engine: Engine
    versions: dict[str, str]
    records: tuple[Record, ...]
    """Every item of the engine's devices and cases, in the order of the corpus."""

    cases: frozenset[str]
    """The ids of all cases that there are."""


def run(engine: Engine) -> EngineRun:
    """Return how every item of the corpus ended on the engine.

    Raises:
        PackageNotFoundError: One of the engine's packages is not installed.
    """
    versions = {package: version(package) for package in engine.packages}
    known = tuple(cases(corpus_root()))
    backend = load(engine.backend)
    environment = Environment(backend, engine.backend, engine.devices, {})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the kit's own arithmetic at infinities
            items = [item for item in select(known, engine.devices).items if _is_run(engine, item)]
            watched = track(items, engine.key, console=Console(stderr=True), transient=True)
            records = tuple(run_item(item, environment) for item in watched)
    finally:
        backend.close()
    return EngineRun(engine, versions, records, frozenset(case.id for case in known))


def _is_run(engine: Engine, item: Item) -> bool:
    return any(fnmatchcase(item.case.id, pattern) for pattern in engine.only)


def shown(finding: Finding) -> str:
    """Return what the finding's program prints, and how its process ended unless well."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "program.py")
        path.write_text(finding.program, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(path)], capture_output=True, text=True, check=False, timeout=120
        )
    if done.returncode == 0:
        return done.stdout.strip()
    if done.returncode < 0:
        end = f"(the process was killed by {signal.Signals(-done.returncode).name})"
    else:
        end = done.stderr.strip().splitlines()[-1]
    return f"{done.stdout}{end}".strip()
