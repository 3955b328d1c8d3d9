"""All that an implementation writes to be tested.

`Backend.compile` takes a program, a device map and options; `Executable.run` takes arguments and
returns an `Observation`. Nothing here is inherited from: a class with these methods is a backend.
What a backend cannot show stays ``None`` and is not claimed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, Union, final

PROTOCOL = 1
"""The number of this protocol; docs/reference/protocol.md says what may change while it stays."""

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.generic]
    Value: TypeAlias = Union[Array, str, tuple["Value", ...]]


class Mode(StrEnum):
    """How an executable is driven; results must not depend on it."""

    DIRECT = "direct"


class Purpose(StrEnum):
    """What the runs of a compiled program are for."""

    CHECK = "check"
    """Whatever is claimed is to be shown."""

    TIME = "time"
    """Only speed counts: nothing but ``results`` need be shown."""

    PROFILE = "profile"
    """As `CHECK`, with as little distortion of ``profile`` as can be: what slows a run down, such
    as keeping ``intermediates``, may be left out."""


class Rejected(Exception):
    """The implementation does not accept the program.

    Raise nothing else for a program at fault: any other exception counts as a failure of the
    implementation.
    """

    def __init__(
        self,
        stage: str,
        code: str | None = None,
        line: int | None = None,
        message: str | None = None,
    ) -> None:
        super().__init__(message or f"rejected at {stage}: {code or 'no code given'}")
        self.stage = stage
        """``parse``, ``verify``, ``compile`` or ``run``."""

        self.code = code
        self.line = line


class Inexpressible(Exception):
    """The program cannot be written in the form that was asked for; says why."""


class Program(Protocol):
    """The same program in every form; an adapter uses the one it declared."""

    @property
    def id(self) -> str:
        """The case's id, or a name for messages."""
        ...

    @property
    def text(self) -> str:
        """The canonical text."""
        ...

    def json(self) -> dict[str, Any]:
        """The program as a tree of plain data, which is the caller's to keep.

        For backends that parse no text; ``docs/reference/program-json.md`` explains the tree. It
        is asked for well-formed programs only.
        """
        ...

    def onnx(self, entry: str | None = None) -> bytes:
        """One function of the program as a serialized ONNX model; ``main`` if none is named.

        Raises:
            Inexpressible: ONNX has no way to say it.
        """
        ...


@final
@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """One device that a backend knows of."""

    name: str
    """``kind[.variant]:index``, such as ``sim:0``."""

    kind: str
    index: int
    available: bool = True
    reason: str | None = None
    """Exactly why it is not available."""

    memory_space: str | None = None
    """Devices with the same one see each other's memory."""


@final
@dataclass(frozen=True, slots=True)
class Options:
    """What a case asks of the compiler."""

    policy: str = "copy"
    """``copy``, ``replicate`` or ``error``."""

    default: str | None = None
    """The device for what nothing places."""

    entry: str = "main"
    """The function that will be run; for backends that compile one at a time."""

    extra: Mapping[str, Any] = field(default_factory=dict)
    """Options of the backend itself."""

    perturb: str | None = None
    """A device whose every floating result of an operator is to be doubled as it is made; asked
    only of backends that claim ``observe:perturbation``."""

    purpose: Purpose = Purpose.CHECK
    """Benchmarks compile for the others; a backend may ignore it."""


@final
@dataclass(frozen=True, slots=True)
class Execution:
    """One operator that ran."""

    op: str
    defines: tuple[str, ...]
    """The source variables it computed, fused-away ones included: ``main/%s``."""

    device: str


@final
@dataclass(frozen=True, slots=True)
class Copy:
    """One transfer, or ``count`` of them where a backend knows only a total per pair of devices."""

    source: str
    target: str
    value: str | None = None
    """``main/%s``, if known."""

    bytes: int | None = None
    cause: str | None = None
    """``read``, ``host``, ``result``, ``explicit``, ``argument``, ``constant``, ``deliver``; a
    backend that cannot tell leaves it ``None``."""

    reader: str | None = None
    count: int = 1


