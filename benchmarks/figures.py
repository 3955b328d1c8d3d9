"""The figures of the benchmarks: each is printed, held to its limit, and kept for the table.

A script calls `figure` for what it measured. Run by ``python -m benchmarks``, which names a file in
the environment, the figure is also a line of JSON there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, final

FILE: Final = "BENCHMARK_FIGURES"
"""The variable of the environment that names the file."""


@final
@dataclass(frozen=True)
class Figure:
    """One measured value, with its unit as it is printed: `` s``, `` times``, ``/s``."""

    what: str
    value: float
    unit: str = ""
    most: float | None = None
    least: float | None = None

    @property
    def limit(self) -> str:
        """``at most 3 s``; empty without one."""
        if self.most is not None:
            return f"at most {self.most:g}{self.unit}"
        return "" if self.least is None else f"at least {self.least:g}{self.unit}"

    @property
    def kept(self) -> bool:
        above = self.most is not None and not self.value <= self.most
        return not (above or (self.least is not None and not self.value >= self.least))

    @property
    def shown(self) -> str:
        """The value with its unit."""
        number = f"{self.value:,.0f}" if abs(self.value) >= 1000 else f"{self.value:.4g}"
        return f"{number}{self.unit}"

    def __str__(self) -> str:
        if not self.limit:
            return f"{self.what}: {self.shown}"
        return f"{self.what}: {self.shown}, {self.limit}: {'kept' if self.kept else 'MISSED'}"


def figure(
    what: str,
    value: float,
    unit: str = "",
    *,
    most: float | None = None,
    least: float | None = None,
) -> bool:
    """Print a measured value beside its limit, note it, and return whether it keeps to it."""
    found = Figure(what, float(value), unit, most, least)
    print(found, flush=True)
    if FILE in os.environ:
        with Path(os.environ[FILE]).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(found)) + "\n")
    return found.kept


def noted(path: Path) -> Iterator[Figure]:
    """Yield the figures that were noted in a file; none if there is no file."""
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        yield Figure(**json.loads(line))
