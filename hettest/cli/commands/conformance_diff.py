"""``hettest conformance diff``: what changed from one report to another?"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from hettest.cli.commands.conformance_verify import files_of
from hettest.cli.commands.report import parsed, read
from hettest.cli.output import echo, echo_json
from hettest.conformance import manifest
from hettest.report import ReportContent
from hettest.report.changes import changes

NAME = "diff"
HELP = (
    "Say what changed between two reports: levels, outcomes, waivers, versions. Exit code: 0, 1 "
    "if something became worse, 2 usage."
)

_REPORT = typer.Argument(metavar="REPORT", help="a folder, a packed report, or a JSON report")


def run(
    former: Annotated[Path, _REPORT],
    now: Annotated[Path, _REPORT],
    as_json: Annotated[bool, typer.Option("--json", help="print the changes as JSON")] = False,
) -> None:
    found = changes(_content(former), _content(now))
    worse = sum(change.worse for change in found)
    if as_json:
        echo_json([dataclasses.asdict(change) for change in found])
    else:
        for change in found:
            echo(str(change))
        echo(f"changes: {len(found)}, for the worse: {worse}")
    raise typer.Exit(1 if worse else 0)


def _content(path: Path) -> ReportContent:
    if path.suffix == ".json":
        return read(path)
    return parsed(path / manifest.REPORT, files_of(path)[manifest.REPORT])
