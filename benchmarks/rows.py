"""How benchmark scripts ended: each run as a process of its own, and a table of what they found."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from rich.table import Table

from benchmarks.figures import FILE, Figure, noted
from hettest.ledger import INCOMPLETE


@final
@dataclass(frozen=True)
class Row:
    """How one script ended."""

    name: str
    figures: tuple[Figure, ...]
    seconds: float
    problem: str = ""
    """Why there are no figures, or not all."""

    ran: bool = True
    """Whether it came to its end."""

    @property
    def kept(self) -> bool:
        """Whether nothing went wrong in what was run of it."""
        return all(f.kept for f in self.figures) and not (self.ran and self.problem)


def run(name: str, arguments: Sequence[str], left: float) -> Row:
    """Run one script, for at most ``left`` seconds, and return what it found."""
    if left <= 0:
        return Row(name, (), 0.0, "not run: no time left", ran=False)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "figures.jsonl")
        command = [sys.executable, "-m", f"benchmarks.{name}", *arguments]
        try:
            done = subprocess.run(
                command, env={**os.environ, FILE: str(file)}, timeout=left, check=False
            )
        except subprocess.TimeoutExpired:
            problem, ended = "not finished: no time left", False
        else:
            problem, ended = _problem(done.returncode, tuple(noted(file))), True
        return Row(name, tuple(noted(file)), time.perf_counter() - start, problem, ended)


def _problem(code: int, figures: Sequence[Figure]) -> str:
    """Return what went wrong beside a limit that was missed, which its figure says."""
    if not figures:
        return f"exit code {code}, no figures"
    missed = not all(figure.kept for figure in figures)
    return "" if code == 0 or missed else f"exit code {code}"


def table(rows: Sequence[Row], title: str = "Benchmarks") -> Table:
    """Return one line for each figure."""
    found = Table("script", "figure", "seen", "limit", "", title=title)
    for row in rows:
        named = f"{row.name} ({row.seconds:.0f} s)"
        for figure in row.figures:
            word = ("kept" if figure.kept else "MISSED") if figure.limit else ""
            found.add_row(named, figure.what, figure.shown, figure.limit, word)
            named = ""
        if row.problem:
            found.add_row(named, row.problem, "", "", "FAILED" if row.ran else "not run")
        found.add_section()
    return found


def exit_code(rows: Sequence[Row]) -> int:
    """Return 1 if a script failed or missed a limit, else 6 if one was not run, else 0."""
    if not all(row.kept for row in rows):
        return 1
    return 0 if all(row.ran for row in rows) else INCOMPLETE
