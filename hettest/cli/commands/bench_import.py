"""``hettest bench import``: files of other tools that follow benchmarks, as stored runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hettest.bench.exchange import action, asv
from hettest.bench.exchange.writing import require_free, write
from hettest.cli.commands.bench_export import FORM, Form
from hettest.cli.output import echo, echo_json
from hettest.report.counting import counted

NAME = "import"
HELP = "Write results of asv, or files of github-action-benchmark, as stored runs."


def run(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help=".asv/results, data.js, or an array in JSON")
    ],
    form: FORM,
    out: Annotated[Path, typer.Option("--out", help="the folder to write; empty or not there")],
    bigger: Annotated[
        bool, typer.Option("--bigger-is-better", help="in an array, which does not say so")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print what was written as JSON")] = False,
) -> None:
    require_free(out)
    runs = asv.read(path) if form is Form.ASV else action.read(path, bigger=bigger)
    written = write(out, runs)
    count = sum(len(run.entries) for run in runs)
    if as_json:
        echo_json({"files": [str(file) for file in written], "values": count}, indent=None)
    else:
        echo(f"{out}: {counted(len(written), 'run')}, {counted(count, 'value')}")
