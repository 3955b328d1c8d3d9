"""An engine in a process of its own, so that its death is an answer, not the end of the run.

`Child` names a class, ``module:Class``, which is made in a spawned process; its methods are asked
for by name. What a method raises comes back as one of three things: an error of the engine itself
(`Refused`) as the protocol's `Rejected`, any other as `AdapterFault`, and the process's death or
silence as `EngineDied`, after which the next question finds a new process.
"""

from __future__ import annotations

import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, final

from hettest.backend.protocol import Rejected

PATIENCE = 120.0
"""Seconds after which a process that has not answered is ended."""


class Refused(Exception):
    """In the engine's process: the engine itself raised an error."""

    def __init__(self, stage: str, error: Exception) -> None:
        super().__init__(str(error))
        self.stage = stage
        """``compile`` or ``run``."""

        self.kind = type(error).__name__


class EngineDied(RuntimeError):
    """The engine's process died, or did not answer in time."""


class AdapterFault(RuntimeError):
    """What drives the engine failed, not the engine; the text is its traceback."""


@contextmanager
def engine_errors(stage: str) -> Iterator[None]:
    """Take what is raised inside for the engine's own error at ``stage``.

    Raises:
        Refused: In place of whatever was raised.
    """
    try:
        yield
    except Refused:
        raise
    except Exception as error:
        raise Refused(stage, error) from error


@final
@dataclass
class Child:
    """The process, started when it is first needed and again after it died."""

    engine: str
    """What is made in the process, ``module:Class``."""

    given: tuple[Any, ...] = ()
    """What it is made with."""

    patience: float = PATIENCE
    process: BaseProcess | None = field(default=None, init=False)
    _pipe: Connection | None = field(default=None, init=False)

    def ask(self, method: str, *args: Any) -> Any:
        """Return what ``method`` of the engine returns for ``args``.

        Raises:
            Rejected: The engine raised an error of its own.
            AdapterFault: Something else was raised in the process.
            EngineDied: The process died of it, or did not answer.
        """
        pipe = self._start()
        try:
            pipe.send((method, *args))
            if not pipe.poll(self.patience):
                raise EngineDied(self._give_up())
            answer, content = pipe.recv()
        except (EOFError, OSError):
            raise EngineDied(self._obituary()) from None
        if answer == "refused":
            stage, kind, message = content
            raise Rejected(stage, kind, None, message)
        if answer == "fault":
            raise AdapterFault(content)
        return content

    def close(self) -> None:
        """End the process."""
        if self._pipe is not None:
            self._pipe.close()
        if self.process is not None:
            self.process.join(timeout=5)
            if self.process.is_alive():
                self.process.kill()
        self.process, self._pipe = None, None

    def _start(self) -> Connection:
        if self._pipe is not None:
            return self._pipe
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        self.process = context.Process(
            target=serve, args=(theirs, self.engine, self.given), daemon=True
        )
        self.process.start()
        theirs.close()
        self._pipe = ours
        return ours

    def _give_up(self) -> str:
        assert self.process is not None
        self.process.kill()
        self.close()
        return f"the engine's process did not answer within {self.patience:g} s and was ended"

    def _obituary(self) -> str:
        assert self.process is not None
        self.process.join(timeout=5)
        code = self.process.exitcode
        self.close()
        if code is not None and code < 0:
            return f"the engine's process was killed by {signal.Signals(-code).name}"
        return f"the engine's process ended with exit code {code}"


def serve(pipe: Connection, engine: str, given: tuple[Any, ...]) -> None:
    """Answer questions until the other end closes; what the process runs."""
    module, _, name = engine.partition(":")
    made = getattr(import_module(module), name)(*given)
    while True:
        try:
            method, *args = pipe.recv()
        except EOFError:
            return
        pipe.send(_answer(made, method, args))


def _answer(engine: Any, method: str, args: list[Any]) -> tuple[str, Any]:
    try:
        return "done", getattr(engine, method)(*args)
    except Refused as refused:
        return "refused", (refused.stage, refused.kind, str(refused))
    except Exception as error:  # every error is an answer
        first = f"{type(error).__name__}: {error}"
        return "fault", f"{first}\n{''.join(traceback.format_exception(error))}"
