"""``hettest waive audit``: is every waiver still true?"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from hettest.case.expansion import Item
from hettest.cli.commands.report import read
from hettest.cli.output import echo
from hettest.cli.selection import DEVICES, DIR
from hettest.corpus import case_ids, cases, corpus_root, select
from hettest.devicemap import parse_devices
from hettest.ledger import INCOMPLETE
from hettest.options import DEFAULT_BACKEND, POLICIES, HetOptions
from hettest.outcome import Outcome, Record
from hettest.runner import unjudged
from hettest.session import KitSession
from hettest.waivers import Waivers, load, problems

NAME = "audit"
HELP = (
    "Say which waivers have expired, match nothing or are not needed. Exit code: 0, 1 if any, "
    "2 usage, 6 if items were not run that would tell."
)


def run(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="a waiver file")] = Path(
        "waivers.toml"
    ),
    report: Annotated[
        Path | None, typer.Option("--report", help="a JSON report of a whole run, to read")
    ] = None,
    backend: Annotated[
        str, typer.Option("--backend", help="without a report: whose waived items to run")
    ] = DEFAULT_BACKEND,
    devices: DEVICES = "cpu,sim",
    folder: DIR = None,
) -> None:
    waivers = load(file)
    root = corpus_root() if folder is None else folder
    crash = None
    if report is None:
        options = HetOptions(parse_devices(devices), None, backend, POLICIES[0], None, (), False)
        session = KitSession(options, cases=folder)
        records = _run(waivers, session, root)
        crash = session.crash
    else:
        records = tuple(read(report).records)
    found = tuple(problems(waivers, records, case_ids(root), date.today()))
    for problem in found:
        echo(problem)
    missed = [r for r in records if r.outcome is Outcome.NOT_RUN and _has_waiver(r, waivers)]
    for record in missed:
        echo(f"not run: {record.id}: {record.reason}")
    told = f", not run: {len(missed)}" if missed else ""
    echo(f"waivers: {len(waivers.entries)}, problems: {len(found)}{told}")
    if crash is not None:
        echo(f"crashed: {crash}", err=True)
    raise typer.Exit(1 if found or crash is not None else INCOMPLETE if missed else 0)


def _run(waivers: Waivers, session: KitSession, root: Path) -> tuple[Record, ...]:
    """Return how the items ended that have a waiver."""
    try:
        session.check(session.tested.apart)
        found = select(cases(root), session.options.devices).items
        return tuple(session.run(item) for item in found if _is_waived(item, waivers))
    finally:
        session.release()


def _is_waived(item: Item, waivers: Waivers) -> bool:
    return _has_waiver(unjudged(item, Outcome.NOT_RUN, ""), waivers)


def _has_waiver(record: Record, waivers: Waivers) -> bool:
    return any(waiver.covers(record) for waiver in waivers.entries)
