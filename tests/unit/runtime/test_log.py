"""A log keeps the last records, says when it lost some, and keeps no memory alive."""

from __future__ import annotations

import gc
import weakref

import numpy as np

from reference_vm.devices.api import Tensor
from reference_vm.devices.catalog import open_device
from reference_vm.runtime.log import ALLOC, FREE, PathLog, Template
from reference_vm.types import DeviceName
from reference_vm.types.dtype import F32


def tensor() -> Tensor:
    device = open_device(DeviceName("sim", 0))
    return Tensor(device.allocate(16), 0, F32, (4,), 16)


def test_a_long_run_keeps_the_last_records_and_says_so() -> None:
    log = PathLog(limit=3)
    use = tensor().use
    for kind in ("a", "b", "c", "d"):
        log.append((Template(kind, kind, "sim:0"), (), (use,), None, None))
    trace = log.trace()
    assert [r.kind for r in trace] == ["b", "c", "d"]
    assert trace.truncated


def test_a_run_that_fits_is_whole() -> None:
    log = PathLog(limit=3)
    log.append((ALLOC, (), (tensor().use,), None, None))
    (record,) = log.trace()
    assert (record.kind, record.device, record.bytes) == ("alloc", "sim:0", 16)
    assert not log.trace().truncated


def test_the_log_of_a_finished_run_holds_no_data() -> None:
    log = PathLog()
    held = tensor()
    held.buffer.device.upload(np.ones(4, np.float32), held)
    memory = weakref.ref(held.buffer.memory)
    log.append((ALLOC, (), (held.use,), None, None))
    held.buffer.device.free(held.buffer)
    log.append((FREE, (), (held.use,), None, None))
    del held
    gc.collect()
    assert memory() is None
    assert [r.kind for r in log.trace()] == ["alloc", "free"]


def test_host_operands_and_operands_left_out_read_no_memory() -> None:
    log = PathLog()
    use = tensor().use
    template = Template(
        "library", "slice", "sim:0", read_values=("main/%x", "main/%i"), write_values=("main/%y",)
    )
    log.append((template, (use, None), (use,), None, None))
    (record,) = log.trace()
    assert [a.value for a in record.reads] == ["main/%x"]
    assert [a.value for a in record.writes] == ["main/%y"]
