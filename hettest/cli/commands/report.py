"""``hettest report``: read a JSON report, print it, or write it in another form."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hettest.errors import UsageError
from hettest.outcome import Outcome
from hettest.report import json_report, text, write

NAME = "report"
HELP = "Print a JSON report, or write it as JUnit. Exit code as that of the run."


def run(
    path: Annotated[Path, typer.Argument(metavar="REPORT.json", help="a report of a run")],
    junit: Annotated[Path | None, typer.Option("--junit", help="write JUnit to this file")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the report as JSON")] = False,
) -> None:
    try:
        content = json_report.read(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error}") from error
    except ValueError as error:
        told = "hettest report reads JSON reports, as --report=NAME.json writes them"
        raise UsageError(f"{path}: {error}; {told}") from error
    except RecursionError as error:
        raise UsageError(f"{path}: is nested too deeply to be a report") from error
    if junit is not None:
        write(junit.with_suffix(".xml"), content)
    if as_json:
        typer.echo(json_report.render(content), nl=False)
    else:
        for line in text.lines(content):
            typer.echo(line)
    counts = content.counts
    failed = counts[Outcome.FAILED] or counts[Outcome.CRASHED]
    raise typer.Exit(1 if failed else 6 if counts[Outcome.NOT_RUN] else 0)
