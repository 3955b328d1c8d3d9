"""Runs programs with JAX, operator by operator; lives in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from hettest.adapters.child import engine_errors
from hettest.adapters.following import Run
from hettest.adapters.jax_operators import OPERATORS
from hettest.adapters.reading import Read, Task
from hettest.backend.protocol import Observation

if TYPE_CHECKING:
    from hettest.backend.protocol import Array, Value

DEVICES: Final = 4


@final
class Engine:
    """JAX, with several host devices."""

    def __init__(self) -> None:
        flags = os.environ.get("XLA_FLAGS", "")
        os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={DEVICES}"
        os.environ["JAX_PLATFORMS"] = "cpu"
        import jax

        jax.config.update("jax_enable_x64", True)
        self.jax: Any = jax
        self.read = Read()

    def compile(self, task: Task) -> None:
        """Find out where arguments go."""
        self.read(task)

    def run(self, task: Task, args: Sequence[Value]) -> Observation:
        """Run the task's function."""
        known, homes = self.read(task)
        return Run(JaxArrays(self.jax, known.default), known, homes).run(args)


@final
@dataclass(frozen=True)
class JaxArrays:
    """JAX, as `following.Arrays`."""

    jax: Any
    default: str

    def _device(self, name: str) -> Any:
        return self.jax.devices()[int(name.partition(":")[2])]

    def put(self, array: Any, device: str | None) -> Any:
        """Return an array committed to a device; without one, on the default device, to follow."""
        with engine_errors("run"), self.jax.default_device(self._device(self.default)):
            return self.jax.device_put(array, None if device is None else self._device(device))

    def fresh(self, array: Any) -> Any:
        with engine_errors("run"):
            return self.jax.numpy.copy(array)

    def where(self, array: Any) -> str:
        (device,) = array.devices()
        return f"cpu:{device.id}"

    def moved(self, before: Any, after: Any) -> bool:
        if before.devices() != after.devices():
            return True
        return bool(before.unsafe_buffer_pointer() != after.unsafe_buffer_pointer())

    def apply(self, op: str, operands: Sequence[Any], attrs: Mapping[str, Any], device: str) -> Any:
        with engine_errors("run"), self.jax.default_device(self._device(device)):
            return OPERATORS[op](self.jax.numpy, *operands, **attrs)

    def data(self, array: Any) -> Array:
        with engine_errors("run"):
            return np.asarray(array)
