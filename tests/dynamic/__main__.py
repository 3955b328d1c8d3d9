"""Run random dynamic programs, each in every way: ``python -m tests.dynamic --count=1000``."""

from __future__ import annotations

import traceback
from typing import Annotated, Final

import typer

from tests.dynamic.generating import generate
from tests.dynamic.program import Program
from tests.dynamic.running import failure, problems

_FRAMES: Final = 4
"""Lines of a traceback that are shown."""


def main(
    count: Annotated[int, typer.Option(help="How many programs.")] = 1000,
    first: Annotated[int, typer.Option(help="The seed of the first; the next has one more.")] = 0,
    show: Annotated[int, typer.Option(help="How many failures to print whole.")] = 3,
    text: Annotated[bool, typer.Option(help="Print the programs and do not run them.")] = False,
) -> None:
    """Compile and run random dynamic programs; exit with 1 if one of them fails."""
    failed: list[int] = []
    for seed in range(first, first + count):
        program = generate(seed)
        if text:
            typer.echo(failure(program, ()))
            continue
        found = wrong(program)
        if found:
            failed.append(seed)
            if len(failed) <= show:
                typer.echo(failure(program, found))
    if not text:
        typer.echo(f"{count - len(failed)} of {count} programs hold; failed: {failed or 'none'}")
    raise typer.Exit(code=bool(failed))


def wrong(program: Program) -> list[str]:
    """Return what is wrong with a program, an exception that should not be included."""
    try:
        return list(problems(program))
    except Exception as error:
        last = traceback.format_exception(error)[-_FRAMES:]
        return [f"{type(error).__name__}: {error}", *last]


if __name__ == "__main__":
    typer.run(main)
