"""``hettest run``: run conformance items on a backend, without pytest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from hettest import outputs
from hettest.case.expansion import Item
from hettest.cli.output import echo, echo_document
from hettest.cli.progress import with_progress
from hettest.cli.selection import DEVICES, DIR, LEVEL, MAP, PATTERNS, REQUIRE, selected
from hettest.devicemap import parse_binding, parse_devices
from hettest.files import require_writable
from hettest.ledger import INCOMPLETE
from hettest.limits import PATIENCE
from hettest.options import (
    DEFAULT_BACKEND,
    POLICIES,
    HetOptions,
    limits,
    require_ending,
    require_isolation,
    require_policy,
)
from hettest.outcome import Outcome, Record
from hettest.report import FORMATS, text
from hettest.session import KitSession

NAME = "run"
_BAD = (Outcome.FAILED, Outcome.CRASHED)
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
    ] = POLICIES[0],
    report: Annotated[
        list[Path] | None,
        typer.Option("--report", help="write a report: .json, .md, .html or .xml"),
    ] = None,
    cases: DIR = None,
    isolate: Annotated[
        bool | None,
        typer.Option(
            "--isolate/--no-isolate",
            help=f"run items in a process of their own (default: unless it is {DEFAULT_BACKEND})",
            show_default=False,
        ),
    ] = None,
    timeout: Annotated[
        str | None, typer.Option("--timeout", help="seconds for one isolated item (60)")
    ] = None,
    memory: Annotated[
        str | None, typer.Option("--memory", help="memory of an isolated process, such as 2GiB")
    ] = None,
    batch: Annotated[
        str | None, typer.Option("--batch", help="items of one isolated process (200)")
    ] = None,
    waivers: Annotated[
        Path | None, typer.Option("--waivers", help="the backend's known faults, in TOML")
    ] = None,
    lock: Annotated[
        Path | None, typer.Option("--lock", help="the items to be run, as hettest list prints them")
    ] = None,
    update_lock: Annotated[
        bool, typer.Option("--update-lock", help="write the lock again, by how its items end")
    ] = False,
    require: REQUIRE = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="for random rounding")] = 0,
    device_wait: Annotated[
        float, typer.Option("--device-wait", min=0, help="seconds to wait for a device in use")
    ] = PATIENCE,
    maxfail: Annotated[
        int | None,
        typer.Option("--maxfail", min=1, help="stop after so many failed or crashed items"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the report as JSON")] = False,
) -> None:
    options = HetOptions(
        devices=parse_devices(devices),
        binding=None if device_map is None else parse_binding(device_map),
        backend=backend,
        policy=require_policy(policy),
        level=level,
        reports=tuple(map(_writable, report or ())),
        update_golden=False,
        isolate=require_isolation(isolate),
        limits=limits(timeout, memory, batch),
        waivers=waivers,
        lock=lock,
        update_lock=update_lock,
        require=tuple(require or ()),
        seed=seed,
        device_wait=device_wait,
    )
    session = KitSession(options, cases=cases)
    session.read_files()
    selection = selected(options.devices, patterns, device_map, level, cases)
    session.offer(selection, whole=not patterns and cases is None)
    for item in selection.items:
        session.ledger.select(item.id, item.case.level)
    try:
        with session.interruptible():
            session.check(session.tested.apart)
            outputs.begin(session)
            _run(selection.items, session, maxfail)
    finally:
        with session.interruptible():
            session.release()
    if session.cut:
        by = "interrupted" if session.signal is None else f"ended by {session.cut}"
        echo(f"{by}: the items that are left are not run", err=True)
    session.close()
    outputs.write_lock(session)
    _show(session, as_json)
    raise typer.Exit(session.exit_code(INCOMPLETE if session.unwritten else 0))


def _writable(path: Path) -> Path:
    require_ending(path, f"--report={path}")
    require_writable(path, "the report")
    return path


def _run(items: Sequence[Item], session: KitSession, maxfail: int | None) -> None:
    """Run the items; those left after too many failures count as not run."""
    bad = 0
    for item in with_progress(items):
        record = session.run(item)
        session.ledger.add(record)
        bad += record.outcome in _BAD
        if bad == maxfail:
            left = len(items) - len(session.ledger.records)
            echo(f"stopped after {bad} failed or crashed; {left} are not run", err=True)
            return


def _show(session: KitSession, as_json: bool) -> None:
    content = session.content()
    if as_json:
        echo_document(FORMATS[".json"](content, None))
    else:
        _print(content.records)
        for line in text.lines(content):
            echo(line)
    if session.account.undecided:
        echo(f"incomplete: {session.account.undecided}", err=True)
    if session.crash is not None:
        echo(f"crashed: {session.crash}", err=True)
    outputs.write_reports(session)
    for error in session.unwritten:
        echo(f"hettest: {error}", err=True)


def _print(records: Iterable[Record]) -> None:
    """Print how items failed; what is one reason for many, without a story of each, once."""
    same: dict[str, list[Record]] = {}
    for record in records:
        if record.outcome in _BAD:
            same.setdefault(record.text or record.reason, []).append(record)
    for told, (first, *others) in same.items():
        echo(first.text or f"{first.id}: {told}")
        if others:
            echo(f"and the same for {len(others)} other item{'s' * (len(others) > 1)}")
        echo()
