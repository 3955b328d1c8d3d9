"""``cuda:i``: NVIDIA devices, through CuPy's memory and streams.

Every call into CuPy is in this module. Work is issued on one non-blocking stream per device, and
kernels are operators' own `compute` over CuPy's namespace. Nothing is loaded on import:
`CudaKind.discover` says step by step what is missing, and never raises.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, final

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
from reference_vm.devices.faults import (
    DeviceFault,
    DeviceUnavailable,
    ForeignAccess,
    OutOfMemory,
    UseAfterFree,
)
from reference_vm.devices.ledger import Ledger
from reference_vm.types import DeviceName
from reference_vm.types.arrays import from_numpy, to_numpy

_DRIVER: Final = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


@final
class CudaDevice:
    """One NVIDIA device."""

    def __init__(self, name: DeviceName, cupy: Any, budget: int | None = None) -> None:
        self.name = name
        self.ledger = Ledger()
        self._cupy = cupy
        self._device = cupy.cuda.Device(name.index)
        self._usage = host_memory.Usage() if budget is None else host_memory.Usage(budget)
        self._events = 0
        with self._device:
            self._stream = cupy.cuda.Stream(non_blocking=True)

    @property
    def xp(self) -> Any:
        return self._cupy

    @contextmanager
    def _issuing(self) -> Iterator[None]:
        """Make this device and its stream current, and turn CUDA's errors into ours."""
        try:
            with self._device, self._stream:
                yield
        except self._cupy.cuda.runtime.CUDARuntimeError as error:
            raise DeviceFault(self.name, str(error)) from error

    def allocate(self, nbytes: int) -> Buffer:
        if not self._usage.fits(nbytes):
            raise OutOfMemory(self.name, nbytes, self._usage.current, self._limit())
        try:
            with self._issuing():
                memory = self._cupy.cuda.alloc(nbytes)
        except self._cupy.cuda.memory.OutOfMemoryError as error:
            raise OutOfMemory(self.name, nbytes, self._usage.current, self._limit()) from error
        self._usage.add(nbytes)
        return Buffer(self, nbytes, memory)

    def free(self, buffer: Buffer) -> None:
        if not buffer.alive:
            raise UseAfterFree(self.name, buffer)
        buffer.alive = False
        buffer.memory = None  # CuPy's pool takes it back in the order of this stream
        self._usage.current -= buffer.nbytes

    def upload(self, array: Any, target: Tensor) -> None:
        if not target.nbytes:
            return
        with self._issuing():
            self._view(target).set(array, stream=self._stream)
            self._stream.synchronize()  # the caller may change its memory at once
        self.ledger.note("in", target.nbytes)

    def download(self, source: Tensor) -> Any:
        array = self.peek(source)
        if source.nbytes:
            self.ledger.note("out", source.nbytes)
        return array

    def peek(self, source: Tensor) -> Any:
        with self._issuing():
            return self._view(source).get(stream=self._stream)

    def copy(self, source: Tensor, target: Tensor) -> None:
        if not target.nbytes:
            return
        with self._issuing():
            self._view(target)[...] = self._view(source)
        self.ledger.note("within", source.nbytes)

    def launch(
        self, kernel: Launchable, inputs: Sequence[Operand], outputs: Sequence[Tensor | None]
    ) -> Sequence[Tensor]:
        arrays = [self._view(x) if isinstance(x, Tensor) else x for x in inputs]
        targets = [None if out is None else self._view(out) for out in outputs]
        with self._issuing():
            results = kernel(self._cupy, arrays, targets)
        self.ledger.launches += 1
        return [
            self._store(result) if out is None else out
            for out, result in zip(outputs, results, strict=True)
        ]

    def _store(self, result: Any) -> Tensor:
        """Return a kernel's own array copied to memory of this device that is accounted for."""
        dtype = from_numpy(result.dtype)
        nbytes = nbytes_of(dtype, result.shape)
        tensor = Tensor(self.allocate(nbytes), 0, dtype, tuple(result.shape), nbytes)
        with self._issuing():
            self._view(tensor)[...] = result
        return tensor

    def poison(self, tensor: Tensor) -> None:
        array = self._view(tensor)
        with self._issuing():
            if tensor.dtype.is_float:
                array.fill(float("nan"))
            elif tensor.dtype.is_integer:
                array.reshape(-1).view("uint8").fill(host_memory.POISON)

    def event(self) -> Event:
        self._events += 1
        with self._issuing():
            handle = self._cupy.cuda.Event(disable_timing=True)
            handle.record(self._stream)
        return Event(self.name, self._events, handle)

    def wait(self, event: Event) -> None:
        if event.handle is not None:
            self._stream.wait_event(event.handle)

    def synchronize(self) -> None:
        with self._issuing():
            self._stream.synchronize()

    def memory(self) -> MemoryStatistics:
        return MemoryStatistics(self._usage.current, self._usage.peak, self._limit())

    def reset_peak(self) -> None:
        self._usage.peak = self._usage.current

    def clock(self) -> int | None:
        return None

    def _limit(self) -> int:
        with self._issuing():
            _, total = self._cupy.cuda.runtime.memGetInfo()
        return min(int(total), self._usage.limit)

    def _view(self, tensor: Tensor) -> Any:
        buffer = tensor.buffer
        if buffer.device is not self:
            raise ForeignAccess(self.name, buffer)
        if not buffer.alive:
            raise UseAfterFree(self.name, buffer)
        if tensor.view is None:
            pointer = buffer.memory + tensor.offset
            dtype = to_numpy(tensor.dtype)
            tensor.view = self._cupy.ndarray(tensor.shape, dtype=dtype, memptr=pointer)
        return tensor.view


