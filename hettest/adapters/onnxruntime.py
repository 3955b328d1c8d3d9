"""onnxruntime as a backend, through the ONNX form of programs.

``onnxruntime:provider=NAME,threads=N`` gives models to one of its execution providers, with the
processor's for the nodes that this one does not take. From version 1.24 on, the provider that each
node is assigned to is read back; transfers are not shown. Providers are chosen for a whole session:
requests on two devices cannot be said.

The CPU wheel has one provider that can be used. The engine runs in a process of its own, which is
started again when it dies: integer division of the least number by -1, for one, kills it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final, final

from hettest.adapters.child import Child
from hettest.adapters.models import Executable, Models
from hettest.adapters.onnxruntime_kernels import ABSENT
from hettest.adapters.onnxruntime_process import CPU, Settings
from hettest.backend.protocol import DeviceInfo, Options, Program, Rejected
from hettest.errors import UsageError

_CLAIMS: Final = frozenset(
    {
        *("input:onnx", "op:*", "construct:*", "shape:*"),
        *(f"dtype:{kind}{bits}" for kind in "iu" for bits in (8, 16, 32, 64)),
        *("dtype:bool", "dtype:f16", "dtype:f32", "dtype:f64"),
    }
)

_TELLING: Final = (1, 24)
"""The first version that tells the assignment of nodes to providers."""

_KINDS: Final = {"tensorrt": "cuda", "nvtensorrtrtx": "cuda", "migraphx": "rocm"}
"""The kinds of devices that are not called like their provider."""


@final
@dataclass
class Backend:
    """Runs programs with one of onnxruntime's providers."""

    provider: str = CPU
    threads: int = 1
    name: str = field(default="onnxruntime", init=False)

    def __post_init__(self) -> None:
        if not self.provider.endswith("ExecutionProvider"):
            raise UsageError(
                f"onnxruntime: option provider is {self.provider!r}, expected the name of an "
                f"execution provider such as {CPU}"
            )
        if self.threads < 0:
            raise UsageError(
                f"onnxruntime: option threads is {self.threads}, expected 1 or more, or 0 for one "
                "thread each core"
            )

    @cached_property
    def _kind(self) -> str:
        kind = self.provider.removesuffix("ExecutionProvider").lower()
        return _KINDS.get(kind, kind)

    @cached_property
    def _tells_placement(self) -> bool:
        if find_spec("onnxruntime") is None:
            return False
        return tuple(map(int, version("onnxruntime").split(".")[:2])) >= _TELLING

    @cached_property
    def _chosen(self) -> Models:
        return self._models(self.provider)

    @cached_property
    def _processor(self) -> Models:
        """The engine for what is to run on the processor alone."""
        return self._chosen if self._kind == "cpu" else self._models(CPU)

    def _models(self, provider: str) -> Models:
        devices = {CPU: "cpu:0", self.provider: f"{self._kind}:0"}
        settings = Settings(provider, self.threads, self._tells_placement, devices)
        return Models(Child("hettest.adapters.onnxruntime_process:Sessions", (settings,)))

    @property
    def capabilities(self) -> frozenset[str]:
        words = {f"device:{kind}" for kind in ("cpu", self._kind)}
        words |= ABSENT if self._kind == "cpu" else frozenset()
        return _CLAIMS | words | ({"observe:placement"} if self._tells_placement else set())

    @property
    def waivers(self) -> Path:
        """The faults that are known of the processor's provider."""
        return Path(__file__).parent / "waivers" / "onnxruntime.toml"

    def devices(self) -> Sequence[DeviceInfo]:
        """Return the processor and the provider's device; those not available say why."""
        if find_spec("onnxruntime") is None:
            reason = "the package onnxruntime is not installed (pip install 'hettest[backends]')"
            return (DeviceInfo("cpu:0", "cpu", 0, available=False, reason=reason),)
        host = DeviceInfo("cpu:0", "cpu", 0, memory_space="host")
        return (host,) if self._kind == "cpu" else (host, self._other)

    @cached_property
    def _other(self) -> DeviceInfo:
        name, known = f"{self._kind}:0", self._processor.child.ask("providers")
        if self.provider in known:
            return DeviceInfo(name, self._kind, 0, memory_space=name)
        reason = f"onnxruntime has no {self.provider} here; it has {', '.join(known)}"
        return DeviceInfo(name, self._kind, 0, available=False, reason=reason)

    def compile(
        self, program: Program, device_map: Mapping[str, str], options: Options
    ) -> Executable:
        """Return the program's ONNX form, loaded.

        Raises:
            Rejected: The engine refuses the model, or there are two devices.
            EngineDied: The engine's process died.
        """
        used = {*device_map.values()} or {options.default or "cpu:0"}
        if len(used) > 1:
            message = "a session has one list of providers: requests on two devices cannot be said"
            raise Rejected("compile", message=message)
        executable = Executable(self._processor if used == {"cpu:0"} else self._chosen, program)
        executable.load(options.entry)
        return executable

    def close(self) -> None:
        self._chosen.close()
        self._processor.close()