@final
@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes in use on one device."""

    start: int
    end: int
    peak: int


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """What a meter has counted on one device during one run.

    A meter is not the implementation's own report: the ledger of a simulated device, a layer
    between the implementation and its driver, the statistics of an allocator.
    """

    launches: int | None = None
    """Kernels, and calls of libraries that do their work."""

    copies_in: int | None = None
    copies_out: int | None = None
    bytes_in: int | None = None
    bytes_out: int | None = None


@final
@dataclass(frozen=True, slots=True)
class Timing:
    """How long one part of a run took."""

    device: str
    seconds: float
    """On the device's own clock."""

    kind: str
    """``kernel``, ``copy``, or ``other``."""

    op: str = ""
    count: int = 1


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one run let the kit see."""

    results: Value
    """An array, or a tuple of results, nested as the program says; a value of a data type begins
    with its constructor's name."""

    executions: Sequence[Execution] | None = None
    copies: Sequence[Copy] | None = None
    memory: Mapping[str, Memory] | None = None
    intermediates: Mapping[str, Array] | None = None
    """By source variable, ``main/%s``: what was really computed in this run."""

    profile: Sequence[Timing] | None = None
    """Where the time of this run went."""

    metered: Mapping[str, Reading] | None = None
    """By device: what a meter counted during this run alone; from claims ``observe:meter``."""

    spaces: Mapping[str, str] | None = None
    """By source variable: the device whose memory held what its operator made, as read off the
    array and not off a plan; from claims ``observe:spaces``."""


class Executable(Protocol):
    """A program ready to run; the kit may run it more than once."""

    def run(self, entry: str, args: Sequence[Value], mode: Mode = Mode.DIRECT) -> Observation:
        """Run function ``entry``; arguments arrive on the host.

        Raises:
            Rejected: The arguments are at fault, or the run ended in a located error.
        """
        ...


class Backend(Protocol):
    """Drives one implementation."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    @property
    def capabilities(self) -> frozenset[str]:
        """What it can do, as words and patterns (`hettest.capability`)."""
        ...

    def devices(self) -> Sequence[DeviceInfo]:
        """All devices it knows of, the unavailable ones with the reason."""
        ...

    def compile(
        self, program: Program, device_map: Mapping[str, str], options: Options
    ) -> Executable:
        """Return ``program`` ready to run, with its roles bound as ``device_map`` says.

        Raises:
            Rejected: The program is at fault.
        """
        ...

    def close(self) -> None:
        """Give back what was opened."""
        ...


class DeviceAccess(Protocol):
    """One device, opened: what the fixture ``device`` offers to tests that use it by hand."""

    def put(self, array: Array) -> Any:
        """Return a buffer on the device that holds a copy of ``array``."""
        ...

    def get(self, buffer: Any) -> Array:
        """Return a copy of a buffer in host memory."""
        ...

    def synchronize(self) -> None:
        """Wait until the device has done all that it was given."""
        ...

    @property
    def xp(self) -> Any:
        """The array namespace whose functions take what `put` returns and run on the device.

        Leave it out if there is none: NumPy would compute on the host, and is refused.
        """
        ...


class TellsNotes(Protocol):
    """What a backend may offer beside `Backend`: what ``hettest doctor`` says of it."""

    def notes(self) -> Sequence[str]:
        """Return sentences on this installation, such as what is missing and how to get it."""
        ...


class Synchronizes(Protocol):
    """What an executable may offer beside `Executable`, for benchmarks."""

    def synchronize(self) -> None:
        """Wait until all that runs of it began is done, on every device."""
        ...


class BringsWaivers(Protocol):
    """What a backend may offer beside `Backend`: its known faults."""

    @property
    def waivers(self) -> Path:
        """A waiver file, in force unless another one is named."""
        ...


class OpensDevices(Protocol):
    """What a backend may offer beside `Backend`: its devices by themselves."""

    def open(self, device: str) -> DeviceAccess:
        """Return the device, ready for use."""
        ...
