"""``hettest backend new``: write the package that a backend begins as."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from hettest.cli.output import echo, echo_json
from hettest.scaffold.package import write

NAME = "new"
HELP = "Write a package for a new backend, which runs at once. Exit code: 0, or 2 for wrong usage."


def run(
    name: Annotated[str, typer.Argument(metavar="NAME", help="of the backend and its package")],
    into: Annotated[
        Path, typer.Option("--into", help="the folder to put the package's own folder in")
    ] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="print the files as JSON")] = False,
) -> None:
    written = write(name, into)
    if as_json:
        echo_json({"files": list(map(str, written))})
        return
    for path in written:
        echo(str(path))
    echo(f"next: cd {os.path.relpath(into / name)} && pytest")
