"""The kinds of devices there are: one line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from reference_vm.devices.api import DeviceApi, DeviceDescription, DeviceKind
from reference_vm.devices.cpu import CpuKind
from reference_vm.devices.cuda import CudaKind
from reference_vm.devices.faults import DeviceUnavailable
from reference_vm.devices.sim import SimKind
from reference_vm.types import DeviceName

_KINDS: Final[tuple[DeviceKind, ...]] = (
    CpuKind(),
    SimKind(),
    CudaKind(),
)

KINDS: Final[Mapping[str, DeviceKind]] = MappingProxyType({kind.name: kind for kind in _KINDS})


def discover() -> Sequence[DeviceDescription]:
    """Return every device that is here, and for each kind that is not, why."""
    return tuple(device for kind in _KINDS for device in kind.discover())


def describe(name: DeviceName) -> DeviceDescription:
    """Return what is known of one device; unavailable, with the reason, if there is none."""
    kind = KINDS.get(name.kind)
    if kind is None:
        known = ", ".join(KINDS)
        return DeviceDescription(name, False, f"there is no device kind {name.kind}, only {known}")
    return kind.describe(name)


def open_device(name: DeviceName, budget: int | None = None) -> DeviceApi:
    """Open a device, on which no more than ``budget`` bytes may be in use (`DeviceKind.open`).

    Raises:
        DeviceUnavailable: It is not there; the message says exactly why.
    """
    description = describe(name)
    if not description.available:
        raise DeviceUnavailable(name, description.reason)
    return KINDS[name.kind].open(name, budget)
