"""``hettest probe``: what a backend declares, beside what it is observed to do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from hettest.backend.naming import parse_name
from hettest.cli.output import echo, echo_json
from hettest.cli.progress import with_progress
from hettest.cli.selection import DEVICES, DIR, PATTERNS, selected
from hettest.devicemap import parse_devices
from hettest.errors import UsageError
from hettest.files import cleaned, require_writable, write_text
from hettest.limits import Limits, parse_seconds
from hettest.probing.markdown import render
from hettest.probing.support import Colour, Support, Survey
from hettest.probing.surveying import survey
from hettest.report.counting import counted

NAME = "probe"
HELP = (
    "Compare what a backend declares with what it does. "
    "Exit code: 0, 1 if something declared fails, 2 usage, 6 if a device is missing or not tried."
)


def run(
    backend: Annotated[str, typer.Argument(metavar="BACKEND", help="a name, or module:attribute")],
    patterns: PATTERNS = None,
    devices: DEVICES = "cpu,sim",
    out: Annotated[Path | None, typer.Option("--out", help="write the page, as Markdown")] = None,
    each: Annotated[
        int, typer.Option("--each", min=1, help="items to run for each word and device")
    ] = 1,
    timeout: Annotated[str, typer.Option("--timeout", help="seconds that an item may take")] = "60",
    cases: DIR = None,
    as_json: Annotated[bool, typer.Option("--json", help="print as JSON")] = False,
) -> None:
    parse_name(backend)
    limits = Limits(seconds=parse_seconds(timeout))
    if out is not None:
        if out.suffix != ".md":
            raise UsageError(f"--out={out}: the name must end in .md")
        require_writable(out)
    named = parse_devices(devices)
    items = selected(named, patterns, None, None, cases).items
    found = survey(backend, named, items, limits, each=each, progress=with_progress)
    if as_json:
        echo_json(found.to_json())
    else:
        _print(found)
    if out is not None:
        write_text(out, render(cleaned(found)))
    raise typer.Exit(found.exit_code)


def _print(found: Survey) -> None:
    for support in found.of(Colour.FAILS):
        tried = support.failure
        assert tried is not None
        echo(f"{support.word}: declared and fails: {tried.item}: {tried.reason}")
    for word, dtypes in _grouped(found.of(Colour.UNDECLARED)).items():
        narrowed = f" for {', '.join(dtypes)}" if dtypes else ""
        echo(f"{word}: works but not declared{narrowed}")
    for device, reason in found.missing.items():
        echo(f"{device}: not available: {reason}")
    for device in found.untried:
        echo(f"{device}: not tried: each item on it needs more than is declared")
    counts = ", ".join(f"{len(found.of(colour))} {colour.value}" for colour in Colour)
    echo(f"{found.backend}: {counted(len(found.words), 'word')}: {counts}")


def _grouped(words: Sequence[Support]) -> dict[str, list[str]]:
    """Return the dtypes of each operator, by its word; none of a word without a dtype."""
    found: dict[str, list[str]] = {}
    for support in words:
        area, name, *dtype = support.word.split(":")
        found.setdefault(f"{area}:{name}", []).extend(dtype)
    return found
