"""PyTorch as a backend: eager, compiled or exported.

``torch`` runs operator by operator. PyTorch has no planner: computation follows data, and operands
apart are refused. A requested operator's operands are brought to its device with ``Tensor.to``,
once for each value and device; an operator without a request runs where PyTorch runs it. It has no
hints. Its devices are ``cpu:0``, CUDA's where there are some, and ``meta:0``, PyTorch's own device
without data: there shapes, dtypes and places are what PyTorch says of meta tensors, while the
values come from the same operators on the processor.

``torch:mode=compile`` and ``torch:mode=export`` give whole functions to ``torch.compile`` (all
sizes known) and ``torch.export``, on ``cpu:0`` alone; what happens inside is not observed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Final, final

from hettest.adapters import torch_operators_nn
from hettest.adapters.child import Child
from hettest.adapters.isolated import Executable, compiled
from hettest.backend.protocol import DeviceInfo, Options, Program
from hettest.errors import UsageError

ENGINES: Final = {"eager": "Eager", "compile": "Compiled", "export": "Exported"}

_CLAIMS: Final = frozenset(
    {
        *("device:cpu", "input:json", "construct:tuple"),
        *("shape:symbolic", "shape:unknown-dim", "shape:unknown-rank"),
        *("dtype:i8", "dtype:i16", "dtype:i32", "dtype:i64", "dtype:u8", "dtype:bool"),
        *("dtype:f16", "dtype:bf16", "dtype:f32", "dtype:f64"),
        *(f"op:{name}" for name in torch_operators_nn.NAMES),
        *("op:device_copy", "op:to_vdevice", "-op:det:f16", "-op:det:bf16"),
    }
)
"""Without ``u16``, ``u32`` and ``u64``, for which PyTorch promises few operators."""

_EAGER: Final = frozenset(
    {
        *("device:meta", "device:cuda", "policy:replicate"),
        *("observe:placement", "observe:copies", "observe:bytes"),
    }
)

_BY_DATA: Final = frozenset({"-op:nonzero", "-op:compress", "-op:tensor_to_shape"})
"""What has shapes that only the data tell; whole functions are compiled for known sizes."""


@final
@dataclass
class Backend:
    """Runs programs with PyTorch."""

    mode: str = "eager"
    name: str = field(default="torch", init=False)

    def __post_init__(self) -> None:
        if self.mode not in ENGINES:
            expected = ", ".join(ENGINES)
            raise UsageError(f"torch: option mode is {self.mode!r}, expected one of {expected}")
        self._child = Child(f"hettest.adapters.torch_process:{ENGINES[self.mode]}")

    @property
    def capabilities(self) -> frozenset[str]:
        return _CLAIMS | (_EAGER if self.mode == "eager" else _BY_DATA)

    @property
    def waivers(self) -> Path:
        """The faults that are known of this mode."""
        suffix = "" if self.mode == "eager" else f"_{self.mode}"
        return Path(__file__).parent / "waivers" / f"torch{suffix}.toml"

    def devices(self) -> Sequence[DeviceInfo]:
        """Return the processor, and in eager mode the other devices; unavailable without torch."""
        if find_spec("torch") is None:
            reason = "the package torch is not installed (pip install 'hettest[torch]')"
            return (DeviceInfo("cpu:0", "cpu", 0, available=False, reason=reason),)
        host = DeviceInfo("cpu:0", "cpu", 0, memory_space="host")
        return (host, *self._others) if self.mode == "eager" else (host,)

    @cached_property
    def _others(self) -> tuple[DeviceInfo, ...]:
        count: int = self._child.ask("cuda_devices")
        cuda = (DeviceInfo(f"cuda:{i}", "cuda", i, memory_space=f"cuda:{i}") for i in range(count))
        return (DeviceInfo("meta:0", "meta", 0, memory_space="host"), *cuda)

    def compile(
        self, program: Program, device_map: Mapping[str, str], options: Options
    ) -> Executable:
        """Return the program, read; PyTorch compiles what it compiles when it is first run.

        Raises:
            Rejected: The text is malformed.
            EngineDied: The engine's process died.
        """
        return compiled(self._child, program, device_map, options)

    def close(self) -> None:
        self._child.close()
