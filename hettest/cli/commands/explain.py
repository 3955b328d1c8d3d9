"""``hettest explain``: what a clause, an error's code or a page of the reference says."""

from __future__ import annotations

from typing import Annotated

import typer

from hettest.cli.output import echo
from hettest.manual import explain

NAME = "explain"
HELP = "Print what defines a clause, such as copies.operands, an error's code, or a page."


def run(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="a clause, a code, a page such as planning, or PAGE#HEADING"
        ),
    ],
) -> None:
    echo(explain(name).rstrip())
