"""onnxruntime in a process of its own: models loaded there, and run."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, final

from hettest.adapters.child import Child, engine_errors

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from hettest.backend.protocol import Array

MOST_LOADED = 64
"""Models that the process keeps; beyond, the oldest is dropped and loaded again when needed."""


@final
@dataclass
class Engine:
    """The process, as the adapter sees it."""

    child: Child = field(default_factory=lambda: Child(f"{__name__}:Sessions"))
    _loaded: dict[str, BaseProcess | None] = field(default_factory=dict)
    """The process that holds each model, by the model's name."""

    def load(self, model: bytes) -> str:
        """Load a model, and return the name that it goes by in the process.

        Raises:
            Rejected: The engine refuses it.
            EngineDied: The process died of it.
        """
        key = sha256(model).hexdigest()
        if key in self._loaded and self._loaded[key] is self.child.process is not None:
            return key
        if len(self._loaded) >= MOST_LOADED:
            oldest = next(iter(self._loaded))
            del self._loaded[oldest]
            self.child.ask("drop", oldest)
        self.child.ask("load", key, model)
        self._loaded[key] = self.child.process
        return key

    def run(self, model: bytes, inputs: list[Array]) -> list[Array]:
        """Return the outputs of a model.

        Raises:
            Rejected: The engine refuses the model, or ended the run with an error.
            EngineDied: The process died of it.
        """
        outputs: list[Array] = self.child.ask("run", self.load(model), inputs)
        return outputs

    def close(self) -> None:
        """End the process."""
        self.child.close()
        self._loaded.clear()


@final
class Sessions:
    """Loaded models by name; lives in the process."""

    def __init__(self) -> None:
        import onnxruntime

        onnxruntime.set_default_logger_severity(4)
        self.engine: Any = onnxruntime
        self.sessions: dict[str, Any] = {}

    def load(self, key: str, model: bytes) -> None:
        """Keep ``model`` as ``key``, ready to run."""
        options = self.engine.SessionOptions()
        options.intra_op_num_threads = 1
        with engine_errors("compile"):
            self.sessions[key] = self.engine.InferenceSession(
                model, sess_options=options, providers=["CPUExecutionProvider"]
            )

    def drop(self, key: str) -> None:
        """Forget a model."""
        self.sessions.pop(key, None)

    def run(self, key: str, inputs: list[Array]) -> list[Array]:
        """Return the outputs of a model for inputs in its order."""
        session = self.sessions[key]
        names = [node.name for node in session.get_inputs()]
        with engine_errors("run"):
            outputs: list[Array] = session.run(None, dict(zip(names, inputs, strict=True)))
        return outputs
