"""``hettest bench export``: stored runs as files of other tools that follow benchmarks."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hettest.bench.exchange import action, asv
from hettest.bench.exchange.action import Shown
from hettest.bench.exchange.writing import require_free
from hettest.bench.storage import history
from hettest.cli.output import echo, echo_json
from hettest.errors import UsageError
from hettest.files import json_text, require_writable, write_text

NAME = "export"
HELP = "Write stored runs as results of asv, or as files of github-action-benchmark."


class Form(StrEnum):
    """The tools whose files are written and read."""

    ASV = "asv"
    ACTION = "github-action-benchmark"


FORM = Annotated[Form, typer.Option("--format", help="whose files")]


def run(
    paths: Annotated[list[Path], typer.Argument(metavar="FILE|FOLDER...", help="stored runs")],
    form: FORM,
    out: Annotated[
        Path,
        typer.Option("--out", help="a folder for asv; FILE.json for one run, data.js for all"),
    ],
    shown: Annotated[
        Shown,
        typer.Option("--values", help="of paired benchmarks, for github-action-benchmark"),
    ] = Shown.SECONDS,
    as_json: Annotated[bool, typer.Option("--json", help="print what was written as JSON")] = False,
) -> None:
    runs = history(paths)
    if form is Form.ASV:
        require_free(out)
        asv.write(out, runs)
        _print(out, len(runs), "asv", as_json)
        return
    require_writable(out)
    if out.suffix == ".js":
        text = action.script(runs, shown)
    elif len(runs) != 1:
        raise UsageError(f"--out={out}: holds one run, found {len(runs)}; data.js holds them all")
    else:
        text = json_text(action.array(runs[0], shown), indent=2)
    write_text(out, text)
    _print(out, len(runs), shown.tool, as_json)


def _print(out: Path, runs: int, tool: str, as_json: bool) -> None:
    if as_json:
        echo_json({"out": str(out), "runs": runs, "tool": tool}, indent=None)
    else:
        echo(f"{out}: {runs} runs, tool: {tool}")
