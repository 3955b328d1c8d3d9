"""Every target of speed and memory beside its peer, measured in one go, as one table.

    python -m benchmarks.peers                      # all
    python -m benchmarks.peers minilm model_speed   # some
    python -m benchmarks.peers --write              # all, and write docs/reference/speed.md

Each line is a script of its own that lets the project and its peer take turns. Run it where the
peers are installed: ``pip install -e '.[all,jax,tvm]'``. The exit code is 1 if a limit is missed or
a script fails, else 6 if one was not run.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Final

from rich.console import Console

from benchmarks.figures import Figure
from benchmarks.rows import Row, exit_code, run, table

PAGE: Final = Path(__file__).parents[1] / "docs" / "reference" / "speed.md"

SCRIPTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "chain_beside_tvm": ("apache-tvm",),
        "chain_speed": ("apache-tvm",),
        "fused_elementwise": ("jax",),
        "minilm": ("onnxruntime",),
        "model_speed": ("onnxruntime",),
        "peak_memory": ("onnxruntime",),
    }
)
"""The scripts, with the packages that each needs."""

_VERSIONS: Final = ("numpy", "llvmlite", "onnxruntime", "apache-tvm", "jax")

_MOST: Final = 1800.0
"""Seconds for one script."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and perhaps write the table; return the exit code."""
    options = _parser().parse_args(arguments)
    unknown = [name for name in options.name if name not in SCRIPTS]
    if unknown:
        print(f"found no script {', '.join(unknown)}; there are {', '.join(SCRIPTS)}")
        return 2
    if options.write and options.name:
        print("found --write with names of scripts; the page shows all of them, measured in one go")
        return 2
    rows = list(measured(options.name or tuple(SCRIPTS)))
    width = None if sys.stdout.isatty() else 120
    Console(width=width).print(table(rows, "Beside the peers"))
    if options.write:
        PAGE.write_text(page(rows), encoding="utf-8")
    return exit_code(rows)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers")
    parser.add_argument("name", nargs="*", help="only these scripts")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    return parser


def measured(names: Sequence[str]) -> Iterator[Row]:
    """Run the scripts in turn, and yield how each ended."""
    for name in names:
        missing = [package for package in SCRIPTS[name] if not _installed(package)]
        if missing:
            yield Row(name, (), 0.0, f"not run: {missing[0]} is not installed", ran=False)
            continue
        print(f"== {name}", flush=True)
        yield run(name, (), _MOST)


def page(rows: Sequence[Row], today: datetime.date | None = None) -> str:
    """Return the page of the documentation: the table, the machine, the versions and the date."""
    date = today or datetime.datetime.now(tz=datetime.UTC).date()
    lines = [
        "# Speed and memory beside peers",
        "",
        "Written by `python -m benchmarks.peers --write`. Contenders take turns in one run; a",
        "ratio is the median over the rounds of the ratios within each.",
        "",
        f"Measured on {date:%-d %B %Y}, on {_machine()}, with {_versions()}.",
        "",
        "| script | figure | seen | limit | |",
        "|---|---|---|---|---|",
        *(line for row in rows for line in _lines(row)),
    ]
    return "\n".join(lines) + "\n"


def _lines(row: Row) -> Iterator[str]:
    name = f"`{row.name}`"
    for figure in row.figures:
        yield f"| {name} | {figure.what} | {figure.shown} | {figure.limit} | {_word(figure)} |"
        name = ""
    if row.problem:
        yield f"| {name} | {row.problem} | | | {'failed' if row.ran else 'not run'} |"


def _word(figure: Figure) -> str:
    if not figure.limit:
        return ""
    return "kept" if figure.kept else "**missed**"


def _machine() -> str:
    """Return what the processor calls itself, and how many of them there are."""
    cpus = Path("/proc/cpuinfo")
    told = cpus.read_text(encoding="utf-8").splitlines() if cpus.exists() else []
    names = [line.partition(":")[2].strip() for line in told if line.startswith("model name")]
    processor = names[0] if names else platform.processor() or platform.machine()
    return f"{os.cpu_count()} cores of {processor}"


def _versions() -> str:
    found = [f"{package} {version(package)}" for package in _VERSIONS if _installed(package)]
    return ", ".join([f"Python {platform.python_version()}", *found])


def _installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
