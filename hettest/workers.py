"""What the controller of a distributed run must know of its workers, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hettest.session import KitSession


def output_of(kit: KitSession) -> dict[str, Any]:
    """Return what a worker knows, for `merge`."""
    return {
        "selected": [[item, level] for item, level in kit.ledger.selected.items()],
        "deselected": dict(kit.ledger.deselected),
        "nodes": dict(kit.nodes),
        "crash": kit.crash,
        "usage": kit.usage,
        "offered": kit.offered,
        "left_out": kit.left_out,
        "claims": kit.claims,
        "unopened": kit.unopened,
        "waivers": None if kit.own_waivers is None else str(kit.own_waivers),
    }


def merge(kit: KitSession, output: Mapping[str, Any]) -> None:
    """Take over what a worker knows; every worker collects the same items."""
    for item, level in output["selected"]:
        kit.ledger.select(item, level)
    kit.ledger.deselected.update(output["deselected"])
    kit.nodes.update(output["nodes"])
    kit.crash = kit.crash or output["crash"]
    kit.usage = kit.usage or output["usage"]
    kit.offered, kit.left_out = output["offered"], output["left_out"]
    kit.claims = kit.claims or tuple(output["claims"])
    kit.unopened = "" if kit.claims else kit.unopened or output["unopened"]
    if output["waivers"] is not None:
        kit.own_waivers = Path(output["waivers"])
