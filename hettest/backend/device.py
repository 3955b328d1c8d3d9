"""A device as tests see it: its name, and what the backend lets one do with it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, cast, final

from hettest.backend.protocol import Backend, DeviceAccess, DeviceInfo, OpensDevices
from hettest.errors import UsageError

if TYPE_CHECKING:
    from hettest.backend.protocol import Array


@final
@dataclass(frozen=True)
class Device:
    """One named device; ``str(device)`` is its name."""

    info: DeviceInfo
    backend: Backend

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """``sim:0``."""
        return self.info.name

    @property
    def kind(self) -> str:
        return self.info.kind

    @property
    def index(self) -> int:
        return self.info.index

    @cached_property
    def _access(self) -> DeviceAccess:
        if not hasattr(self.backend, "open"):
            raise UsageError(
                f"backend {self.backend.name} does not open devices by themselves; "
                "it has no method open(device)"
            )
        return cast("OpensDevices", self.backend).open(self.name)

    def put(self, array: Array) -> Any:
        """Return a buffer on this device that holds a copy of ``array``."""
        return self._access.put(array)

    def get(self, buffer: Any) -> Array:
        """Return a copy of a buffer of this device in host memory."""
        return self._access.get(buffer)

    def synchronize(self) -> None:
        """Wait until the device has done all that it was given."""
        self._access.synchronize()

    @property
    def xp(self) -> Any:
        """The array namespace whose functions run on this device.

        Raises:
            UsageError: The backend has none, or gives NumPy, which would compute on the host.
        """
        found = getattr(self._access, "xp", None)
        if found is None:
            raise UsageError(
                f"backend {self.backend.name} has no array namespace for {self.name}: what its "
                "open(device) returns has no xp; use put and get, or het.run"
            )
        if self.kind != "cpu" and getattr(found, "__name__", "") == "numpy":
            raise UsageError(
                f"backend {self.backend.name} gives NumPy as the array namespace of {self.name}, "
                "which computes on the host, so that a test would say nothing of the device; its "
                "xp must compute there, or be absent"
            )
        return found


DevicePair: TypeAlias = tuple[Device, Device]
