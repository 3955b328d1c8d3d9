"""A stand-in for the part of CuPy that `devices.cuda` uses, on NumPy, recording every call.

`test_cupy_names.py` holds its names and keywords to those of the real package where that is
installed, so a call that the real one does not have cannot hide here.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

MEMORY = 1 << 24
"""Bytes of the stand-in's device."""


class CUDARuntimeError(RuntimeError):
    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status


class OutOfMemoryError(MemoryError):
    pass


class FakeArray(np.ndarray[Any, Any]):
    """A device array: CuPy's `set` and `get` on NumPy's memory."""

    def set(self, arr: Any, stream: Any = None) -> None:
        assert arr.dtype == self.dtype
        assert arr.shape == self.shape
        self[...] = arr

    def get(self, stream: Any = None) -> Any:
        return np.array(self)


class MemoryPointer:
    def __init__(self, block: Any, offset: int = 0) -> None:
        self.block = block
        self.offset = offset

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.block, self.offset + offset)


class FakeCupy:
    """The module. Calls are recorded by name, in order."""

    def __init__(self, driver: int = 13000, devices: int = 2, status: int | None = None) -> None:
        self.calls: list[str] = []
        self.used = 0
        calls = self.calls

        class Context:
            def __enter__(self) -> Any:
                return self

            def __exit__(self, *exception: object) -> None:
                pass

        class Device(Context):
            def __init__(self, device: int) -> None:
                calls.append("Device")
                self.id = device

        class Stream(Context):
            def __init__(self, non_blocking: bool = False) -> None:
                assert non_blocking, "the null stream orders against everything"
                calls.append("Stream")

            def synchronize(self) -> None:
                calls.append("Stream.synchronize")

            def wait_event(self, event: Any) -> None:
                assert event.recorded, "waiting on an event that was not recorded waits for nothing"
                calls.append("Stream.wait_event")

        class Event:
            recorded = False

            def __init__(self, disable_timing: bool = False) -> None:
                calls.append("Event")

            def record(self, stream: Any) -> None:
                self.recorded = True
                calls.append("Event.record")

        def get_device_count() -> int:
            if status is not None:
                raise CUDARuntimeError(status)
            return devices

        self.cuda = SimpleNamespace(
            Device=Device,
            Stream=Stream,
            Event=Event,
            alloc=self._alloc,
            memory=SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
            nvrtc=SimpleNamespace(getVersion=lambda: (13, 0)),
            runtime=SimpleNamespace(
                CUDARuntimeError=CUDARuntimeError,
                driverGetVersion=lambda: driver,
                getDeviceCount=get_device_count,
                memGetInfo=lambda: (MEMORY, MEMORY),
            ),
        )

    def _alloc(self, size: int) -> MemoryPointer:
        self.calls.append("alloc")
        if size > MEMORY:
            raise OutOfMemoryError(size)
        return MemoryPointer(np.full(size, 0x55, np.uint8))

    def ndarray(self, shape: tuple[int, ...], dtype: Any, memptr: MemoryPointer) -> FakeArray:
        self.calls.append("ndarray")
        return FakeArray(shape, dtype, memptr.block, memptr.offset)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)
