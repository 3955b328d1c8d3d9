"""What a backend says of itself, asked once, so that its process may be another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast, final

from hettest.backend import exact
from hettest.backend.calls import claims_of, name_of
from hettest.backend.discovery import devices_of, info, mistyped
from hettest.backend.guard import crashes, plain
from hettest.backend.listing import require
from hettest.backend.protocol import Backend, DeviceInfo, TellsNotes
from hettest.errors import ProtocolBreach, UsageError


@final
@dataclass(frozen=True, slots=True)
class Facts:
    """A backend's name, claims, devices, and waivers if it brings any."""

    name: str
    capabilities: frozenset[str]
    devices: tuple[DeviceInfo, ...]
    waivers: Path | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain data, for another process."""
        return {
            "name": self.name,
            "capabilities": sorted(self.capabilities),
            "devices": [asdict(device) for device in self.devices],
            "waivers": None if self.waivers is None else str(self.waivers.absolute()),
        }

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
    """Return what ``backend`` says of itself, in plain values.

    Raises:
        UsageError: It lists devices that cannot be told apart or named, or is no backend.
        BackendCrash: It raised something instead.
    """
    try:
        name, devices = name_of(backend), devices_of(backend)
        plain = _plain(name, devices)
        with crashes(f"{name}.waivers"):
            waivers = getattr(backend, "waivers", None)
            path = None if waivers is None else Path(str(Path(waivers)))
        return Facts(name, claims_of(backend), plain, path)
    except ProtocolBreach as wrong:
        raise UsageError(f"the backend is none as the protocol has it: {wrong}") from None


def _plain(name: str, listed: Sequence[DeviceInfo]) -> tuple[DeviceInfo, ...]:
    """Return devices of plain values.

    Raises:
        UsageError: They cannot be told apart or named.
    """
    with crashes(f"what {name}.devices() returned"):
        try:
            require(name, listed)
        except UsageError as error:
            wrong = error
        else:
            return tuple(map(exact.device, listed))
    raise wrong


def notes_of(backend: Backend) -> tuple[str, ...]:
    """Return the sentences that ``backend`` has on this installation, if it has any.

    Raises:
        BackendCrash: It raised something instead.
    """
    if not hasattr(backend, "notes"):
        return ()
    with crashes(f"{name_of(backend)}.notes()"):
        return tuple(plain(str(note)) for note in cast("TellsNotes", backend).notes())
