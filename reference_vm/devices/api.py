"""What a device is to the runtime: memory, copies, launches, order and time.

`DeviceApi` is the contract; one module per kind implements it. A `Buffer` is memory that a device
owns and that nobody else touches; a `Tensor` is a typed part of one. Only the owning device turns a
tensor into an array, and only while a kernel runs on it (`DeviceApi.launch`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, Protocol, TypeAlias, Union, final

from reference_vm.devices.ledger import Ledger
from reference_vm.types import DeviceName, DType

_BUFFER_IDS: Final = count(1)

ALIGNMENT: Final = 64
"""Bytes that every allocation is aligned to."""

Array: TypeAlias = Any
"""An array of the device's namespace."""

HostValue: TypeAlias = Any
"""A value on the host that decides a shape: a NumPy array, or a tuple of ints."""

Launchable: TypeAlias = Callable[[Any, Sequence[Any], Sequence[Any]], Sequence[Any]]
"""``kernel(xp, inputs, outputs)``, as `bytecode.kernel.Kernel` says."""


@final
class Buffer:
    """Memory of one device. The id is unique for the life of the process."""

    __slots__ = ("alive", "device", "id", "in_order", "memory", "nbytes", "owned")

    def __init__(self, device: DeviceApi, nbytes: int, memory: Any, owned: bool = True) -> None:
        self.device = device
        self.id = next(_BUFFER_IDS)
        self.nbytes = nbytes
        self.memory = memory
        """The device's own handle; nobody else looks at it."""

        self.alive = True
        self.owned = owned
        """Whether the device allocated it; ``False`` for a caller's memory that was wrapped."""

        self.in_order = True
        """Whether elements lie in row-major order; ``False`` for what is kept in panels."""

    def __repr__(self) -> str:
        return f"buffer {self.id} of {self.device.name} ({self.nbytes} bytes)"


@final
class Tensor:
    """A typed part of a buffer, contiguous in row-major order."""

    __slots__ = ("buffer", "dtype", "nbytes", "offset", "shape", "use", "view")

    def __init__(
        self, buffer: Buffer, offset: int, dtype: DType, shape: tuple[int, ...], nbytes: int
    ) -> None:
        self.buffer = buffer
        self.offset = offset
        self.dtype = dtype
        self.shape = shape
        self.nbytes = nbytes
        self.use = (buffer, offset, nbytes)
        """What of which buffer it is."""

        self.view: Any = None
        """The device's own array over this memory, once it has made one."""

    def __repr__(self) -> str:
        dims = ", ".join(map(str, self.shape))
        return f"{self.dtype}[{dims}] at {self.offset} of {self.buffer!r}"


Operand: TypeAlias = Union[Tensor, HostValue, None]
"""What a kernel gets: device memory, a host value, or ``None`` for an operand left out."""


def nbytes_of(dtype: DType, shape: Sequence[int]) -> int:
    """Return the bytes of a tensor with these dims."""
    total = dtype.itemsize
    for dim in shape:
        total *= dim
    return total


@final
@dataclass(frozen=True, slots=True)
class MemoryStatistics:
    """Bytes in use on a device now, at most since the last `DeviceApi.reset_peak`, and allowed."""

    current: int
    peak: int
    limit: int | None


@final
@dataclass(frozen=True, slots=True)
class Event:
    """A point in a device's work, to wait for."""

    device: DeviceName
    number: int
    handle: Any = field(default=None, compare=False, repr=False)


@final
@dataclass(frozen=True, slots=True)
class DeviceDescription:
    """What can be said of a device without opening it."""

    name: DeviceName
    available: bool = True
    reason: str | None = None
    """Exactly why it is not available."""

    memory_space: str | None = None
    """Devices with the same one see each other's memory."""

    missing_dtypes: frozenset[str] = frozenset()
    memory_limit: int | None = None


class DeviceApi(Protocol):
    """An open device. All sizes are bytes; all times nanoseconds."""

    name: DeviceName
    ledger: Ledger

    @property
    def xp(self) -> Any:
        """The array namespace of its kernels: ``numpy`` or ``cupy``."""
        ...

    def allocate(self, nbytes: int) -> Buffer:
        """Return fresh memory, aligned to `ALIGNMENT`; what is in it is not said.

        Raises:
            OutOfMemory: The device has not as much left.
        """
        ...

    def free(self, buffer: Buffer) -> None:
        """Give memory back; it must not be used afterwards.

        Raises:
            UseAfterFree: It was given back before.
            GuardViolation: Somebody wrote past its ends (devices that look).
        """
        ...

    def upload(self, array: Array, target: Tensor) -> None:
        """Copy a C-contiguous NumPy array of equal dtype and shape into ``target``."""
        ...

    def download(self, source: Tensor) -> Array:
        """Return a fresh NumPy array with the data of ``source``, all work on it done."""
        ...

    def peek(self, source: Tensor) -> Array:
        """Return what `download` does, for who only looks: it is in no ledger and takes no time."""
        ...

    def copy(self, source: Tensor, target: Tensor) -> None:
        """Copy within this device."""
        ...

    def launch(
        self, kernel: Launchable, inputs: Sequence[Operand], outputs: Sequence[Tensor | None]
    ) -> Sequence[Tensor]:
        """Run ``kernel`` here; return its results, fresh memory where ``outputs`` has ``None``.

        Raises:
            ForeignAccess: A tensor lies on another device.
            UseAfterFree: A tensor's memory was given back.
        """
        ...

    def poison(self, tensor: Tensor) -> None:
        """Overwrite with NaN, or 0x7B bytes where there is no NaN."""
        ...

    def event(self) -> Event:
        """Return the point after all work issued so far."""
        ...

    def wait(self, event: Event) -> None:
        """Let later work here begin only after ``event``."""
        ...

    def synchronize(self) -> None:
        """Return once all work issued here is done."""
        ...

    def memory(self) -> MemoryStatistics: ...

    def reset_peak(self) -> None:
        """Let the peak count from what is in use now."""
        ...

    def clock(self) -> int | None:
        """Return the time on this device's own clock; ``None`` if it has none."""
        ...


class DeviceKind(Protocol):
    """A kind of device: how many there are, and how to open one."""

    @property
    def name(self) -> str: ...

    def discover(self) -> Sequence[DeviceDescription]:
        """Return what is here, or one unavailable description that says why nothing is.

        Never raises, and opens nothing.
        """
        ...

    def describe(self, name: DeviceName) -> DeviceDescription:
        """Return what is known of one device; unavailable, with the reason, if there is none."""
        ...

    def open(self, name: DeviceName, budget: int | None = None) -> DeviceApi:
        """Open a device, on which no more than ``budget`` bytes may be in use.

        Without one it is what the device, or for memory of the host the machine, can give.

        Raises:
            DeviceUnavailable: It is not there.
        """
        ...
