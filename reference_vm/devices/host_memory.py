"""Devices whose memory is host memory: what `cpu` and `sim` have in common.

Arrays over that memory are made only for the owner's own kernels and copies. `HostMemory` checks
that, for each tensor: another device's memory raises `ForeignAccess`, freed memory `UseAfterFree`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np

from reference_vm.devices.api import (
    ALIGNMENT,
    DeviceApi,
    Launchable,
    MemoryStatistics,
    Operand,
    Tensor,
    nbytes_of,
)
from reference_vm.devices.faults import ForeignAccess, OutOfMemory, UseAfterFree
from reference_vm.devices.machine_memory import BOUNDLESS, Machine
from reference_vm.types import DeviceName
from reference_vm.types.arrays import from_numpy, to_numpy

POISON: Final = 0x7B


def aligned(nbytes: int) -> Any:
    """Return ``nbytes`` bytes of uninitialised memory that begin at a multiple of `ALIGNMENT`."""
    raw = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = -raw.__array_interface__["data"][0] % ALIGNMENT
    return raw[start : start + nbytes]


def view(device: DeviceApi, tensor: Tensor) -> Any:
    """Return the NumPy array over ``tensor``, for ``device``'s own use."""
    buffer = tensor.buffer
    if buffer.device is not device:
        raise ForeignAccess(device.name, buffer)
    if not buffer.alive:
        raise UseAfterFree(device.name, buffer)
    array = tensor.view
    if array is None:
        array = np.ndarray(tensor.shape, to_numpy(tensor.dtype), buffer.memory, tensor.offset)
        tensor.view = array
    return array


def launch(
    device: DeviceApi,
    kernel: Launchable,
    inputs: Sequence[Operand],
    outputs: Sequence[Tensor | None],
) -> Sequence[Tensor]:
    """Run a kernel on NumPy views of the device's memory."""
    arrays = [view(device, x) if type(x) is Tensor else x for x in inputs]
    targets = [None if out is None else view(device, out) for out in outputs]
    results = kernel(np, arrays, targets)
    if None not in outputs:
        return outputs  # type: ignore[return-value]  # none of them is None
    return [
        store(device, np.asarray(result)) if out is None else out
        for out, result in zip(outputs, results, strict=True)
    ]


def store(device: DeviceApi, array: Any) -> Tensor:
    """Return ``array`` copied to fresh memory of ``device``."""
    dtype = from_numpy(array.dtype)
    nbytes = nbytes_of(dtype, array.shape)
    tensor = Tensor(device.allocate(nbytes), 0, dtype, array.shape, nbytes)
    np.copyto(view(device, tensor), array)
    return tensor


def poison(device: DeviceApi, tensor: Tensor) -> None:
    """Fill with NaN, or with 0x7B bytes where the dtype has no NaN."""
    array = view(device, tensor)
    if tensor.dtype.is_float:
        array.fill(np.nan)
    elif tensor.dtype.is_integer:
        array.reshape(-1).view(np.uint8).fill(POISON)


@final
class Usage:
    """Counts the bytes in use, of those that may be."""

    __slots__ = ("current", "limit", "peak")

    def __init__(self, limit: int = BOUNDLESS) -> None:
        self.current = 0
        self.peak = 0
        self.limit = limit

    def add(self, nbytes: int) -> None:
        self.current += nbytes
        self.peak = max(self.peak, self.current)

    def fits(self, nbytes: int) -> bool:
        """Whether so many bytes more may be in use."""
        return self.current + nbytes <= self.limit

    def statistics(self) -> MemoryStatistics:
        limit = self.limit if self.limit < BOUNDLESS else None
        return MemoryStatistics(self.current, self.peak, limit)


@final
class Allowance:
    """The memory of the host that one device may use: its budget, and what the machine has."""

    __slots__ = ("_machine", "_name", "usage")

    def __init__(self, name: DeviceName, *budgets: int | None) -> None:
        self._name = name
        self._machine = Machine()
        self.usage = Usage(min((self._machine.limit, *(b for b in budgets if b is not None))))

    def check(self, nbytes: int) -> None:
        """Raise `OutOfMemory` unless so many bytes more may be in use."""
        if not self.usage.fits(nbytes):
            raise self._refusal(nbytes)

    def deliver(self, nbytes: int) -> None:
        """Raise `OutOfMemory` unless the machine has so many bytes for a caller's copy."""
        if not self._machine.has(nbytes):
            raise self._refusal(nbytes, self._machine.left())

    def fresh(self, size: int, nbytes: int) -> Any:
        """Return a block of ``size`` bytes from the system, for what asked for ``nbytes``.

        Raises:
            OutOfMemory: They are more than may be in use, or than the machine has.
        """
        self.check(nbytes)
        if not self._machine.has(size):
            raise self._refusal(nbytes, self._machine.left())
        try:
            return aligned(size)
        except (MemoryError, ValueError) as error:
            raise self._refusal(nbytes) from error

    def _refusal(self, nbytes: int, left: int | None = None) -> OutOfMemory:
        used = self.usage.statistics()
        return OutOfMemory(self._name, nbytes, used.current, used.limit, left)
