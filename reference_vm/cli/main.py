"""The command line: one line for each command.

Exit codes: 0; 1 if the program is at fault; 2 for wrong usage.
"""

from __future__ import annotations

import errno
import sys
from io import TextIOWrapper
from typing import Final

import typer

from reference_vm.cli.commands import compile_, disassemble, explain, opt
from reference_vm.cli.commands import run as run_command
from reference_vm.diagnostics import DiagnosticError

_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_COMMANDS = (opt, compile_, run_command, disassemble, explain)


def application() -> typer.Typer:
    """Return the application with all its commands."""
    app = typer.Typer(
        help="Compile and run placed tensor programs.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(lambda: None)
    for command in _COMMANDS:
        app.command(command.NAME, help=command.HELP)(command.run)
    return app


def main() -> None:
    """Run the command that the arguments name; ends the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a name may have characters that a terminal lacks
            stream.reconfigure(errors="backslashreplace")
    try:
        application()()
    except DiagnosticError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        if error.errno not in _NO_ROOM or error.filename is not None:
            raise
        print(f"the output cannot be written: {error.strerror}; make room there", file=sys.stderr)
        sys.exit(2)


__all__ = ["application", "main"]
