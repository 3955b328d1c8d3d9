"""``hettest backend check``: does an adapter keep the protocol? Before any numerics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Annotated

import typer

from hettest.backend.naming import parse_name
from hettest.cli.output import echo, echo_json
from hettest.devicemap import canonical
from hettest.limits import Limits, parse_seconds
from hettest.options import POLICIES, require_policy
from hettest.probing.checking import exit_code, findings
from hettest.probing.finding import Finding, State

NAME = "check"
HELP = (
    "Check a backend's adapter before any numerics. "
    "Exit code: 0, 1 if a check failed, 2 for wrong usage, 6 if a device is missing."
)


def run(
    backend: Annotated[str, typer.Argument(metavar="BACKEND", help="a name, or module:attribute")],
    devices: Annotated[
        str, typer.Option("--devices", help="the devices to check [default: one of each kind]")
    ] = "",
    timeout: Annotated[
        str, typer.Option("--timeout", help="seconds that one check may take")
    ] = "60",
    policy: Annotated[
        str, typer.Option("--policy", help="for missing devices: incomplete, fail or skip")
    ] = POLICIES[0],
    as_json: Annotated[bool, typer.Option("--json", help="print as JSON")] = False,
) -> None:
    parse_name(backend)
    require_policy(policy)
    named = tuple(canonical(part) for part in devices.split(",") if part.strip())
    seconds = parse_seconds(timeout)
    made = findings(backend, named, Limits(seconds=seconds, start=max(seconds, 5.0)))
    found = list(made) if as_json else _printed(made)
    counts = Counter(finding.state for finding in found)
    if as_json:
        told = {"backend": backend, "checks": [finding.to_json() for finding in found]}
        echo_json(told)
    else:
        listed = ", ".join(f"{counts[state]} {state}" for state in State)
        echo("judged in the backend's own process; shows faults, and is no evidence for others")
        echo(f"{backend}: {len(found)} checks: {listed}")
    raise typer.Exit(exit_code(found, policy))


def _printed(made: Iterable[Finding]) -> list[Finding]:
    """Print each finding as it comes, and return all."""
    found = []
    for finding in made:
        echo(str(finding))
        found.append(finding)
    return found
