"""``hettest waive add``: write down one known fault of a backend."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from hettest.cli.output import echo
from hettest.cli.selection import DIR
from hettest.corpus import case_ids, corpus_root
from hettest.errors import UsageError
from hettest.waivers.model import KINDS, STAGES, Waiver
from hettest.waivers.writing import add

NAME = "add"
HELP = "Add a waiver to a file; the rest of it stays as it is."


def run(
    case: Annotated[
        str, typer.Option("--case", help="an id of items or cases; * and ? match any characters")
    ],
    stage: Annotated[str, typer.Option("--stage", help=f"what fails: {', '.join(STAGES)}")],
    kind: Annotated[str, typer.Option("--kind", help=" or ".join(KINDS))],
    reason: Annotated[str, typer.Option("--reason", help="what the backend does wrong")],
    owner: Annotated[str, typer.Option("--owner", help="who looks after it")],
    expires: Annotated[str, typer.Option("--expires", help="its last day: 2027-03-01")],
    issue: Annotated[str, typer.Option("--issue", help="owner/repository#1, or a link")] = "",
    devices: Annotated[
        str, typer.Option("--devices", help="only items bound so: accel=cuda:*")
    ] = "",
    file: Annotated[Path, typer.Option("--file", help="the waiver file")] = Path("waivers.toml"),
    cases: DIR = None,
) -> None:
    waiver = Waiver(case, stage, kind, reason, owner, _date(expires), issue, devices)
    known = case_ids(corpus_root() if cases is None else cases)
    if not any(map(waiver.names, known)):
        raise UsageError(f"--case={case}: no case has such an id; hettest list shows them")
    add(waiver, file)
    echo(f"{file}: waives {stage} of {case} until {waiver.expires}")


def _date(text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError as error:
        message = f"--expires={text}: expected a date such as 2027-03-01"
        raise UsageError(message) from error
    if day < date.today():
        raise UsageError(f"--expires={text}: that day is past")
    return day
