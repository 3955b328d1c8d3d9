"""Runs the corpus on an engine, and the minimal programs of its findings."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final, final

from benchmarks.conformance_table.findings import Engine, Finding
from hettest.backend.discovery import load
from hettest.backend.protocol import Backend
from hettest.case.expansion import Item
from hettest.corpus import cases, corpus_root, select
from hettest.outcome import Outcome, Record
from hettest.runner import run_item
from hettest.runner.run import Environment

LEVELS: Final = (2, 3, 4)
"""One operator on one device; explicit placement; planning."""


@final
@dataclass(frozen=True)
class EngineRun:
    """The corpus on one engine."""

    engine: Engine
    versions: dict[str, str]
    records: tuple[Record, ...]
    """Every item of the levels, in the order of the corpus."""


def run(engine: Engine) -> EngineRun:
    """Return how every item of the levels ended on the engine.

    Raises:
        PackageNotFoundError: One of the engine's packages is not installed.
    """
    versions = {package: version(package) for package in engine.packages}
    backend = load(engine.key)
    environment = Environment(backend, engine.key, engine.devices, {})
    try:
        records = tuple(_ended(item, backend, environment) for item in _items(engine))
    finally:
        backend.close()
    return EngineRun(engine, versions, records)


def _items(engine: Engine) -> list[Item]:
    chosen = select(cases(corpus_root()), engine.devices, level=LEVELS[-1])
    return [item for item in chosen.items if item.case.level in LEVELS]


def _ended(item: Item, backend: Backend, environment: Environment) -> Record:
    declared = [device.name for device in backend.devices()]
    lacking = [device for device in item.devices if device not in declared]
    if not lacking:
        return run_item(item, environment)
    reason = f"declares no device but {', '.join(declared)}"
    return Record(item.id, Outcome.UNSUPPORTED, reason, item.case.level)


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
