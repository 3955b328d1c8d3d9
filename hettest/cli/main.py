"""The command line: one line for each command.

Exit codes: 0; 1 if something failed; 2 for wrong usage and malformed cases; 6 if something was not
run.
"""

from __future__ import annotations

import sys

import typer

from hettest.cli.commands import case_check, doctor, list_items, report, run
from hettest.errors import BackendCrash, CaseError, UsageError


def application() -> typer.Typer:
    """Return the application with all its commands."""
    app = typer.Typer(
        help="Test tensor compilers and runtimes on several devices.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    for command in (doctor, list_items, run, report):
        app.command(command.NAME, help=command.HELP)(command.run)
    cases = typer.Typer(help="Work on case files.", no_args_is_help=True)
    cases.command(case_check.NAME, help=case_check.HELP)(case_check.run)
    app.add_typer(cases, name="case")
    return app


def main() -> None:
    """Run the command that the arguments name; ends the process with its exit code."""
    try:
        application()()
    except UsageError as error:
        print(f"hettest: {error}", file=sys.stderr)
        sys.exit(2)
    except CaseError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except BackendCrash as crash:
        print(f"hettest: crashed: {crash}", file=sys.stderr)
        sys.exit(1)
