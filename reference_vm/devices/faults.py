"""What can go wrong on a device, each with a stable code."""

from __future__ import annotations

from typing import ClassVar, final

from reference_vm.devices.api import Buffer
from reference_vm.types import DeviceName, DType


class DeviceError(Exception):
    """A device refused to do something."""

    code: ClassVar[str] = "device-error"


@final
class DeviceUnavailable(DeviceError):
    """The device is not there."""

    code: ClassVar[str] = "device-unavailable"

    def __init__(self, name: DeviceName, reason: str | None) -> None:
        super().__init__(f"{name} is not available: {reason or 'no reason given'}")
        self.name = name
        self.reason = reason


@final
class OutOfMemory(DeviceError):
    """An allocation does not fit."""

    code: ClassVar[str] = "out-of-memory"

    def __init__(
        self, name: DeviceName, wanted: int, used: int, limit: int | None, left: int | None = None
    ) -> None:
        of = "" if limit is None else f" of {limit}"
        machine = "" if left is None else f", and the machine has {left} left"
        super().__init__(
            f"{name} cannot allocate {wanted} bytes: {used}{of} bytes are in use{machine}"
        )
        self.name = name
        self.wanted = wanted


@final
class ForeignAccess(DeviceError):
    """A device touched memory of another."""

    code: ClassVar[str] = "foreign-access"

    def __init__(self, accessing: DeviceName, buffer: Buffer) -> None:
        super().__init__(f"{accessing} touched memory of {buffer.device.name}: {buffer!r}")
        self.accessing = accessing
        self.owner = buffer.device.name


@final
class UseAfterFree(DeviceError):
    """Memory was used after it had been given back."""

    code: ClassVar[str] = "use-after-free"

    def __init__(self, name: DeviceName, buffer: Buffer) -> None:
        super().__init__(f"{name} used memory that was given back: {buffer!r}")


@final
class GuardViolation(DeviceError):
    """Somebody wrote outside an allocation."""

    code: ClassVar[str] = "guard-violation"

    def __init__(self, name: DeviceName, buffer: Buffer, side: str) -> None:
        super().__init__(f"{name}: bytes {side} an allocation were overwritten: {buffer!r}")


@final
class DeviceFault(DeviceError):
    """The device's own driver reported an error."""

    code: ClassVar[str] = "device-fault"

    def __init__(self, name: DeviceName, message: str) -> None:
        super().__init__(f"{name}: {message}")


@final
class UnsupportedDtype(DeviceError):
    """The device has no such elements."""

    code: ClassVar[str] = "unsupported-dtype"

    def __init__(self, name: DeviceName, dtype: DType) -> None:
        super().__init__(f"{name} has no {dtype}")
