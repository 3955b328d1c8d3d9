"""``hettest conformance run``: run a profile's items and write a report that others can verify."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from hettest.case.expansion import Item
from hettest.cli.output import echo
from hettest.cli.progress import with_progress
from hettest.cli.selection import DEVICES, REQUIRE
from hettest.conformance import running, writing
from hettest.devicemap import parse_devices
from hettest.errors import UsageError
from hettest.levels import profile as profiles
from hettest.options import DEFAULT_BACKEND, POLICIES, HetOptions, require_isolation
from hettest.report import text
from hettest.session import KitSession

NAME = "run"
HELP = (
    "Run the items of a profile and write a conformance report. Exit code: 0, 1 failed, 2 usage, "
    "6 something not run."
)


def run(
    out: Annotated[Path, typer.Option("--out", help="the folder to write; made if need be")],
    devices: DEVICES = "cpu,sim",
    backend: Annotated[
        str, typer.Option("--backend", help="the implementation under test")
    ] = DEFAULT_BACKEND,
    profile: Annotated[str, typer.Option("--profile", help="what to be judged by")] = "core@1",
    level: Annotated[
        int | None, typer.Option("--level", min=0, max=6, help="the highest level")
    ] = None,
    waivers: Annotated[
        Path | None, typer.Option("--waivers", help="known faults [default: the backend's own]")
    ] = None,
    require: REQUIRE = None,
    quick: Annotated[
        str | None,
        typer.Option("--quick", metavar="PERCENT", help="run a sample, which is no evidence"),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="for the sample, and for random rounding")
    ] = 0,
) -> None:
    chosen = profiles.load(profile)
    named = parse_devices(devices)
    writing.require_free(out)
    items: Sequence[Item] = running.items_of(chosen, named, level)
    partial = ""
    if quick is not None:
        items, partial = running.quick(items, percent(quick, "--quick"), seed)
    session = KitSession(options(named, backend, waivers, seed, tuple(require or ())))
    session.read_files()
    content = running.run(session, chosen, items, with_progress, partial)
    digest = writing.write(out, content, chosen, waivers or session.own_waivers)
    for line in text.lines(content):
        echo(line)
    echo(f"report: {out}")
    echo(f"digest: {digest}")
    raise typer.Exit(session.exit_code())


def options(
    devices: tuple[str, ...],
    backend: str,
    waivers: Path | None,
    seed: int = 0,
    require: tuple[str, ...] = (),
) -> HetOptions:
    """Return what a run of conformance items is asked for with: apart, whatever the backend.

    Raises:
        UsageError: This system cannot isolate them.
    """
    return HetOptions(
        devices=devices,
        binding=None,
        backend=backend,
        policy=POLICIES[0],
        level=None,
        reports=(),
        update_golden=False,
        isolate=require_isolation(True),
        waivers=waivers,
        require=require,
        seed=seed,
    )


def percent(text: str, option: str) -> float:
    """Return the number that ``5%`` or ``5`` says.

    Raises:
        UsageError: It says none between 0 and 100.
    """
    try:
        found = float(text.strip().removesuffix("%"))
    except ValueError:
        found = -1.0
    if not 0 < found <= 100:
        raise UsageError(f"{option}={text}: expected a part of the items, such as 5%")
    return found
