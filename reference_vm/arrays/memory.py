"""What operators get: memory of a device, sizes, and what is read on the host."""

from __future__ import annotations

from typing import Any, TypeAlias, Union

import numpy as np

from reference_vm.devices.api import DeviceApi, Tensor, nbytes_of
from reference_vm.types.arrays import from_numpy


class Sizes(tuple[int, ...]):
    """Sizes that decide a shape."""

    __slots__ = ()


Given: TypeAlias = Union[Tensor, Sizes, "np.ndarray[Any, Any]", None]
"""An operand: on the device, sizes, small data that is read on the host, or left out."""


def upload(device: DeviceApi, array: np.ndarray[Any, Any]) -> Tensor:
    """Return memory of ``device`` that holds a copy of ``array``."""
    dtype = from_numpy(array.dtype)
    nbytes = nbytes_of(dtype, array.shape)
    tensor = Tensor(device.allocate(nbytes), 0, dtype, array.shape, nbytes)
    device.upload(np.ascontiguousarray(array).reshape(array.shape), tensor)
    return tensor
