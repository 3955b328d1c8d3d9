"""Finds the stored runs that a name means.

====================  =============================================================
``bench.json``        that file
``.benchmarks``       the last run in the folder, or in one folder of it per machine
``7``, ``0007``       the run that pytest-benchmark numbered so, in ``.benchmarks``
====================  =============================================================
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from hettest.bench.stored import StoredRun, read
from hettest.errors import UsageError

FOLDER: Final = Path(".benchmarks")
"""Where pytest-benchmark stores runs, unless it is told otherwise."""


def find(name: str, folder: Path = FOLDER) -> Path:
    """Return the file of the one run that ``name`` means.

    Raises:
        UsageError: It means none, or several.
    """
    path = Path(name)
    if path.is_dir():
        found = files(path)
        if not found:
            raise UsageError(f"{path}: holds no stored run; pytest --benchmark-save=NAME makes one")
        return found[-1]
    if path.exists() or not name.isdecimal():
        return path
    numbered = [file for file in files(folder) if _number(file) == int(name)]
    if len(numbered) != 1:
        listed = ", ".join(map(str, numbered)) or "none"
        raise UsageError(f"{name}: found {listed} in {folder}, expected one run of that number")
    return numbered[0]


def files(folder: Path) -> list[Path]:
    """Return the stored runs in a folder and in those within it, the last one last.

    They are sorted as pytest-benchmark does, by their names, which begin with their numbers.
    """
    found = [*folder.glob("*.json"), *folder.glob("*/*.json")]
    return sorted(found, key=lambda file: (file.name, file.parent))


def history(paths: Iterable[Path]) -> tuple[StoredRun, ...]:
    """Return all runs in files and folders, from the first to the last.

    Raises:
        StoredError: A file is malformed, or not there; with line and key of each problem.
    """
    found = [file for path in paths for file in (files(path) if path.is_dir() else [path])]
    runs = [read(file) for file in dict.fromkeys(found)]
    return tuple(sorted(runs, key=lambda run: (_when(run), run.path.name)))


def _when(run: StoredRun) -> datetime:
    """Return when a run was made; one that does not say was the first, and told in UTC."""
    if run.when is None:
        return datetime.min.replace(tzinfo=UTC)
    return run.when if run.when.tzinfo else run.when.replace(tzinfo=UTC)


def _number(file: Path) -> int | None:
    number = file.name.partition("_")[0]
    return int(number) if number.isdecimal() else None
