"""What a backend says of itself, asked once, so that its process may be another one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

from hettest.backend.discovery import devices_of, info, mistyped
from hettest.backend.guard import crashes
from hettest.backend.listing import require
from hettest.backend.protocol import Backend, DeviceInfo
from hettest.errors import UsageError


@final
@dataclass(frozen=True, slots=True)
class Facts:
    """A backend's name, claims, devices, and waivers if it brings any."""

    name: str
    capabilities: frozenset[str]
    devices: tuple[DeviceInfo, ...]
    waivers: Path | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain data from which `from_json` makes equal facts."""
        return {
            "name": self.name,
            "capabilities": sorted(self.capabilities),
            "devices": [asdict(device) for device in self.devices],
            "waivers": None if self.waivers is None else str(self.waivers.absolute()),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Facts:
        return cls(
            data["name"],
            frozenset(data["capabilities"]),
            tuple(DeviceInfo(**device) for device in data["devices"]),
            None if data["waivers"] is None else Path(data["waivers"]),
        )

    def unavailable(self, names: tuple[str, ...]) -> dict[str, str]:
        """Return why, for each of the named devices that is missing."""
        infos = (info(self.name, name, self.devices) for name in dict.fromkeys(names))
        return {i.name: i.reason or "not available" for i in infos if not i.available}

    def check(self, names: tuple[str, ...]) -> None:
        """Find out whether a device's kind is mistyped.

        Raises:
            UsageError: One is; says what was probably meant.
        """
        for device in names:
            meant = mistyped(device, self.devices)
            if meant is not None:
                raise UsageError(f"{self.name} has no device {device}; did you mean {meant}?")


def facts_of(backend: Backend) -> Facts:
    """Return what ``backend`` says of itself.

    Raises:
        UsageError: It lists devices that cannot be told apart or named.
        BackendCrash: It raised something instead.
    """
    devices = devices_of(backend)
    require(backend.name, devices)
    with crashes(f"{backend.name}.waivers"):
        waivers = getattr(backend, "waivers", None)
    path = None if waivers is None else Path(waivers)
    return Facts(backend.name, frozenset(backend.capabilities), devices, path)
