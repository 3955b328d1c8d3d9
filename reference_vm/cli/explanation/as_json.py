"""An explained plan as JSON: the fields of `explanation`, devices and rules by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from reference_vm.passes.explanation import Plan
from reference_vm.passes.placement_reasons import Rule
from reference_vm.types import VirtualDevice


def as_json(plan: Plan) -> dict[str, Any]:
    """Return what ``json.dumps`` writes of ``plan``; a device is its role."""
    devices = {d.role: str(d.device) for d in plan.devices}
    return {
        "devices": devices,
        "policy": plan.policy,
        "functions": [_plain(f) for f in plan.functions],
    }


def _plain(value: Any) -> Any:
    if isinstance(value, VirtualDevice):
        return value.role
    if isinstance(value, Rule):
        return {"name": value.value, "number": value.number}
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {_plain(k): _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, tuple) else value


__all__ = ["as_json"]
