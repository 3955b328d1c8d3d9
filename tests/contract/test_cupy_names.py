"""The stand-in for CuPy has only what the real package has, with the same keywords.

Runs where CuPy is installed, with or without a driver; elsewhere it is skipped and says so.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from tests.contract.fake_cupy import FakeCupy

cupy = pytest.importorskip("cupy", reason="the package cupy is not installed")

NAMES = (
    "cuda.Device",
    "cuda.Stream",
    "cuda.Event",
    "cuda.alloc",
    "cuda.memory.OutOfMemoryError",
    "cuda.nvrtc.getVersion",
    "cuda.runtime.CUDARuntimeError",
    "cuda.runtime.driverGetVersion",
    "cuda.runtime.getDeviceCount",
    "cuda.runtime.memGetInfo",
    "may_share_memory",
    "ndarray",
)
METHODS = (
    ("cuda.Stream", "synchronize"),
    ("cuda.Stream", "wait_event"),
    ("cuda.Event", "record"),
    ("ndarray", "set"),
    ("ndarray", "get"),
    ("ndarray", "fill"),
    ("ndarray", "reshape"),
    ("ndarray", "view"),
)
KEYWORDS = (
    ("cuda.Stream", "non_blocking"),
    ("cuda.Event", "disable_timing"),
    ("ndarray", "dtype"),
    ("ndarray", "memptr"),
    ("ndarray.set", "stream"),
    ("ndarray.get", "stream"),
)


def found(root: Any, path: str) -> Any:
    for part in path.split("."):
        root = getattr(root, part)
    return root


def signature(callable_: Any) -> str:
    """Return the signature as text; Cython embeds it in the docstring."""
    text = callable_.__doc__ or ""
    try:
        return text + str(inspect.signature(callable_))
    except (TypeError, ValueError):
        return text


@pytest.mark.parametrize("path", NAMES)
def test_the_real_package_has_the_name(path: str) -> None:
    assert found(cupy, path) is not None
    assert found(FakeCupy(), path) is not None


@pytest.mark.parametrize(("path", "method"), METHODS)
def test_the_real_class_has_the_method(path: str, method: str) -> None:
    assert callable(getattr(found(cupy, path), method))


@pytest.mark.parametrize(("path", "keyword"), KEYWORDS)
def test_the_real_callable_takes_the_keyword(path: str, keyword: str) -> None:
    assert keyword in signature(found(cupy, path))


def test_without_a_driver_the_reason_is_exact() -> None:
    from reference_vm.devices.cuda import has_driver, probe

    count, reason = probe()
    assert (count > 0) == (reason is None)
    assert has_driver() == (cupy.cuda.runtime.driverGetVersion() > 0)
    if not has_driver():
        assert reason == "there is no NVIDIA driver (libcuda.so.1 cannot be loaded)"
