"""``hettest case check``: is every case file well formed, and are its numbers right?"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from hettest.case.lint import problems_in
from hettest.corpus import case_files, corpus_root
from hettest.errors import UsageError

NAME = "check"
HELP = "Check the form of case files, and recompute their exact numbers, without running any."


def run(
    root: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="the folder of cases [default: our own]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print problems as JSON")] = False,
) -> None:
    folder = corpus_root() if root is None else root
    if not folder.is_dir():
        raise UsageError(f"found no folder {folder}")
    files = case_files(folder)
    if not files:
        raise UsageError(f"found no case files under {folder}")
    problems = list(problems_in(files, folder))
    if as_json:
        typer.echo(json.dumps([dataclasses.asdict(p) for p in problems], indent=1))
    else:
        for problem in problems:
            typer.echo(str(problem))
        typer.echo(f"case files: {len(files)}, problems: {len(problems)}")
    raise typer.Exit(1 if problems else 0)
