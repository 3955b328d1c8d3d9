"""A program in the memory of a session's devices: constants placed, kernels made, steps ready."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np

from reference_vm.bytecode.executable import (
    ConstantSlot,
    Executable,
    FunctionCode,
    InlineData,
)
from reference_vm.bytecode.kernel import Kernel, ShapeFunction
from reference_vm.devices.api import DeviceApi, Tensor, nbytes_of
from reference_vm.devices.cpu import CpuDevice
from reference_vm.devices.faults import DeviceError
from reference_vm.diagnostics import DataError
from reference_vm.jit.panels import host_width, pack
from reference_vm.runtime.faults import located_constant
from reference_vm.runtime.frames import PreparedFunction
from reference_vm.runtime.log import ALLOC, PathLog, Template
from reference_vm.runtime.sizes import check_extent
from reference_vm.runtime.trace import Cause
from reference_vm.runtime.weights import WeightsFolder
from reference_vm.types import HOST, DeviceName
from reference_vm.types.arrays import to_numpy


class Functions(Protocol):
    """The functions of an image, by index."""

    def __getitem__(self, number: int, /) -> PreparedFunction: ...


@final
@dataclass
class Image:
    """What steps are made from."""

    executable: Executable
    devices: tuple[DeviceApi, ...]
    """In the order of the executable's table."""

    host: CpuDevice
    kernels: Sequence[Kernel]
    shape_function: Callable[[int], ShapeFunction]
    """Returns that of a kernel, by its index."""

    constants: tuple[Tensor, ...] = ()
    functions: Functions = ()
    proven: bool = True
    """Whether tensors certainly are what the bytecode says of them; if not, every launch looks."""

    def slots(self, code: FunctionCode) -> Mapping[str, int]:
        """Return where each symbol of a function is in `Frame.symbols`."""
        return {symbol: i for i, symbol in enumerate(code.symbols)}


def place_constants(
    executable: Executable, devices: Sequence[DeviceApi], weights: WeightsFolder, log: PathLog
) -> tuple[Tensor, ...]:
    """Return every constant on its device; the log gets one copy for each.

    Raises:
        CompileError: A weights file is at fault.
        ExecutionError: No memory is left for one.
    """
    placed = []
    for slot in executable.constants:
        try:
            placed.append(_place(slot, devices[slot.device], weights, log))
        except (DataError, DeviceError, MemoryError) as error:
            raise located_constant(error, slot) from error
    return tuple(placed)


def _place(slot: ConstantSlot, device: DeviceApi, weights: WeightsFolder, log: PathLog) -> Tensor:
    check_extent(slot.shape, slot.dtype.itemsize)
    array = _data(slot, weights)
    tensor = _in_panels(slot, array, device) if slot.packed else _in_order(slot, array, device)
    log.append((ALLOC, (), (tensor.use,), None, None))
    if device.name != HOST:
        log.append((_constant_template(slot, device.name), (), (tensor.use,), None, None))
    return tensor


def _in_order(slot: ConstantSlot, array: Any, device: DeviceApi) -> Tensor:
    nbytes = nbytes_of(slot.dtype, slot.shape)
    tensor = Tensor(device.allocate(nbytes), 0, slot.dtype, slot.shape, nbytes)
    device.upload(array, tensor)
    return tensor


def _in_panels(slot: ConstantSlot, array: Any, device: DeviceApi) -> Tensor:
    """Return a matrix that is kept in panels: a tensor of its own dims and the panels' bytes."""
    panels = pack(array, host_width(slot.dtype))
    buffer = device.allocate(panels.nbytes)
    buffer.in_order = False
    device.upload(panels, Tensor(buffer, 0, slot.dtype, panels.shape, panels.nbytes))
    return Tensor(buffer, 0, slot.dtype, slot.shape, panels.nbytes)


def _constant_template(slot: ConstantSlot, device: DeviceName) -> Template:
    cause = Cause("constant", slot.value)
    return Template(
        "copy", "copy", str(device), write_values=(slot.value,), cause=cause, source=str(HOST)
    )


def _data(slot: ConstantSlot, weights: WeightsFolder) -> Any:
    if isinstance(slot.data, InlineData):
        flat = np.frombuffer(slot.data.data, to_numpy(slot.dtype))
        return flat.reshape(slot.shape)
    return weights.read(slot, slot.data)
