"""onnxruntime as a backend, through the ONNX form of programs.

Its CPU wheel has one provider that can be used, so it serves the levels that need one device. It
shows neither placement nor transfers. The engine runs in a process of its own, which is started
again when it dies: integer division of the least number by -1, for one, kills it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, final

from hettest.adapters.onnxruntime_process import Engine
from hettest.backend.protocol import DeviceInfo, Mode, Observation, Options, Program

if TYPE_CHECKING:
    from hettest.backend.protocol import Array, Value

_CLAIMS: Final = frozenset(
    {
        *("device:cpu", "input:onnx", "op:*", "construct:*", "shape:*"),
        *(f"dtype:{kind}{bits}" for kind in "iu" for bits in (8, 16, 32, 64)),
        *("dtype:bool", "dtype:f16", "dtype:f32", "dtype:f64"),
    }
)


@final
@dataclass
class Backend:
    """Runs programs with onnxruntime's CPU provider."""

    name: str = "onnxruntime"
    _engine: Engine = field(default_factory=Engine)

    @property
    def capabilities(self) -> frozenset[str]:
        return _CLAIMS

    def devices(self) -> Sequence[DeviceInfo]:
        """Return the one device; without the package it is not available."""
        if find_spec("onnxruntime") is None:
            reason = "the package onnxruntime is not installed (pip install 'hettest[backends]')"
            return (DeviceInfo("cpu:0", "cpu", 0, available=False, reason=reason),)
        return (DeviceInfo("cpu:0", "cpu", 0, memory_space="host"),)

    def compile(
        self, program: Program, device_map: Mapping[str, str], options: Options
    ) -> Executable:
        """Return the program's ONNX form, loaded.

        Raises:
            Rejected: The engine refuses the model.
            EngineDied: The engine's process died.
        """
        executable = Executable(self._engine, program)
        executable.load(options.entry)
        return executable

    def close(self) -> None:
        self._engine.close()


@final
@dataclass(frozen=True)
class Executable:
    """One program; each of its functions is a model, loaded in the engine's process."""

    engine: Engine
    program: Program

    def load(self, entry: str) -> bytes:
        """Return the model of a function, loaded.

        Raises:
            Rejected: The engine refuses the model.
            EngineDied: The engine's process died.
        """
        model = self.program.onnx(entry)
        self.engine.load(model)
        return model

    def run(self, entry: str, args: Sequence[Value], mode: Mode = Mode.DIRECT) -> Observation:
        """Run a function; its inputs are the tensors of the arguments, in order.

        Raises:
            Rejected: The engine refuses the model, or ended the run with an error.
            EngineDied: The engine's process died.
        """
        outputs = self.engine.run(self.program.onnx(entry), _flat(args))
        return Observation(results=outputs[0] if len(outputs) == 1 else tuple(outputs))


def _flat(values: Sequence[Value]) -> list[Array]:
    flat: list[Array] = []
    for value in values:
        flat += _flat(value) if isinstance(value, tuple) else [value]
    return flat
