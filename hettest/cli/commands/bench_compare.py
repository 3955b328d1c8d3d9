"""``hettest bench compare``: what became of each benchmark from one stored run to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hettest.bench import storage
from hettest.bench.comparison import Comparison, compare
from hettest.bench.needs import require
from hettest.bench.statistics import BAND, Verdict
from hettest.bench.stored import read
from hettest.cli import bench_tables
from hettest.cli.output import echo, echo_json
from hettest.report.counting import counted

NAME = "compare"
HELP = (
    "Compare two stored runs. Exit code: 0, 1 if something is slower, 2 usage, "
    "6 if a benchmark is missing, or nothing can be said of any."
)
STORAGE = Annotated[
    Path, typer.Option("--storage", metavar="FOLDER", help="where pytest-benchmark stores runs")
]
ACROSS = Annotated[
    bool,
    typer.Option("--across-machines", help="compare seconds of different machines too"),
]
MAY_BE_MISSING = Annotated[
    list[str] | None,
    typer.Option("--may-be-missing", metavar="PATTERN", help="need not run; repeatable"),
]


def run(
    then: Annotated[str, typer.Argument(metavar="THEN", help="a file, folder, or run's number")],
    now: Annotated[str, typer.Argument(metavar="NOW", help="a file, folder, or run's number")],
    folder: STORAGE = storage.FOLDER,
    band: Annotated[
        float, typer.Option("--band", min=0.0, help="which part slower or faster is the same")
    ] = BAND,
    may_be_missing: MAY_BE_MISSING = None,
    across_machines: ACROSS = False,
    as_json: Annotated[bool, typer.Option("--json", help="print as JSON")] = False,
) -> None:
    require("hettest bench compare", "scipy")
    runs = [read(storage.find(name, folder)) for name in (then, now)]
    found = compare(*runs, bands=lambda name: band, across_machines=across_machines)
    found = found.without_missing(may_be_missing or ())
    if as_json:
        echo_json(bench_tables.comparison_json(found))
    else:
        for word, read_run in zip(("then", "now"), runs, strict=True):
            echo(f"{word}: {read_run}")
        _print(found)
    raise typer.Exit(exit_code(found))


def exit_code(found: Comparison) -> int:
    """Return 1 if anything is slower, 6 if one is missing or nothing is known of any, else 0."""
    if found.of(Verdict.SLOWER):
        return 1
    return 0 if found.is_decided and not found.missing else 6


def _print(found: Comparison) -> None:
    if found.rows:
        bench_tables.show(bench_tables.compared(found))
    for name in found.missing:
        echo(f"missing: {name}")
    for name in found.new:
        echo(f"new: {name}")
    counts = [f"{len(found.of(verdict))} {verdict}" for verdict in Verdict]
    counts.append(f"{len(found.of(None))} not compared")
    echo(f"{counted(len(found.rows), 'benchmark')} in both: {', '.join(counts)}")
    if not found.is_decided:
        echo("nothing can be said of any benchmark")
