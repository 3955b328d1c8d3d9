"""``hettest list``: the conformance items for the named devices.

The ids, one a line, are also the form of the committed lists: ``cases/expected-cpu-sim.txt`` is
``hettest list --devices=cpu,sim``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hettest.cli.output import echo, echo_json
from hettest.cli.selection import DEVICES, DIR, LEVEL, MAP, PATTERNS, selected
from hettest.devicemap import parse_devices

NAME = "list"
HELP = "List the conformance items for the named devices."


def run(
    patterns: PATTERNS = None,
    devices: DEVICES = "cpu,sim",
    device_map: MAP = None,
    level: LEVEL = None,
    cases: DIR = None,
    as_json: Annotated[bool, typer.Option("--json", help="print as JSON, with details")] = False,
) -> None:
    selection = selected(parse_devices(devices), patterns, device_map, level, cases)
    if not as_json:
        for item in selection.items:
            echo(item.id)
        for reason, count in selection.left_out.items():
            echo(f"left out: {count} {reason}", err=True)
        return
    listed = [
        {
            "id": item.id,
            "case": item.case.id,
            "summary": item.case.summary,
            "level": item.case.level,
            "clauses": list(item.case.clauses),
            "devices": list(item.devices),
            "file": _relative(item.case.path),
        }
        for item in selection.items
    ]
    echo_json({"items": listed, "left out": selection.left_out})


def _relative(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
