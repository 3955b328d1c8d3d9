"""JAX as a backend: operator by operator, on several host devices.

JAX has no planner: computation follows data. A requested operator's operands are brought to its
device with ``jax.device_put``, once for each value and device; one without a request runs where
JAX takes it to, which refuses operands that are committed to two devices. JAX has no hints. That
is eager JAX; inside ``jax.jit`` a ``device_put`` to another device changes nothing.

Placement is read off the arrays, and a transfer is shown where an array came to lie on another
device or in another buffer. Its cause is what the adapter made it for.

JAX has four devices here, ``cpu:0`` to ``cpu:3``, in a process of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final, final

from hettest.adapters import jax_operators
from hettest.adapters.child import Child
from hettest.adapters.isolated import Executable, compiled
from hettest.backend.protocol import DeviceInfo, Options, Program

DEVICES: Final = 4
"""Host devices that the process makes JAX have."""

_CLAIMS: Final = frozenset(
    {
        *("device:cpu", "input:json", "construct:tuple", "policy:replicate"),
        *("shape:symbolic", "shape:unknown-dim", "shape:unknown-rank"),
        *("observe:placement", "observe:copies", "observe:bytes"),
        *(f"dtype:{kind}{bits}" for kind in "iu" for bits in (8, 16, 32, 64)),
        *("dtype:bool", "dtype:f16", "dtype:bf16", "dtype:f32", "dtype:f64"),
        *(f"op:{name}" for name in jax_operators.NAMES),
        *("op:device_copy", "op:to_vdevice"),
    }
)


@final
@dataclass
class Backend:
    """Runs programs with JAX on host devices."""

    name: str = "jax"
    _child: Child = field(
        default_factory=lambda: Child("hettest.adapters.jax_process:Engine"), repr=False
    )

    @property
    def capabilities(self) -> frozenset[str]:
        return _CLAIMS

    @property
    def waivers(self) -> Path:
        """The faults that are known of it."""
        return Path(__file__).parent / "waivers" / "jax.toml"

    def devices(self) -> Sequence[DeviceInfo]:
        """Return the host devices; without the package they are not available."""
        names = [f"cpu:{index}" for index in range(DEVICES)]
        if find_spec("jax") is None:
            reason = "the package jax is not installed (pip install 'hettest[jax]')"
            return tuple(
                DeviceInfo(name, "cpu", index, available=False, reason=reason)
                for index, name in enumerate(names)
            )
        return tuple(
            DeviceInfo(name, "cpu", index, memory_space="host") for index, name in enumerate(names)
        )

    def compile(
        self, program: Program, device_map: Mapping[str, str], options: Options
    ) -> Executable:
        """Return the program, read; JAX compiles each operator when it is first run.

        Raises:
            Rejected: The text is malformed.
            EngineDied: The engine's process died.
        """
        return compiled(self._child, program, device_map, options)

    def close(self) -> None:
        self._child.close()
