"""``cpu:i``: host memory. Several indices are separate logical devices with memory of their own.

Freed blocks are kept for the next allocation of their size, since touching new pages costs more
than most kernels.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
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
    nbytes_of,
)
from reference_vm.devices.faults import OutOfMemory, UseAfterFree
from reference_vm.devices.ledger import Ledger
from reference_vm.types import DeviceName
from reference_vm.types.arrays import from_numpy

_KEPT: Final = 1 << 30
"""Bytes of free blocks that are kept at most."""

_CLASS: Final = 256
"""Blocks are of a multiple of so many bytes, so that near sizes share them."""


@final
class CpuDevice:
    """A logical device in host memory."""

    def __init__(self, name: DeviceName, budget: int | None = None) -> None:
        self.name = name
        self.ledger = Ledger()
        self._allowance = host_memory.Allowance(name, budget)
        self._usage = self._allowance.usage
        self._free: dict[int, list[Any]] = defaultdict(list)
        self._kept = 0
        self._events = 0

    @property
    def xp(self) -> Any:
        return np

    @property
    def usage(self) -> host_memory.Usage:
        """The count of bytes in use, for who gives out memory of this device by itself."""
        return self._usage

    def check(self, nbytes: int) -> None:
        """Raise `OutOfMemory` unless so many bytes more may be in use."""
        self._allowance.check(nbytes)

    def allocate(self, nbytes: int) -> Buffer:
        self._allowance.check(nbytes)
        size = -(-nbytes // _CLASS) * _CLASS
        blocks = self._free.get(size)
        if blocks:
            memory = blocks.pop()
            self._kept -= size
        else:
            memory = self.fresh(size, nbytes)
        self._usage.add(nbytes)
        return Buffer(self, nbytes, memory)

    def fresh(self, size: int, nbytes: int) -> Any:
        """Return a block of ``size`` bytes from the system, for who asked for ``nbytes``.

        They count as in use only when the caller says so in `usage`.

        Raises:
            OutOfMemory: They are more than may be in use, or than the machine has.
        """
        if not self._usage.fits(self._kept + size):
            self._let_go()
        try:
            return self._allowance.fresh(size, nbytes)
        except OutOfMemory:
            if not self._kept:
                raise
        self._let_go()
        return self._allowance.fresh(size, nbytes)

    def _let_go(self) -> None:
        """Give the free blocks back to the system."""
        self._free.clear()
        self._kept = 0

    def wrap(self, array: Any) -> Tensor:
        """Return a caller's C-contiguous array as a tensor of this device, without copying it.

        The caller keeps the memory; nothing writes to it, and `free` only forgets it.
        """
        dtype = from_numpy(array.dtype)
        nbytes = nbytes_of(dtype, array.shape)
        tensor = Tensor(Buffer(self, nbytes, array, False), 0, dtype, array.shape, nbytes)
        tensor.view = array
        return tensor

    def free(self, buffer: Buffer) -> None:
        if not buffer.alive:
            raise UseAfterFree(self.name, buffer)
        buffer.alive = False
        memory, buffer.memory = buffer.memory, None
        if not buffer.owned:
            return
        self._usage.current -= buffer.nbytes
        if self._kept + memory.nbytes <= _KEPT:
            self._free[memory.nbytes].append(memory)
            self._kept += memory.nbytes

    def upload(self, array: Any, target: Tensor) -> None:
        np.copyto(host_memory.view(self, target), array)
        self.ledger.note("in", target.nbytes)

    def deliver(self, nbytes: int) -> None:
        """Raise `OutOfMemory` unless the machine has so many bytes for a caller's copy."""
        self._allowance.deliver(nbytes)

    def download(self, source: Tensor) -> Any:
        self._allowance.deliver(source.nbytes)
        array = host_memory.view(self, source).copy()
        self.ledger.note("out", source.nbytes)
        return array

    def peek(self, source: Tensor) -> Any:
        return host_memory.view(self, source).copy()

    def copy(self, source: Tensor, target: Tensor) -> None:
        np.copyto(host_memory.view(self, target), host_memory.view(self, source))
        self.ledger.note("within", source.nbytes)

    def launch(
        self, kernel: Launchable, inputs: Sequence[Operand], outputs: Sequence[Tensor | None]
    ) -> Sequence[Tensor]:
        self.ledger.launches += 1
        return host_memory.launch(self, kernel, inputs, outputs)

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
        return None


@final
class CpuKind:
    """Logical host devices; as many as are named."""

    name: Final = "cpu"

    def discover(self) -> Sequence[DeviceDescription]:
        return (self.describe(DeviceName("cpu", 0)),)

    def describe(self, name: DeviceName) -> DeviceDescription:
        if name.variant is not None:
            return DeviceDescription(name, False, f"cpu has no variant {name.variant}")
        return DeviceDescription(name, memory_space=str(name))

    def open(self, name: DeviceName, budget: int | None = None) -> CpuDevice:
        return CpuDevice(name, budget)


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
