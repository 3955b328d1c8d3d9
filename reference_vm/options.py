"""What the options of a compilation say: device maps, policies, memory budgets and cost models."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias, Union

from reference_vm.devices.catalog import KINDS, describe
from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ops.catalog import OPS
from reference_vm.passes.context import PassContext, Policy
from reference_vm.passes.cost_model import CostModel
from reference_vm.passes.cost_model import read as read_costs
from reference_vm.targets.catalog import target_for
from reference_vm.types import HOST, DeviceMap, DeviceName

Where: TypeAlias = Union[str, Mapping[str, "str | DeviceName"], DeviceMap]
"""Which device each role is: ``"host=cpu:0,accel=sim:0"``, or a mapping."""


_SIZE: Final = re.compile(r"@?(?P<role>[^=]+?)\s*=\s*(?P<count>[0-9]+)\s*(?P<unit>[KMG]iB|)")
_UNITS: Final = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def context(
    device_map: Where,
    policy: str,
    default: str | None,
    memory: str | Mapping[str, int],
    costs: Path | str | CostModel | None,
    nominal: Mapping[str, int] | None,
    executor: str | None,
) -> PassContext:
    """Return what the passes of a compilation are given.

    Raises:
        CompileError: An option is at fault.
    """
    devices = read_device_map(device_map)
    _check_default(default)
    _check_nominal(nominal)
    _check_kinds(devices.devices)
    known = {name: describe(name) for name in devices.devices}
    limits = {n: d.memory_limit for n, d in known.items() if d.memory_limit is not None}
    budgets = {n: min(b, limits.get(n, b)) for n, b in read_budgets(memory, devices).items()}
    kinds = {"cpu", *(d.kind for d in devices.devices)}
    return PassContext(
        OPS,
        devices,
        _policy(policy),
        default,
        dict(nominal or {}),
        {kind: target_for(kind, executor).traits for kind in kinds},
        _costs(costs),
        {**limits, **budgets},
        {name: d.missing_dtypes for name, d in known.items()},
        partial(target_for(HOST.kind, executor).compile, device_kind=HOST.kind),
    )


def read_device_map(where: Where) -> DeviceMap:
    """Return a device map from any of its forms.

    Raises:
        CompileError: It cannot be read.
    """
    if isinstance(where, DeviceMap):
        return where
    if not isinstance(where, str | Mapping):
        expected = 'role=device pairs such as "accel=sim:0", or a mapping'
        raise CompileError(catalog.invalid_option("device_map", where, expected))
    try:
        if isinstance(where, str):
            return DeviceMap.parse(where)
        return DeviceMap.of({_role(r): _device(r, d) for r, d in where.items()})
    except ValueError as error:
        raise CompileError(catalog.bad_device_map(str(error))) from error


def _role(role: object) -> str:
    if not isinstance(role, str):
        raise CompileError(catalog.invalid_option("a role of device_map", role, "a name"))
    return role.removeprefix("@")


def _device(role: str, device: object) -> DeviceName:
    if isinstance(device, DeviceName):
        return device
    if not isinstance(device, str):
        expected = "a device such as cpu:0"
        raise CompileError(catalog.invalid_option(f'device_map["{role}"]', device, expected))
    return DeviceName.parse(device)


def read_patterns(place: str | Sequence[str]) -> str:
    """Return placement patterns separated by commas.

    Raises:
        CompileError: They are something else than strings.
    """
    parts = [place] if isinstance(place, str) else place
    if not isinstance(parts, list | tuple) or not all(isinstance(p, str) for p in parts):
        expected = 'a pattern such as "layer.1/*=accel", or a list of them'
        raise CompileError(catalog.invalid_option("place", place, expected))
    return ",".join(parts)


def check_split(split: str | None) -> None:
    """Raise `CompileError` unless ``split`` is text or none; what it says, its pass reads."""
    if split is not None and not isinstance(split, str):
        expected = "halves, alternate or random:SEED"
        raise CompileError(catalog.invalid_option("split", split, expected))


def read_weights(weights: Path | str | None) -> Path | None:
    """Return the folder of weights files.

    Raises:
        CompileError: It is no path.
    """
    if weights is None:
        return None
    if not isinstance(weights, str | Path):
        raise CompileError(catalog.invalid_option("weights", weights, "the path of a folder"))
    return Path(weights)


def _check_default(default: str | None) -> None:
    if default is None:
        return
    if not isinstance(default, str) or not default.removeprefix("@"):
        raise CompileError(catalog.invalid_option("default", default, "a role or a device"))


def _check_nominal(nominal: Mapping[str, int] | None) -> None:
    if nominal is None:
        return
    sound = isinstance(nominal, Mapping) and all(
        isinstance(s, str) and type(n) is int and n >= 0 for s, n in nominal.items()
    )
    if not sound:
        raise CompileError(catalog.invalid_option("nominal", nominal, "a size for each symbol"))


def _check_kinds(devices: Sequence[DeviceName]) -> None:
    unknown = [describe(d) for d in devices if d.kind not in KINDS]
    if unknown:
        raise CompileError(*(catalog.device_unavailable(str(d.name), d.reason) for d in unknown))


def _costs(costs: Path | str | CostModel | None) -> CostModel:
    if costs is None or isinstance(costs, CostModel):
        return costs or CostModel()
    if not isinstance(costs, str | Path):
        raise CompileError(catalog.invalid_option("costs", costs, "a CostModel or the path of one"))
    try:
        return read_costs(Path(costs).read_text(encoding="utf-8"), str(costs))
    except OSError as error:
        raise CompileError(catalog.cost_model(str(costs), error.strerror or str(error))) from error
    except UnicodeDecodeError as error:
        raise CompileError(catalog.cost_model(str(costs), str(error))) from error


def read_budgets(
    memory: str | Mapping[str, int], roles: DeviceMap, used: Sequence[DeviceName] = ()
) -> dict[DeviceName, int]:
    """Return the bytes of ``accel=64MiB,other=4096`` by device; of several for one the least.

    A device that is ``used`` may be named itself.

    Raises:
        CompileError: ``memory-size``: it has another form; ``unknown-vdevice``: no such role.
    """
    if not isinstance(memory, str | Mapping):
        raise CompileError(catalog.invalid_option("memory", memory, "sizes such as accel=64MiB"))
    if isinstance(memory, str):
        parts = [p.strip() for p in memory.split(",") if p.strip()]
        memory = dict(map(_size, parts))
    devices = {"host": HOST, **{str(d): d for d in used}, **roles}
    found: dict[DeviceName, int] = {}
    for role, size in memory.items():
        if role not in devices:
            raise CompileError(catalog.unknown_vdevice(role, tuple(devices), None))
        if type(size) is not int or size < 0:
            expected = "a number of bytes"
            raise CompileError(catalog.invalid_option(f'memory["{role}"]', size, expected))
        found[devices[role]] = min(size, found.get(devices[role], size))
    return found


def _size(written: str) -> tuple[str, int]:
    found = _SIZE.fullmatch(written)
    if found is None:
        raise CompileError(catalog.memory_size(written))
    return found["role"], int(found["count"]) * _UNITS[found["unit"] or ""]


def _policy(policy: str) -> Policy:
    if not isinstance(policy, str):
        raise CompileError(catalog.invalid_option("policy", policy, ", ".join(Policy)))
    try:
        return Policy(policy)
    except ValueError as error:
        raise CompileError(catalog.unknown_policy(policy, tuple(Policy))) from error


__all__ = [
    "Where",
    "check_split",
    "context",
    "read_budgets",
    "read_device_map",
    "read_patterns",
    "read_weights",
]
