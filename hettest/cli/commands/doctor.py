"""``hettest doctor``: which backends and devices are there, and if not, exactly why."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated, Any

import typer

from hettest.backend.discovery import installed, load
from hettest.corpus import case_files, corpus_root
from hettest.errors import UsageError
from hettest.report.content import environment

NAME = "doctor"
HELP = "Say which backends and devices are there, and if not, exactly why."


def run(
    as_json: Annotated[bool, typer.Option("--json", help="print as JSON")] = False,
) -> None:
    found = {
        "environment": environment(),
        "case files": len(case_files(corpus_root())),
        "backends": [_backend(name, place) for name, place in installed().items()],
    }
    if as_json:
        typer.echo(json.dumps(found, indent=1))
        return
    for package, version in found["environment"].items():  # type: ignore[attr-defined]
        typer.echo(f"{package} {version}")
    typer.echo(f"case files: {found['case files']}")
    for backend in found["backends"]:  # type: ignore[attr-defined]
        _print(backend)


def _backend(name: str, place: str) -> dict[str, Any]:
    try:
        backend = load(name)
    except UsageError as error:
        return {"name": name, "place": place, "problem": str(error), "devices": []}
    try:
        devices = [dataclasses.asdict(device) for device in backend.devices()]
    finally:
        backend.close()
    return {"name": name, "place": place, "problem": None, "devices": devices}


def _print(backend: dict[str, Any]) -> None:
    typer.echo(f"backend {backend['name']} ({backend['place']})")
    if backend["problem"]:
        typer.echo(f"  {backend['problem']}")
    for device in backend["devices"]:
        state = "available" if device["available"] else f"not available: {device['reason']}"
        typer.echo(f"  {device['name']}: {state}")
