"""``sim[.variant]:i``: a simulated accelerator in host memory, as hostile as a real one.

Its memory is its own: another device's buffer raises at once, and so does its own after it was
freed. Fresh and freed memory is poisoned, every allocation stands between guard bytes that are
checked when it is freed, and a ledger counts what crossed the border. A *variant* limits it
further, or gives it a virtual clock; variants are the rows of `VARIANTS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, final

import numpy as np

from reference_vm.devices import host_memory
from reference_vm.devices.api import (
    Buffer,
    DeviceDescription,
    Event,
    Launchable,
    MemoryStatistics,
    Operand,
    Tensor,
)
from reference_vm.devices.faults import (
    DeviceUnavailable,
    GuardViolation,
    UnsupportedDtype,
    UseAfterFree,
)
from reference_vm.devices.ledger import Ledger
from reference_vm.types import DeviceName

_GUARD: Final = 64
_GUARDS: Final = bytes([0xA5]) * _GUARD
_GUARD_VALUES: Final = np.frombuffer(_GUARDS, np.uint8)


@final
@dataclass(frozen=True, slots=True)
class CostModel:
    """What the virtual clock charges."""

    launch_ns: int = 5_000
    copy_ns: int = 10_000
    bytes_per_ns: float = 16.0
    """Of copies across the border, and of what kernels read and write."""


@final
@dataclass(frozen=True, slots=True)
class Variant:
    """What is different about one row of `VARIANTS`."""

    summary: str
    missing_dtypes: frozenset[str] = frozenset()
    memory_limit: int | None = None
    cost: CostModel | None = None


_PLAIN: Final = Variant("no limits, no clock")

VARIANTS: Final[Mapping[str, Variant]] = MappingProxyType(
    {
        "no-f64": Variant("has no f64", frozenset({"f64"})),
        "no-i64": Variant("has no 64-bit integers", frozenset({"i64", "u64"})),
        "no-f16": Variant("has no 16-bit floats", frozenset({"f16", "bf16"})),
        "small-memory": Variant("has one MiB", memory_limit=1 << 20),
        "tiny-memory": Variant("has four KiB", memory_limit=1 << 12),
        "timed": Variant("has a virtual clock", cost=CostModel()),
    }
)


@final
class SimDevice:
    """A simulated accelerator."""

    def __init__(
        self, name: DeviceName, variant: Variant = _PLAIN, budget: int | None = None
    ) -> None:
        self.name = name
        self.variant = variant
        self.ledger = Ledger()
        self._allowance = host_memory.Allowance(name, variant.memory_limit, budget)
        self._usage = self._allowance.usage
        self._blocks: dict[int, Any] = {}
        """Each allocation with its guards, by the buffer's id."""

        self._events = 0
        self._now = 0

    @property
    def xp(self) -> Any:
        return np

    def allocate(self, nbytes: int) -> Buffer:
        block = self._allowance.fresh(nbytes + 2 * _GUARD, nbytes)
        block.fill(host_memory.POISON)
        block[:_GUARD] = block[_GUARD + nbytes :] = _GUARD_VALUES
        self._usage.add(nbytes)
        buffer = Buffer(self, nbytes, block[_GUARD : _GUARD + nbytes])
        self._blocks[buffer.id] = block
        return buffer

    def free(self, buffer: Buffer) -> None:
        if not buffer.alive:
            raise UseAfterFree(self.name, buffer)
        buffer.alive = False
        self._usage.current -= buffer.nbytes
        buffer.memory.fill(host_memory.POISON)
        buffer.memory = None
        block = self._blocks.pop(buffer.id)
        if block[:_GUARD].tobytes() != _GUARDS:
            raise GuardViolation(self.name, buffer, "before")
        if block[_GUARD + buffer.nbytes :].tobytes() != _GUARDS:
            raise GuardViolation(self.name, buffer, "after")

    def upload(self, array: Any, target: Tensor) -> None:
        np.copyto(self._view(target), array)
        self._crossed("in", target.nbytes)

    def download(self, source: Tensor) -> Any:
        self._allowance.deliver(source.nbytes)
        array = self._view(source).copy()
        self._crossed("out", source.nbytes)
        return array

    def peek(self, source: Tensor) -> Any:
        return self._view(source).copy()

    def copy(self, source: Tensor, target: Tensor) -> None:
        np.copyto(self._view(target), self._view(source))
        self._crossed("within", source.nbytes)

    def launch(
        self, kernel: Launchable, inputs: Sequence[Operand], outputs: Sequence[Tensor | None]
    ) -> Sequence[Tensor]:
        for tensor in (*inputs, *outputs):
            if type(tensor) is Tensor:
                self._check_dtype(tensor)
        self.ledger.launches += 1
        results = host_memory.launch(self, kernel, inputs, outputs)
        cost = self.variant.cost
        if cost is not None:
            touched = sum(t.nbytes for t in (*inputs, *results) if type(t) is Tensor)
            self._now += cost.launch_ns + int(touched / cost.bytes_per_ns)
        return results

    def poison(self, tensor: Tensor) -> None:
        host_memory.poison(self, tensor)

    def event(self) -> Event:
        self._events += 1
        return Event(self.name, self._events)

    def wait(self, event: Event) -> None:
        """Return at once: all work here is done when it is issued."""

    def synchronize(self) -> None:
        """Return at once: all work here is done when it is issued."""

    def memory(self) -> MemoryStatistics:
        return self._usage.statistics()

    def reset_peak(self) -> None:
        self._usage.peak = self._usage.current

    def clock(self) -> int | None:
        return None if self.variant.cost is None else self._now

    def _view(self, tensor: Tensor) -> Any:
        self._check_dtype(tensor)
        return host_memory.view(self, tensor)

    def _check_dtype(self, tensor: Tensor) -> None:
        if tensor.dtype.name in self.variant.missing_dtypes:
            raise UnsupportedDtype(self.name, tensor.dtype)

    def _crossed(self, direction: str, nbytes: int) -> None:
        self.ledger.note(direction, nbytes)
        cost = self.variant.cost
        if cost is not None:
            self._now += cost.copy_ns + int(nbytes / cost.bytes_per_ns)


@final
class SimKind:
    """Simulated accelerators; as many as are named, of each variant."""

    name: Final = "sim"

    def discover(self) -> Sequence[DeviceDescription]:
        return (self.describe(DeviceName("sim", 0)),)

    def describe(self, name: DeviceName) -> DeviceDescription:
        variant = _PLAIN if name.variant is None else VARIANTS.get(name.variant)
        if variant is None:
            known = ", ".join(VARIANTS)
            return DeviceDescription(
                name, False, f"sim has no variant {name.variant}; it has {known}"
            )
        return DeviceDescription(
            name,
            memory_space=str(name),
            missing_dtypes=variant.missing_dtypes,
            memory_limit=variant.memory_limit,
        )

    def open(self, name: DeviceName, budget: int | None = None) -> SimDevice:
        description = self.describe(name)
        if not description.available:
            raise DeviceUnavailable(name, description.reason)
        return SimDevice(name, _PLAIN if name.variant is None else VARIANTS[name.variant], budget)
