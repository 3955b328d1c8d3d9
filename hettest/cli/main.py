"""The command line: one line for each command.

Exit codes: 0; 1 if something failed; 2 for wrong usage and malformed cases; 6 if something was not
run.
"""

from __future__ import annotations

import errno
import sys
from typing import Final

import typer

from hettest.backend.exact import cut
from hettest.bench.located import StoredError
from hettest.cli.commands import (
    backend_check,
    backend_new,
    bench_compare,
    bench_export,
    bench_gate,
    bench_import,
    bench_trend,
    case_check,
    conformance_diff,
    conformance_pack,
    conformance_run,
    conformance_verify,
    doctor,
    explain,
    export,
    list_items,
    probe,
    report,
    run,
    waive_add,
    waive_audit,
)
from hettest.cli.output import discard, echo, flush
from hettest.errors import BackendCrash, CaseError, UsageError
from hettest.files.reading import DocumentError
from hettest.termination import SignalHandlers, name_of

_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_OF_NAMES: Final = (errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES, errno.EPERM)
"""What is wrong with a name on the command line, or with the rights of whoever called."""


def application() -> typer.Typer:
    """Return the application with all its commands."""
    app = typer.Typer(
        help="Test tensor compilers and runtimes on several devices.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    for command in (doctor, explain, list_items, run, report, probe, export):
        app.command(command.NAME, help=command.HELP)(command.run)
    backends = typer.Typer(help="Work on backends of one's own.", no_args_is_help=True)
    backends.command(backend_check.NAME, help=backend_check.HELP)(backend_check.run)
    backends.command(backend_new.NAME, help=backend_new.HELP)(backend_new.run)
    app.add_typer(backends, name="backend")
    reports = typer.Typer(help="Reports that others can verify.", no_args_is_help=True)
    for command in (conformance_run, conformance_verify, conformance_diff, conformance_pack):
        reports.command(command.NAME, help=command.HELP)(command.run)
    app.add_typer(reports, name="conformance")
    cases = typer.Typer(help="Work on case files.", no_args_is_help=True)
    cases.command(case_check.NAME, help=case_check.HELP)(case_check.run)
    app.add_typer(cases, name="case")
    benches = typer.Typer(help="Benchmarks over time.", no_args_is_help=True)
    for command in (bench_compare, bench_gate, bench_trend, bench_export, bench_import):
        benches.command(command.NAME, help=command.HELP)(command.run)
    app.add_typer(benches, name="bench")
    waivers = typer.Typer(help="Work on the known faults of a backend.", no_args_is_help=True)
    for command in (waive_add, waive_audit):
        waivers.command(command.NAME, help=command.HELP)(command.run)
    app.add_typer(waivers, name="waive")
    return app


def main() -> None:
    """Run the command that the arguments name; ends the process with its exit code.

    A signal ends it as an interrupt does, with 128 and the signal's number.
    """
    handlers = SignalHandlers()
    handlers.install()
    try:
        _run()
    finally:
        handlers.restore()
        if handlers.received is not None:
            print(f"hettest: ended by {name_of(handlers.received)}", file=sys.stderr)
            sys.exit(128 + handlers.received)


def _run() -> None:
    try:
        try:
            application()()
        finally:
            flush()
    except UsageError as error:
        echo(f"hettest: {error}", err=True)
        sys.exit(2)
    except (CaseError, DocumentError, StoredError) as error:
        echo(error, err=True)
        sys.exit(2)
    except BackendCrash as crash:
        echo(f"hettest: crashed: {crash}", err=True)
        sys.exit(1)
    except OSError as error:
        if error.filename is None and error.errno in _NO_ROOM:
            discard()
            echo(f"hettest: the output cannot be written: {error.strerror}", err=True)
            sys.exit(2)
        if error.filename is None or error.errno not in _OF_NAMES:
            raise
        name = cut(str(error.filename), 100)
        echo(f"hettest: {name}: {error.strerror}; name one that is there and may be read", err=True)
        sys.exit(2)
