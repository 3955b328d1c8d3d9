"""``hettest doctor``: which backends and devices are there, and if not, exactly why."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from hettest.backend.discovery import info, installed, ranges
from hettest.backend.naming import parse_name
from hettest.backend.protocol import DeviceInfo
from hettest.cli.output import echo, echo_json
from hettest.corpus import case_files, corpus_root
from hettest.devicemap import parse_devices
from hettest.errors import BackendCrash, ProtocolBreach, UsageError
from hettest.isolation import Isolated
from hettest.ledger import INCOMPLETE
from hettest.options import CAN_ISOLATE, DEFAULT_BACKEND
from hettest.report.content import environment
from hettest.runner.asked import Asked
from hettest.runner.subject import InProcess, Subject

NAME = "doctor"
HELP = (
    "Say which backends and devices are there, and if not, exactly why. Exit code: 0; of those "
    "that --backend and --devices name, 1 if the backend cannot be used, 6 if a device is missing."
)


def run(
    backend: Annotated[
        str | None, typer.Option("--backend", help="the one that must be there [default: any]")
    ] = None,
    devices: Annotated[
        str | None, typer.Option("--devices", help="those of it that must be there [default: any]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print as JSON")] = False,
) -> None:
    asked = None if devices is None else parse_devices(devices)
    name = DEFAULT_BACKEND if backend is None and asked is not None else backend
    places = installed() if name is None else {name: parse_name(name).place}
    versions, files = environment(), len(case_files(corpus_root()))
    backends = [_backend(name, place) for name, place in places.items()]
    if as_json:
        found = {"environment": versions, "case files": files, "backends": backends}
        echo_json(found)
    else:
        for package, version in versions.items():
            echo(f"{package} {version}")
        echo(f"case files: {files}")
        for one in backends:
            _print(one)
    raise typer.Exit(0 if name is None else _exit_code(backends[0], asked))


def _exit_code(backend: dict[str, Any], asked: Sequence[str] | None) -> int:
    """Return how to end where one backend was asked for; say which of its devices are missing."""
    if backend["problem"]:
        return 1
    listed = [DeviceInfo(**device) for device in backend["devices"]]
    named = [info(backend["name"], name, listed) for name in asked or ()]
    missing = [device for device in named if not device.available]
    for device in missing:
        echo(f"missing device {device.name}: {device.reason or 'not available'}", err=True)
    if asked is None and not any(device.available for device in listed):
        echo(f"missing: {backend['name']} has no device that is available", err=True)
        return INCOMPLETE
    return INCOMPLETE if missing else 0


def _backend(name: str, place: str) -> dict[str, Any]:
    """Return what a backend says of itself, in a process of its own: it may hang, or die."""
    asked = Asked(name, ())
    tested: Subject = Isolated(asked) if CAN_ISOLATE else InProcess(asked)
    found: dict[str, Any] = {}
    try:
        facts = tested.facts
        found = {"notes": tested.notes(), "devices": list(map(dataclasses.asdict, facts.devices))}
    except UsageError as error:
        found = {"problem": str(error)}
    except (BackendCrash, ProtocolBreach) as crash:
        found = {"problem": f"crashed: {crash}"}
    try:
        tested.close()
    except BackendCrash as crash:
        found = {"problem": f"crashed: {crash}", **found}
    return _found(name, place, **found)


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
