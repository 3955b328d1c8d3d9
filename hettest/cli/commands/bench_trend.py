"""``hettest bench trend``: how each benchmark went over many stored runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from hettest.bench.needs import require
from hettest.bench.statistics import BAND
from hettest.bench.storage import history
from hettest.bench.trend.change_points import FEWEST
from hettest.bench.trend.history import series
from hettest.bench.trend.page import Trend, render, steps, trends
from hettest.cli import bench_tables
from hettest.cli.output import echo, echo_json
from hettest.errors import UsageError
from hettest.files import cleaned, require_writable, write_text
from hettest.report.counting import counted

NAME = "trend"
HELP = (
    "Find where benchmarks changed for good, over many stored runs. "
    "Exit code: 0, 2 usage, 6 if no benchmark has enough runs."
)


def run(
    paths: Annotated[
        list[Path], typer.Argument(metavar="FILE|FOLDER...", help="stored runs, in any order")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="write a page to this file, .html")
    ] = None,
    band: Annotated[
        float, typer.Option("--band", min=0.0, help="which part slower or faster is the same")
    ] = BAND,
    last: Annotated[
        int, typer.Option("--last", min=1, help="runs to look at, the last ones")
    ] = 200,
    as_json: Annotated[bool, typer.Option("--json", help="print as JSON")] = False,
) -> None:
    require("hettest bench trend", "numpy", "ruptures")
    if out is not None:
        require("--out", "jinja2", extra="report")
        if out.suffix != ".html":
            raise UsageError(f"--out={out}: the name must end in .html")
        require_writable(out)
    runs = history(paths)[-last:]
    found = trends(series(runs), band)
    if out is not None:
        write_text(out, render(cleaned(found), len(runs)))
    if as_json:
        echo_json([_trend_json(trend) for trend in found])
    else:
        _print(found, len(runs))
    raise typer.Exit(6 if all(trend.is_short for trend in found) else 0)


def _print(found: Sequence[Trend], runs: int) -> None:
    changes = [step for trend in found for step in steps(trend)]
    if changes:
        bench_tables.show(bench_tables.changed(changes))
    for trend in found:
        if trend.is_short:
            measured = counted(len(trend.series.points), "run")
            echo(f"{trend.series.title}: {measured}, {FEWEST} are needed to find changes")
    echo(f"runs: {runs}, benchmarks: {len(found)}, changes: {len(changes)}")


def _trend_json(trend: Trend) -> dict[str, Any]:
    return {
        "name": trend.series.name,
        "machine": trend.series.machine,
        "unit": trend.series.unit,
        "values": [point.value for point in trend.series.points],
        "commits": [point.commit for point in trend.series.points],
        "changes": [asdict(change) for change in trend.changes],
        "enough_runs": not trend.is_short,
    }
