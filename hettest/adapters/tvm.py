"""Apache TVM 0.27 as a backend: programs become Relax modules on llvm devices.

Requests and placed types are said in Relax's own words, the rest is left to its planner: see
`tvm_translation`. The default pipeline compiles, Relax's virtual machine runs. Placement is what
the compiler's types say once ``RealizeVDevice`` has run; transfers are the calls of ``to_device``
that an instrument of the virtual machine sees, and the arguments that are handed over elsewhere
than on the host. Some programs kill the process that the engine lives in. The package on PyPI has
no runtime for CUDA, so there are no devices but these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final, final

from hettest.adapters import tvm_operators
from hettest.adapters.child import Child
from hettest.adapters.isolated import Executable, compiled
from hettest.backend.protocol import DeviceInfo, Options, Program

DEVICES: Final = 4
"""Llvm devices that are offered; each is the host's processor under another number."""

_CLAIMS: Final = frozenset(
    {
        *("device:cpu", "input:json", "construct:tuple", "shape:symbolic"),
        *("observe:placement", "observe:copies", "observe:bytes"),
        *(f"dtype:{kind}{bits}" for kind in "iu" for bits in (8, 16, 32, 64)),
        *("dtype:bool", "dtype:f16", "dtype:f32", "dtype:f64"),
        *(f"op:{name}" for name in tvm_operators.NAMES),
        *("op:device_copy", "op:to_vdevice", "op:hint_on_device"),
        *(f"-op:pow:{kind}{bits}" for kind in "iu" for bits in (8, 16, 32, 64)),
    }
)


@final
@dataclass
class Backend:
    """Runs programs with Relax's virtual machine on llvm devices."""

    name: str = "apache-tvm"
    _child: Child = field(
        default_factory=lambda: Child("hettest.adapters.tvm_process:Engine"), repr=False
    )

    @property
    def capabilities(self) -> frozenset[str]:
        return _CLAIMS

    @property
    def waivers(self) -> Path:
        """The faults that are known of it."""
        return Path(__file__).parent / "waivers" / "apache_tvm.toml"

    def devices(self) -> Sequence[DeviceInfo]:
        """Return the llvm devices; without the package they are not available."""
        reason = None
        if find_spec("tvm") is None:
            reason = "the package apache-tvm is not installed (pip install 'hettest[tvm]')"
        space = None if reason else "host"
        return tuple(
            DeviceInfo(f"cpu:{index}", "cpu", index, reason is None, reason, space)
            for index in range(DEVICES)
        )

    def compile(
        self, program: Program, device_map: Mapping[str, str], options: Options
    ) -> Executable:
        """Return the program, built by Relax's default pipeline.

        Raises:
            Rejected: The text is malformed, or Relax refuses the program.
            EngineDied: The engine's process died.
        """
        return compiled(self._child, program, device_map, options)

    def close(self) -> None:
        self._child.close()
