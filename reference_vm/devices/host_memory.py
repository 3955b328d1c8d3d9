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
    Operand,
    Tensor,
    nbytes_of,
)
from reference_vm.devices.faults import ForeignAccess, UseAfterFree
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
    """Counts the bytes in use."""

    __slots__ = ("current", "peak")

    def __init__(self) -> None:
        self.current = 0
        self.peak = 0

    def add(self, nbytes: int) -> None:
        self.current += nbytes
        self.peak = max(self.peak, self.current)
