"""ONNX's reference evaluator as a backend, through the ONNX form of programs.

It is written in Python over NumPy, and defines what the operators of ONNX mean. Like the others it
runs in a process of its own, which a case that never ends does not outlive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from hettest.adapters.child import Child, engine_errors
from hettest.adapters.models import Executable, Models
from hettest.backend.protocol import DeviceInfo, Options, Program

if TYPE_CHECKING:
    from hettest.backend.protocol import Array

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
    """Runs programs with ``onnx.reference``."""

    name: str = field(default="onnx_reference", init=False)
    _models: Models = field(
        default_factory=lambda: Models(Child(f"{__name__}:Evaluators")), init=False, repr=False
    )

    @property
    def capabilities(self) -> frozenset[str]:
        return _CLAIMS

    @property
    def waivers(self) -> Path:
        """The faults that are known of it."""
        return Path(__file__).parent / "waivers" / "onnx_reference.toml"

    def devices(self) -> Sequence[DeviceInfo]:
        """Return the one device; without the package it is not available."""
        if find_spec("onnx") is None:
            reason = "the package onnx is not installed (pip install 'hettest[onnx]')"
            return (DeviceInfo("cpu:0", "cpu", 0, available=False, reason=reason),)
        return (DeviceInfo("cpu:0", "cpu", 0, memory_space="host"),)

    def compile(
        self, program: Program, device_map: Mapping[str, str], options: Options
    ) -> Executable:
        """Return the program's ONNX form, loaded.

        Raises:
            Rejected: The evaluator refuses the model.
            EngineDied: The engine's process died.
        """
        executable = Executable(self._models, program)
        executable.load(options.entry)
        return executable

    def close(self) -> None:
        self._models.close()


@final
class Evaluators:
    """Loaded models by name; lives in the process."""

    def __init__(self) -> None:
        import numpy
        from onnx import load_from_string
        from onnx.reference import ReferenceEvaluator

        numpy.seterr(all="ignore")  # what overflows is judged by its value
        self.parse: Any = load_from_string
        self.engine: Any = ReferenceEvaluator
        self.loaded: dict[str, Any] = {}

    def load(self, key: str, model: bytes) -> None:
        """Keep ``model`` as ``key``, ready to run."""
        with engine_errors("compile"):
            self.loaded[key] = self.engine(self.parse(model))

    def drop(self, key: str) -> None:
        """Forget a model."""
        self.loaded.pop(key, None)

    def run(self, key: str, inputs: list[Array]) -> tuple[list[Any], None]:
        """Return the outputs of a model for inputs in its order, as the evaluator made them."""
        evaluator = self.loaded[key]
        with engine_errors("run"):
            feed = dict(zip(evaluator.input_names, inputs, strict=True))
            outputs: list[Any] = evaluator.run(None, feed)
        return outputs, None
