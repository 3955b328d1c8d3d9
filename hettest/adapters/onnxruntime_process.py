"""onnxruntime in a process of its own: models loaded there, and run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from hettest.adapters.child import engine_errors

if TYPE_CHECKING:
    from hettest.backend.protocol import Array

CPU = "CPUExecutionProvider"


@final
@dataclass(frozen=True)
class Settings:
    """How sessions are made."""

    provider: str
    threads: int
    tells_placement: bool
    """Whether this version says which provider each node is assigned to."""

    devices: Mapping[str, str]
    """The device of each provider."""


@final
@dataclass(frozen=True)
class _Loaded:
    session: Any
    ran: Mapping[str, str] | None
    """The device that each node of the graph is assigned to, those of branches left out."""


@final
class Sessions:
    """Loaded models by name; lives in the process."""

    def __init__(self, settings: Settings) -> None:
        import onnxruntime

        onnxruntime.set_default_logger_severity(4)
        self.engine: Any = onnxruntime
        self.settings = settings
        self.loaded: dict[str, _Loaded] = {}

    def providers(self) -> list[str]:
        """Return the providers that this installation has."""
        found: list[str] = self.engine.get_available_providers()
        return found

    def load(self, key: str, model: bytes) -> None:
        """Keep ``model`` as ``key``, ready to run."""
        options = self.engine.SessionOptions()
        options.intra_op_num_threads = self.settings.threads
        chosen = list(dict.fromkeys((self.settings.provider, CPU)))
        names: set[str] = set()
        with engine_errors("compile"):
            if self.settings.tells_placement:
                options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
                model, names = _named(model)
            session = self.engine.InferenceSession(model, sess_options=options, providers=chosen)
        ran = self._assigned(session, names) if self.settings.tells_placement else None
        self.loaded[key] = _Loaded(session, ran)

    def _assigned(self, session: Any, names: set[str]) -> dict[str, str]:
        return {
            node.name: self.settings.devices[part.ep_name]
            for part in session.get_provider_graph_assignment_info()
            for node in part.get_nodes()
            if node.name in names
        }

    def drop(self, key: str) -> None:
        """Forget a model."""
        self.loaded.pop(key, None)

    def run(self, key: str, inputs: list[Array]) -> tuple[list[Array], Mapping[str, str] | None]:
        """Return the outputs of a model for inputs in its order, and where its nodes ran."""
        loaded = self.loaded[key]
        names = [node.name for node in loaded.session.get_inputs()]
        with engine_errors("run"):
            outputs: list[Array] = loaded.session.run(None, dict(zip(names, inputs, strict=True)))
        return outputs, loaded.ran


def _named(model: bytes) -> tuple[bytes, set[str]]:
    """Return the model with each node of its graph named for its first output, and the names."""
    import onnx

    parsed = onnx.load_from_string(model)
    for node in parsed.graph.node:
        node.name = node.output[0]
    return parsed.SerializeToString(), {node.name for node in parsed.graph.node}
