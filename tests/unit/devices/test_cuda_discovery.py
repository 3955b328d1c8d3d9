"""Discovery of NVIDIA devices names the first thing that is missing, and never raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reference_vm.devices import cuda
from reference_vm.devices.catalog import KINDS, describe, open_device
from reference_vm.devices.faults import DeviceFault, DeviceUnavailable, OutOfMemory
from reference_vm.types import DeviceName
from tests.contract.fake_cupy import CUDARuntimeError, FakeCupy


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Return what makes ``import cupy`` give a stand-in, or raise."""

    def installed(found: Any) -> None:
        def load(name: str) -> Any:
            if isinstance(found, Exception):
                raise found
            return found

        here = "reference_vm.devices.cuda"
        monkeypatch.setattr(f"{here}.find_spec", lambda name: None if found is None else object())
        monkeypatch.setattr(f"{here}.import_module", load)
        monkeypatch.setattr(f"{here}.has_driver", lambda: True)

    return installed


def _without_nvrtc() -> FakeCupy:
    def missing() -> Any:
        raise RuntimeError("libnvrtc.so not found")

    fake = FakeCupy()
    fake.cuda.nvrtc.getVersion = missing
    return fake


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (None, "the package cupy is not installed (pip install 'hettest[cuda13]')"),
        (ImportError("libcudart"), "cupy cannot be imported: libcudart"),
        (FakeCupy(driver=0), "there is no NVIDIA driver (the driver's version is 0)"),
        (FakeCupy(status=35), "the driver refuses (status 35): status 35"),
        (FakeCupy(devices=0), "the driver shows no device"),
        (_without_nvrtc(), "kernels cannot be compiled, NVRTC is missing: libnvrtc.so not found"),
    ],
    ids=["no package", "no import", "no driver", "driver refuses", "no device", "no NVRTC"],
)
def test_the_first_thing_missing_is_the_reason(
    install: Callable[[Any], None], found: Any, reason: str
) -> None:
    install(found)
    (device,) = KINDS["cuda"].discover()
    assert not device.available
    assert device.reason == reason
    with pytest.raises(DeviceUnavailable, match="cuda:0 is not available"):
        open_device(DeviceName("cuda", 0))


def test_without_a_drivers_library_cupy_is_not_imported(
    install: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    install(AssertionError("cupy was imported"))
    monkeypatch.setattr(cuda, "has_driver", lambda: False)

    assert "there is no NVIDIA driver (" in str(describe(DeviceName("cuda", 0)).reason)


def test_every_device_of_the_driver_is_listed(install: Callable[[Any], None]) -> None:
    install(FakeCupy(devices=2))
    assert [str(d.name) for d in KINDS["cuda"].discover()] == ["cuda:0", "cuda:1"]
    assert describe(DeviceName("cuda", 2)).reason == "the driver shows 2 device(s)"


def test_probing_opens_no_stream(install: Callable[[Any], None]) -> None:
    """With no driver a CuPy stream prints to stderr when it dies, so none may be made."""
    fake = FakeCupy()
    install(fake)
    KINDS["cuda"].discover()
    assert fake.calls == []


def test_what_does_not_fit_is_out_of_memory() -> None:
    device = cuda.CudaDevice(DeviceName("cuda", 0), FakeCupy())
    with pytest.raises(OutOfMemory, match="cuda:0 cannot allocate"):
        device.allocate(1 << 30)


def test_the_drivers_errors_name_the_device() -> None:
    device = cuda.CudaDevice(DeviceName("cuda", 1), FakeCupy())

    def failing(xp: Any, inputs: Any, outputs: Any) -> Any:
        raise CUDARuntimeError(700)

    with pytest.raises(DeviceFault, match="cuda:1: status 700"):
        device.launch(failing, [], [])
