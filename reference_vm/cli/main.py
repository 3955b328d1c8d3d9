"""The command line: one line for each command.

Exit codes: 0; 1 if the program is at fault; 2 for wrong usage.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
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
        try:
            application()()
        finally:
            _flush()
    except DiagnosticError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        if error.errno not in _NO_ROOM or error.filename is not None:
            raise
        _discard()
        print(f"the output cannot be written: {error.strerror}; make room there", file=sys.stderr)
        sys.exit(2)


def _flush() -> None:
    """Write out what is left of the output; a reader that has seen enough is no fault."""
    if sys.stdout is None or sys.stdout.closed:
        return
    try:
        sys.stdout.flush()
    except (BrokenPipeError, ConnectionResetError):
        _discard()


def _discard() -> None:
    """Drop what is left of the output, which the interpreter would try to write as it ends."""
    with suppress(OSError, ValueError):  # it is no file
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)


__all__ = ["application", "main"]
