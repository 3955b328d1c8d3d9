"""Copying a tensor from one device to another.

The host's memory is where every other device can copy from and to; two devices that are not the
host exchange data through it.
"""

from __future__ import annotations

from reference_vm.devices.api import DeviceApi, Tensor
from reference_vm.devices.cpu import CpuDevice
from reference_vm.devices.host_memory import view
from reference_vm.types import HOST


def transfer(source: Tensor, target: Tensor) -> str | None:
    """Copy ``source`` into ``target``, of equal dtype and size, on whichever devices they lie.

    Returns the device that the data was staged through, or ``None``.
    """
    origin: DeviceApi = source.buffer.device
    destination: DeviceApi = target.buffer.device
    if origin is destination:
        destination.copy(source, target)
        return None
    if isinstance(origin, CpuDevice):
        destination.upload(view(origin, source), target)
        origin.ledger.note("out", source.nbytes)
        return None
    staged = origin.download(source)
    destination.upload(staged, target)
    return None if isinstance(destination, CpuDevice) else str(HOST)
