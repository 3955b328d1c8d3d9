"""``hettest export``: cases for those who do not run Python."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from hettest.cli.output import echo, echo_json
from hettest.cli.progress import with_progress
from hettest.cli.selection import DEVICES, DIR, LEVEL, MAP, PATTERNS, selected
from hettest.devicemap import parse_devices
from hettest.export import as_json, as_onnx
from hettest.report.counting import counted

NAME = "export"
HELP = "Write cases as JSON for runners in other languages, or in ONNX's test-data layout."

_WHERE: Final = re.compile(r"^function @[^:]*: ")


class Form(StrEnum):
    """In which form cases are written."""

    JSON = "json"
    ONNX = "onnx"


def run(
    form: Annotated[Form, typer.Option("--format", help="the form")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="a new or empty folder")],
    patterns: PATTERNS = None,
    devices: DEVICES = "cpu,sim",
    device_map: MAP = None,
    level: LEVEL = None,
    cases: DIR = None,
    as_data: Annotated[bool, typer.Option("--json", help="print the list as JSON")] = False,
) -> None:
    named = parse_devices(devices)
    selection = selected(named, patterns, device_map, level, cases)
    if form is Form.JSON:
        index = as_json.export(selection, named, out, with_progress)
    else:
        index = as_onnx.export(selection, named, out, with_progress)
    if as_data:
        echo_json(index)
        return
    _print(index, out)


def _print(index: dict[str, Any], out: Path) -> None:
    for kind, count in _kinds(each["reason"] for each in index["not_exported"]):
        echo(f"not exported: {count}: {kind}")
    missing = (text for model in index.get("models", ()) for text in model["missing"])
    for kind, count in _kinds(missing):
        echo(f"exported without: {count}: {kind}")
    for reason, count in index["left_out"].items():
        echo(f"left out: {count} {reason}")
    if index["form"] == Form.JSON:
        written = sum(case["items"] for case in index["cases"])
        what = f"{counted(written, 'item')} of {counted(len(index['cases']), 'case')}"
    else:
        what = counted(len(index["models"]), "item")
    echo(f"exported: {what} to {out}; not exported: {len(index['not_exported'])}")


def _kinds(texts: Iterable[str]) -> list[tuple[str, int]]:
    """Return what texts say without the places they name, the most frequent first."""
    plain = (_WHERE.sub("", text).partition(": ")[0] for text in texts)
    return Counter(plain).most_common()
