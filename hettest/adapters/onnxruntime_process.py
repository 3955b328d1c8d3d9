"""onnxruntime in a process of its own, so that its death is an answer, not the end of the run."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from hashlib import sha256
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from hettest.backend.protocol import Array

MOST_LOADED = 64
"""Models that the process keeps; beyond, the oldest is dropped and loaded again when needed."""


class Refused(Exception):
    """The engine raised an error of its own."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        """The name of the engine's exception."""


class EngineDied(RuntimeError):
    """The engine's process died."""


@final
@dataclass
class Engine:
    """The process, started when it is first needed and again after it died."""

    _process: BaseProcess | None = None
    _pipe: Connection | None = None
    _loaded: dict[str, bytes] = field(default_factory=dict)

    def load(self, model: bytes) -> str:
        """Load a model, and return the name that it goes by in the process.

        Raises:
            Refused: The engine refuses it.
            EngineDied: The process died of it.
        """
        key = sha256(model).hexdigest()
        if key in self._loaded and self._process is not None:
            return key
        if len(self._loaded) >= MOST_LOADED:
            oldest = next(iter(self._loaded))
            del self._loaded[oldest]
            self._ask("drop", oldest)
        self._ask("load", key, model)
        self._loaded[key] = model
        return key

    def run(self, model: bytes, inputs: list[Array]) -> list[Array]:
        """Return the outputs of a model.

        Raises:
            Refused: The engine ended the run with an error.
            EngineDied: The process died of it.
        """
        outputs: list[Array] = self._ask("run", self.load(model), inputs)
        return outputs

    def close(self) -> None:
        """End the process."""
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            self._process.join(timeout=5)
            if self._process.is_alive():
                self._process.kill()
        self._process, self._pipe = None, None
        self._loaded.clear()

    def _start(self) -> Connection:
        if self._pipe is not None:
            return self._pipe
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._pipe = ours
        return ours

    def _ask(self, *question: Any) -> Any:
        pipe = self._start()
        try:
            pipe.send(question)
            answer, content = pipe.recv()
        except (EOFError, OSError):
            raise EngineDied(self._obituary()) from None
        if answer == "refused":
            raise Refused(*content)
        return content

    def _obituary(self) -> str:
        assert self._process is not None
        self._process.join(timeout=5)
        code = self._process.exitcode
        self.close()
        if code is not None and code < 0:
            return f"the engine's process was killed by {signal.Signals(-code).name}"
        return f"the engine's process ended with exit code {code}"


def serve(pipe: Connection) -> None:
    """Answer questions until the other end closes; what the process runs."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    sessions: dict[str, Any] = {}
    while True:
        try:
            question = pipe.recv()
        except EOFError:
            return
        try:
            answer = ("done", _answer(onnxruntime, sessions, *question))
        except Exception as error:  # every error of the engine is an answer
            answer = ("refused", (type(error).__name__, str(error)))
        pipe.send(answer)


def _answer(ort: Any, sessions: dict[str, Any], word: str, key: str, *rest: Any) -> Any:
    if word == "load":
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        sessions[key] = ort.InferenceSession(
            rest[0], sess_options=options, providers=["CPUExecutionProvider"]
        )
        return None
    if word == "drop":
        sessions.pop(key, None)
        return None
    session = sessions[key]
    names = [node.name for node in session.get_inputs()]
    return session.run(None, dict(zip(names, rest[0], strict=True)))
