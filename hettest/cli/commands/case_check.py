"""``hettest case check``: is every case file well formed, and are its numbers right?"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from hettest.case.clauses import listed_for
from hettest.case.lint import problems_in
from hettest.cli.output import echo, echo_json
from hettest.corpus import case_files, corpus_root
from hettest.errors import UsageError

NAME = "check"
HELP = "Check the form of case files, and recompute their exact numbers, without running any."


def run(
    root: Annotated[
        Path | None,
        typer.Argument(metavar="PATH", help="a folder of cases, or one case [default: our own]"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print problems as JSON")] = False,
) -> None:
    files, folder = _files(corpus_root() if root is None else root)
    listed = listed_for(folder, corpus_root())
    problems = list(problems_in(files, folder, listed))
    if as_json:
        echo_json([dataclasses.asdict(p) for p in problems])
    else:
        for problem in problems:
            echo(str(problem))
        echo(f"case files: {len(files)}, problems: {len(problems)}")
    raise typer.Exit(1 if problems else 0)


def _files(path: Path) -> tuple[Sequence[Path], Path]:
    """Return the case files at ``path``, and the folder under which their ids are."""
    if path.is_file():
        return (path.resolve(),), _root_of(path.resolve())
    if not path.is_dir():
        raise UsageError(f"found no file or folder {path}")
    files = case_files(path)
    if not files:
        raise UsageError(f"found no case files under {path}")
    return files, path


def _root_of(path: Path) -> Path:
    """Return the folder of the cases that a single case belongs to: ours, else that of its area."""
    ours = corpus_root().resolve()
    return ours if path.is_relative_to(ours) else path.parent.parent
