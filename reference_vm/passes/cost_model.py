"""What work and transfers are taken to cost: the numbers by which ``place-auto`` chooses.

The model is additive: a plan costs the sum of its operators and its transfers, as if nothing ran at
the same time. An operator costs a launch and the larger of its arithmetic and its memory traffic,
or what was measured of it; a transfer costs a latency and its bytes. A device is known by the
longest of ``sim.timed:0``, ``sim.timed`` and ``sim`` that the model has. The same as JSON::

    {"devices": {"cpu": {"launch_ns": 1000, "operations_per_ns": 30, "bytes_per_ns": 12}},
     "links": {"sim": {"latency_ns": 10000, "bytes_per_ns": 16}},
     "operators": {"sim:0": {"main/%t": 5100, "matmul": 90000}}}

A link is that of a device with the host; two other devices exchange data through the host.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final, TypeVar, final

from reference_vm.analysis.work import Work
from reference_vm.diagnostics import CompileError, catalog
from reference_vm.types import HOST, DeviceName

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True)
class DeviceCost:
    """How fast a device works."""

    launch_ns: float
    operations_per_ns: float | None
    """``None``: memory traffic alone counts, as on the virtual clock of ``sim``."""

    bytes_per_ns: float


@final
@dataclass(frozen=True, slots=True)
class LinkCost:
    """How fast a device and the host exchange data."""

    latency_ns: float
    bytes_per_ns: float


_DEVICES: Final = {
    "cpu": DeviceCost(1_000, 30, 12),
    "sim": DeviceCost(5_000, None, 16),
    "cuda": DeviceCost(4_000, 10_000, 1_500),
}
_LINKS: Final = {
    "cpu": LinkCost(500, 8),
    "sim": LinkCost(10_000, 16),
    "cuda": LinkCost(10_000, 20),
}


@final
@dataclass(frozen=True)
class CostModel:
    """Costs in whole picoseconds, so that sums are exact."""

    devices: Mapping[str, DeviceCost] = field(default_factory=lambda: MappingProxyType(_DEVICES))
    links: Mapping[str, LinkCost] = field(default_factory=lambda: MappingProxyType(_LINKS))
    measured: Mapping[str, Mapping[str, float]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """Nanoseconds by device, then by source variable or else by operator."""

    def operator(self, device: DeviceName, source: str | None, op: str, work: Work) -> int:
        """Return what one call costs on ``device``."""
        table = _known(self.measured, device)
        if table is not None:
            found = table.get(source or "", table.get(op))
            if found is not None:
                return round(found * 1000)
        cost = _known(self.devices, device) or _DEVICES["cpu"]
        ns = work.bytes / cost.bytes_per_ns
        if cost.operations_per_ns is not None:
            ns = max(ns, work.operations / cost.operations_per_ns)
        return round((cost.launch_ns + ns) * 1000)

    def transfer(self, source: DeviceName, target: DeviceName, nbytes: int) -> int:
        """Return what moving ``nbytes`` costs; through the host if neither is the host."""
        if source == target:
            return 0
        return sum(self._crossing(d, nbytes) for d in (source, target) if d != HOST)

    def _crossing(self, device: DeviceName, nbytes: int) -> int:
        link = _known(self.links, device) or _LINKS["cpu"]
        return round((link.latency_ns + nbytes / link.bytes_per_ns) * 1000)


def _known(table: Mapping[str, T], device: DeviceName) -> T | None:
    names = (str(device), str(device).rpartition(":")[0], device.kind)
    return next((table[n] for n in names if n in table), None)


def read(text: str, name: str) -> CostModel:
    """Return the model in a JSON text; what it leaves out is as in the default model.

    Raises:
        CompileError: ``cost-model``: the text has another form.
    """
    try:
        found = json.loads(text)
        if not isinstance(found, dict):
            raise ValueError("found no object, expected one of devices, links, operators")
        devices, links, measured = (
            {d: _object(d, costs) for d, costs in _object(key, found.pop(key, {})).items()}
            for key in ("devices", "links", "operators")
        )
        if found:
            raise ValueError(f"found {', '.join(found)}, expected devices, links, operators")
        return CostModel(
            {**_DEVICES, **{d: _device(c) for d, c in devices.items()}},
            {**_LINKS, **{d: LinkCost(**_costs(c, LinkCost)) for d, c in links.items()}},
            {d: _numbers(c) for d, c in measured.items()},
        )
    except RecursionError as error:
        raise CompileError(catalog.cost_model(name, "it is nested too deeply")) from error
    except ValueError as error:
        raise CompileError(catalog.cost_model(name, str(error))) from error


def _object(name: str, found: Any) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise ValueError(f"found {json.dumps(found)[:80]} for {name}, expected an object")
    return found


def _device(found: Mapping[str, Any]) -> DeviceCost:
    is_rated = found.get("operations_per_ns") is not None
    costs = _costs(found if is_rated else {**found, "operations_per_ns": 1}, DeviceCost)
    return DeviceCost(**costs) if is_rated else replace(DeviceCost(**costs), operations_per_ns=None)


def _costs(found: Mapping[str, Any], form: type[DeviceCost | LinkCost]) -> dict[str, float]:
    """Return the numbers of one device or link, which must be those that ``form`` has."""
    keys = [key.name for key in fields(form)]
    listed = ", ".join(keys)
    for key in found:
        if key not in keys:
            near = get_close_matches(key, keys, n=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"found the key {key}, expected {listed}{meant}")
    for key in keys:
        if key not in found:
            raise ValueError(f"found no {key}, expected {listed}")
    return _numbers(found)


def _numbers(found: Mapping[str, Any]) -> dict[str, float]:
    return {name: _number(name, value) for name, value in found.items()}


def _number(name: str, value: Any) -> float:
    least = 1e-9 if name.endswith("per_ns") else 0
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < 1e18:
        raise ValueError(f"{name} is {value!r}, expected a number from {least:g}")
    return float(value)


__all__ = ["CostModel", "DeviceCost", "LinkCost", "read"]
