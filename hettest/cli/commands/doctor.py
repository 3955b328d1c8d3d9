"""``hettest doctor``: which backends and devices are there, and if not, exactly why."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Any, cast

import typer

from hettest.backend.discovery import installed, load, ranges
from hettest.backend.guard import crashes
from hettest.backend.protocol import TellsNotes
from hettest.cli.output import echo, echo_json
from hettest.corpus import case_files, corpus_root
from hettest.errors import BackendCrash, UsageError
from hettest.report.content import environment

NAME = "doctor"
HELP = "Say which backends and devices are there, and if not, exactly why."


def run(
    as_json: Annotated[bool, typer.Option("--json", help="print as JSON")] = False,
) -> None:
    versions, files = environment(), len(case_files(corpus_root()))
    backends = [_backend(name, place) for name, place in installed().items()]
    if as_json:
        found = {"environment": versions, "case files": files, "backends": backends}
        echo_json(found)
        return
    for package, version in versions.items():
        echo(f"{package} {version}")
    echo(f"case files: {files}")
    for backend in backends:
        _print(backend)


def _backend(name: str, place: str) -> dict[str, Any]:
    try:
        backend = load(name)
    except UsageError as error:
        return _found(name, place, problem=str(error))
    try:
        with crashes(f"{name}.devices()"):
            notes = cast("TellsNotes", backend).notes() if hasattr(backend, "notes") else ()
            devices = [dataclasses.asdict(device) for device in backend.devices()]
        with crashes(f"{name}.close()"):
            backend.close()
    except BackendCrash as crash:
        return _found(name, place, problem=f"crashed: {crash}")
    return _found(name, place, notes=list(notes), devices=devices)


def _found(
    name: str,
    place: str,
    *,
    problem: str | None = None,
    notes: Sequence[str] = (),
    devices: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    return {"name": name, "place": place, "problem": problem, "notes": notes, "devices": devices}


def _print(backend: dict[str, Any]) -> None:
    echo(f"backend {backend['name']} ({backend['place']})")
    if backend["problem"]:
        echo(f"  {backend['problem']}")
    for note in backend["notes"]:
        echo(f"  {note}")
    there = [device["name"] for device in backend["devices"] if device["available"]]
    for devices in ranges(there):
        echo(f"  {devices}: available")
    for device in backend["devices"]:
        if not device["available"]:
            echo(f"  {device['name']}: not available: {device['reason']}")
