"""The simulated accelerator is as hostile as a real one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference_vm.devices.api import Tensor
from reference_vm.devices.catalog import describe, open_device
from reference_vm.devices.faults import (
    DeviceUnavailable,
    GuardViolation,
    OutOfMemory,
    UnsupportedDtype,
)
from reference_vm.devices.sim import VARIANTS, SimDevice
from reference_vm.types import DeviceName
from reference_vm.types.dtype import F32, F64, U8


def opened(name: str = "sim:0") -> SimDevice:
    device = open_device(DeviceName.parse(name))
    assert isinstance(device, SimDevice)
    return device


def floats(device: SimDevice, count: int = 4) -> Tensor:
    return Tensor(device.allocate(4 * count), 0, F32, (count,), 4 * count)


def test_fresh_memory_is_poisoned() -> None:
    device = opened()
    tensor = Tensor(device.allocate(16), 0, U8, (16,), 16)
    assert (device.download(tensor) == 0x7B).all()


def test_freed_memory_is_poisoned_under_who_still_holds_it() -> None:
    device = opened()
    held: list[Any] = []
    tensor = floats(device)
    device.upload(np.ones(4, np.float32), tensor)

    def keep(xp: Any, inputs: Any, outputs: Any) -> Any:
        held.extend(inputs)
        return ()

    device.launch(keep, [tensor], [])
    device.free(tensor.buffer)
    assert (held[0].view(np.uint8) == 0x7B).all()


@pytest.mark.parametrize(("offset", "side"), [(-1, "before"), (16, "after")])
def test_a_write_past_the_ends_is_found_when_the_memory_is_freed(offset: int, side: str) -> None:
    device = opened()
    tensor = floats(device)

    def stray(xp: Any, inputs: Any, outputs: Any) -> Any:
        raw = inputs[0].base
        start = inputs[0].ctypes.data - raw.ctypes.data
        raw[start + offset] = 1
        return ()

    device.launch(stray, [tensor], [])
    with pytest.raises(GuardViolation, match=f"bytes {side} an allocation"):
        device.free(tensor.buffer)


def test_a_budget_is_kept_and_memory_that_is_given_back_counts_again() -> None:
    device = opened("sim.tiny-memory:0")
    half = device.allocate(2048)
    device.allocate(2048)
    with pytest.raises(
        OutOfMemory, match=r"sim\.tiny-memory:0 cannot allocate 1 bytes: 4096 of 4096"
    ):
        device.allocate(1)
    device.free(half)
    device.allocate(2048)


def test_a_missing_dtype_is_refused_wherever_it_turns_up() -> None:
    device = opened("sim.no-f64:0")
    tensor = Tensor(device.allocate(8), 0, F64, (1,), 8)
    with pytest.raises(UnsupportedDtype, match="has no f64"):
        device.upload(np.ones(1), tensor)
    with pytest.raises(UnsupportedDtype):
        device.launch(lambda xp, inputs, outputs: (), [tensor], [])


def test_the_virtual_clock_charges_latency_and_bytes() -> None:
    device = opened("sim.timed:0")
    cost = VARIANTS["timed"].cost
    assert cost is not None
    tensor = floats(device, 1600)
    device.upload(np.ones(1600, np.float32), tensor)
    assert device.clock() == cost.copy_ns + 400
    device.launch(lambda xp, inputs, outputs: (), [tensor], [])
    assert device.clock() == cost.copy_ns + 400 + cost.launch_ns + 400


def test_an_unknown_variant_is_named_with_those_there_are() -> None:
    with pytest.raises(DeviceUnavailable, match="sim has no variant fast; it has no-f64, "):
        open_device(DeviceName.parse("sim.fast:0"))


def test_variants_say_what_they_lack_without_being_opened() -> None:
    assert describe(DeviceName.parse("sim.no-f64:3")).missing_dtypes == {"f64"}
    assert describe(DeviceName.parse("sim.small-memory")).memory_limit == 1 << 20
