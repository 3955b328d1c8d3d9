"""``hettest run``: run conformance items on a backend, without pytest."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from hettest.case.expansion import Item
from hettest.cli.selection import DEVICES, DIR, LEVEL, MAP, PATTERNS, selected
from hettest.devicemap import parse_binding, parse_devices
from hettest.errors import BackendCrash, UsageError
from hettest.options import DEFAULT_BACKEND, POLICIES, HetOptions, require_ending, require_writable
from hettest.outcome import Outcome, Record
from hettest.report import json_report, text, write
from hettest.runner import run_item, unjudged
from hettest.session import KitSession

NAME = "run"
HELP = "Run conformance items on a backend. Exit code: 0, 1 failed, 2 usage, 6 something not run."


def run(
    patterns: PATTERNS = None,
    devices: DEVICES = "cpu,sim",
    backend: Annotated[str, typer.Option("--backend", help="the implementation under test")] = (
        DEFAULT_BACKEND
    ),
    device_map: MAP = None,
    level: LEVEL = None,
    policy: Annotated[
        str, typer.Option("--policy", help="for missing devices: incomplete, fail or skip")
    ] = "incomplete",
    report: Annotated[
        list[Path] | None, typer.Option("--report", help="write a report: .json, .md or .xml")
    ] = None,
    cases: DIR = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the report as JSON")] = False,
) -> None:
    options = _options(devices, backend, device_map, level, policy, report or ())
    selection = selected(options.devices, patterns, device_map, level, cases)
    session = KitSession(options, cases=cases)
    session.check_backend()
    session.offer(selection, whole=not patterns and cases is None)
    for item in _with_progress(selection.items):
        session.ledger.add(_ended(item, session))
    session.close()
    session.release()
    content = session.content()
    if as_json:
        typer.echo(json_report.render(content), nl=False)
    else:
        _print(content.records)
        for line in text.lines(content):
            typer.echo(line)
    if session.crash is not None:
        typer.echo(f"crashed: {session.crash}", err=True)
    for path in options.reports:
        write(path, content)
    raise typer.Exit(session.exit_code())


def _options(
    devices: str,
    backend: str,
    device_map: str | None,
    level: int | None,
    policy: str,
    reports: Sequence[Path],
) -> HetOptions:
    if policy not in POLICIES:
        raise UsageError(f"--policy is {policy}, expected one of {', '.join(POLICIES)}")
    for path in reports:
        require_ending(path, f"--report={path}")
        require_writable(path)
    binding = None if device_map is None else parse_binding(device_map)
    return HetOptions(
        parse_devices(devices), binding, backend, policy, level, tuple(reports), False
    )


def _ended(item: Item, session: KitSession) -> Record:
    try:
        missing = session.missing(item.devices)
    except BackendCrash as crash:
        return unjudged(item, Outcome.CRASHED, str(crash))
    if missing is not None:
        return session.missing_record(unjudged(item, Outcome.NOT_RUN, ""), missing)
    return run_item(item, session.environment)


def _with_progress(items: tuple[Item, ...]) -> Iterator[Item]:
    """Yield the items, with a bar on the terminal if there is one."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(items, "running", console=Console(stderr=True), transient=True)


def _print(records: Iterable[Record]) -> None:
    for record in records:
        if record.outcome in (Outcome.FAILED, Outcome.CRASHED):
            typer.echo(record.text or f"{record.id}: {record.reason}")
            typer.echo()
