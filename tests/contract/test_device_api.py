"""What every device kind holds to: one suite, run on `cpu`, `sim` and `cuda`.

`cuda` runs here on a stand-in for CuPy, and on a real device where there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from reference_vm.devices.api import DeviceApi, Tensor, nbytes_of
from reference_vm.devices.catalog import describe, open_device
from reference_vm.devices.cuda import CudaDevice
from reference_vm.devices.faults import ForeignAccess, UseAfterFree
from reference_vm.devices.transfer import transfer
from reference_vm.types import DeviceName
from reference_vm.types.arrays import from_numpy, to_numpy
from reference_vm.types.dtype import COMPUTED, NUMERIC, DType
from tests.contract.fake_cupy import FakeCupy

_CUDA = DeviceName("cuda", 0)

OPENERS: dict[str, Callable[[], DeviceApi]] = {
    "cpu": lambda: open_device(DeviceName("cpu", 0)),
    "cpu:1": lambda: open_device(DeviceName("cpu", 1)),
    "sim": lambda: open_device(DeviceName("sim", 0)),
    "sim.timed": lambda: open_device(DeviceName("sim", 0, "timed")),
    "cuda (stand-in)": lambda: CudaDevice(_CUDA, FakeCupy()),
}
if describe(_CUDA).available:
    OPENERS["cuda"] = lambda: open_device(_CUDA)


@pytest.fixture(params=OPENERS)
def device(request: pytest.FixtureRequest) -> DeviceApi:
    return OPENERS[request.param]()


@pytest.fixture(params=OPENERS)
def other(request: pytest.FixtureRequest) -> DeviceApi:
    return OPENERS[request.param]()


def put(device: DeviceApi, array: Any) -> Tensor:
    tensor = fresh(device, from_numpy(array.dtype), array.shape)
    device.upload(array, tensor)
    return tensor


def fresh(device: DeviceApi, dtype: DType, shape: tuple[int, ...]) -> Tensor:
    nbytes = nbytes_of(dtype, shape)
    return Tensor(device.allocate(nbytes), 0, dtype, shape, nbytes)


def add(xp: Any, inputs: Any, outputs: Any) -> Any:
    result = inputs[0] + inputs[1]
    if outputs[0] is None:
        return (result,)
    outputs[0][...] = result
    return (outputs[0],)


ONES = np.ones((2, 3), np.float32)
COUNT = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("dtype", COMPUTED, ids=str)
def test_what_is_uploaded_comes_back(device: DeviceApi, dtype: DType) -> None:
    array = np.array([[0, 1, 1], [1, 0, 1]]).astype(to_numpy(dtype))
    back = device.download(put(device, array))
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2)], ids=str)
def test_scalars_and_empty_tensors_come_back(device: DeviceApi, shape: tuple[int, ...]) -> None:
    back = device.download(put(device, np.ones(shape, np.float64)))
    assert back.shape == shape


def test_a_download_is_the_callers_own(device: DeviceApi) -> None:
    tensor = put(device, ONES)
    device.download(tensor)[...] = 7
    np.testing.assert_array_equal(device.download(tensor), ONES)


def test_an_upload_keeps_nothing_of_the_callers(device: DeviceApi) -> None:
    array = ONES.copy()
    tensor = put(device, array)
    array[...] = 7
    np.testing.assert_array_equal(device.download(tensor), ONES)


def test_tensors_share_a_buffer_at_offsets(device: DeviceApi) -> None:
    buffer = device.allocate(128)
    dtype = from_numpy(np.float32)
    low, high = (Tensor(buffer, o, dtype, (2, 3), 24) for o in (0, 64))
    device.upload(ONES, low)
    device.upload(COUNT, high)
    np.testing.assert_array_equal(device.download(low), ONES)
    np.testing.assert_array_equal(device.download(high), COUNT)


def test_a_copy_within_the_device_is_independent(device: DeviceApi) -> None:
    source = put(device, COUNT)
    target = fresh(device, source.dtype, source.shape)
    device.copy(source, target)
    device.upload(ONES, source)
    np.testing.assert_array_equal(device.download(target), COUNT)


def test_a_kernel_writes_where_it_is_told(device: DeviceApi) -> None:
    x, y = put(device, ONES), put(device, COUNT)
    out = fresh(device, x.dtype, x.shape)
    (result,) = device.launch(add, [x, y], [out])
    assert result is out
    np.testing.assert_array_equal(device.download(out), COUNT + 1)


def test_a_result_of_unknown_size_gets_memory_that_is_counted(device: DeviceApi) -> None:
    x, y = put(device, ONES), put(device, COUNT)
    before = device.memory().current
    (result,) = device.launch(add, [x, y], [None])
    assert device.memory().current == before + 24
    np.testing.assert_array_equal(device.download(result), COUNT + 1)


def test_a_result_never_shares_memory_with_an_operand(device: DeviceApi) -> None:
    x = put(device, ONES)
    (result,) = device.launch(lambda xp, inputs, outputs: (inputs[0],), [x], [None])
    device.upload(COUNT, x)
    np.testing.assert_array_equal(device.download(result), ONES)


def test_host_values_reach_the_kernel_as_they_are(device: DeviceApi) -> None:
    seen: list[Any] = []

    def kernel(xp: Any, inputs: Any, outputs: Any) -> Any:
        seen.extend(inputs)
        return ()

    axes = np.array([1, 0])
    device.launch(kernel, [axes, (2, 3), None], [])
    assert seen[0] is axes
    assert seen[1:] == [(2, 3), None]


def test_kernels_get_the_devices_own_namespace(device: DeviceApi) -> None:
    seen: list[Any] = []

    def kernel(xp: Any, inputs: Any, outputs: Any) -> Any:
        seen.append(xp)
        return ()

    device.launch(kernel, [], [])
    assert seen == [device.xp]


def test_memory_is_counted_and_given_back(device: DeviceApi) -> None:
    start = device.memory().current
    device.reset_peak()
    buffers = [device.allocate(n) for n in (100, 0, 28)]
    assert device.memory().current == start + 128
    for buffer in buffers:
        device.free(buffer)
    assert device.memory().current == start
    assert device.memory().peak == start + 128


def test_a_buffers_id_is_never_used_again(device: DeviceApi) -> None:
    ids = []
    for _ in range(10):
        buffer = device.allocate(64)
        ids.append(buffer.id)
        device.free(buffer)
    assert len(set(ids)) == 10


def test_memory_that_was_given_back_cannot_be_used(device: DeviceApi) -> None:
    x, y = put(device, ONES), put(device, ONES)
    device.free(x.buffer)
    with pytest.raises(UseAfterFree, match=f"{device.name} used memory"):
        device.launch(add, [x, y], [None])
    with pytest.raises(UseAfterFree):
        device.download(x)
    with pytest.raises(UseAfterFree):
        device.free(x.buffer)


def test_another_devices_memory_cannot_be_touched(device: DeviceApi, other: DeviceApi) -> None:
    """Also that of another device of the same name: names are not devices."""
    mine, foreign = put(device, ONES), put(other, ONES)
    touched = f"{device.name} touched memory of {other.name}"
    for touch in (
        lambda: device.launch(add, [mine, foreign], [None]),
        lambda: device.launch(add, [mine, mine], [foreign]),
        lambda: device.download(foreign),
        lambda: device.peek(foreign),
        lambda: device.upload(ONES, foreign),
        lambda: device.copy(foreign, mine),
        lambda: device.copy(mine, foreign),
        lambda: device.poison(foreign),
    ):
        with pytest.raises(ForeignAccess, match=touched):
            touch()


def test_data_goes_from_any_device_to_any_other(device: DeviceApi, other: DeviceApi) -> None:
    source = put(device, COUNT)
    target = fresh(other, source.dtype, source.shape)
    via = transfer(source, target)
    np.testing.assert_array_equal(other.download(target), COUNT)
    assert via == (None if "cpu" in (device.name.kind, other.name.kind) else "cpu:0")


def test_the_ledger_counts_what_crosses_the_border_and_what_runs(device: DeviceApi) -> None:
    tensor = put(device, ONES)
    copy = fresh(device, tensor.dtype, tensor.shape)
    device.copy(tensor, copy)
    device.download(copy)
    device.download(copy)
    device.launch(add, [tensor, copy], [None])
    assert device.ledger.copies == {"in": 1, "within": 1, "out": 2}
    assert device.ledger.bytes == {"in": 24, "within": 24, "out": 48}
    assert device.ledger.launches == 1


def test_a_look_is_in_no_ledger_and_takes_no_time(device: DeviceApi) -> None:
    tensor = put(device, COUNT)
    before = device.clock()
    np.testing.assert_array_equal(device.peek(tensor), COUNT)
    assert device.ledger.copies == {"in": 1}
    assert device.clock() == before


def test_a_transfer_leaves_one_ledger_and_enters_the_other(
    device: DeviceApi, other: DeviceApi
) -> None:
    source = put(device, COUNT)
    target = fresh(other, source.dtype, source.shape)
    before = device.ledger.copies["out"], other.ledger.copies["in"]
    transfer(source, target)
    assert (device.ledger.copies["out"], other.ledger.copies["in"]) == (
        before[0] + 1,
        before[1] + 1,
    )


@pytest.mark.parametrize("dtype", NUMERIC, ids=str)
def test_poisoned_memory_holds_nothing_usable(device: DeviceApi, dtype: DType) -> None:
    tensor = put(device, np.zeros(4, to_numpy(dtype)))
    device.poison(tensor)
    data = device.download(tensor)
    if dtype.is_float:
        assert np.isnan(data.astype(np.float32)).all()
    else:
        assert (data.view(np.uint8) == 0x7B).all()


def test_events_order_work_and_numbers_grow(device: DeviceApi) -> None:
    first, second = device.event(), device.event()
    assert first.number < second.number
    device.wait(first)
    device.synchronize()


def test_only_a_device_with_a_clock_tells_the_time(device: DeviceApi) -> None:
    before = device.clock()
    put(device, ONES)
    after = device.clock()
    assert (before is None) == (after is None) == (device.name.variant != "timed")
    if before is not None and after is not None:
        assert after > before