@final
class CudaKind:
    """NVIDIA devices, as many as the driver shows."""

    name: Final = "cuda"

    def discover(self) -> Sequence[DeviceDescription]:
        count, reason = probe()
        if reason is not None:
            return (DeviceDescription(DeviceName("cuda", 0), False, reason),)
        return tuple(self._described(DeviceName("cuda", i)) for i in range(count))

    def describe(self, name: DeviceName) -> DeviceDescription:
        if name.variant is not None:
            return DeviceDescription(name, False, f"cuda has no variant {name.variant}")
        count, reason = probe()
        if reason is not None:
            return DeviceDescription(name, False, reason)
        if name.index >= count:
            return DeviceDescription(name, False, f"the driver shows {count} device(s)")
        return self._described(name)

    def open(self, name: DeviceName, budget: int | None = None) -> CudaDevice:
        description = self.describe(name)
        if not description.available:
            raise DeviceUnavailable(name, description.reason)
        return CudaDevice(name, import_module("cupy"), budget)

    @staticmethod
    def _described(name: DeviceName) -> DeviceDescription:
        return DeviceDescription(name, memory_space=str(name))


def probe() -> tuple[int, str | None]:
    """Return how many devices there are, and exactly why there is none.

    Looks in the order package, driver, import, devices, compiler, so that the reason names the
    first thing that is missing. Never raises. CuPy takes half a second to import, so it is not
    where there is no driver for it.
    """
    if find_spec("cupy") is None:
        return 0, "the package cupy is not installed (pip install 'hettest[cuda13]')"
    if not has_driver():
        return 0, f"there is no NVIDIA driver ({_DRIVER} cannot be loaded)"
    try:
        cupy = import_module("cupy")
    except ImportError as error:
        return 0, f"cupy cannot be imported: {error}"
    return _probe_driver(cupy)


def has_driver() -> bool:
    """Whether the driver's library can be loaded, by which CuPy reaches every device."""
    try:
        ctypes.CDLL(_DRIVER)
    except OSError:
        return False
    return True


def _probe_driver(cupy: Any) -> tuple[int, str | None]:
    runtime = cupy.cuda.runtime
    if runtime.driverGetVersion() == 0:
        return 0, "there is no NVIDIA driver (the driver's version is 0)"
    try:
        count = int(runtime.getDeviceCount())
    except runtime.CUDARuntimeError as error:
        return 0, f"the driver refuses (status {error.status}): {error}"
    if count == 0:
        return 0, "the driver shows no device"
    missing = _missing_libraries(cupy)
    return (0, missing) if missing else (count, None)


def _missing_libraries(cupy: Any) -> str | None:
    """Return what operators need and cannot be loaded."""
    try:
        cupy.cuda.nvrtc.getVersion()
    except (ImportError, RuntimeError) as error:
        return f"kernels cannot be compiled, NVRTC is missing: {error}"
    return None
