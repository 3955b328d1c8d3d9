"""Ends that do not come in order: a signal, and a test that ends the whole process by itself.

A signal that would kill the process raises `Terminated` in it instead, once, so that what was
begun is put away and reports are written. A second one ends it on the spot.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Final, final

SIGNALS: Final = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Those by which others end a process, and that are not the user's interrupt."""


@final
class Terminated(KeyboardInterrupt):
    """The process was asked to end by a signal."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.signal = number


def name_of(number: int) -> str:
    """Return a signal's name: ``SIGTERM``."""
    return signal.Signals(number).name


@final
@dataclass
class SignalHandlers:
    """Takes the signals that nobody else takes, in the process that it was installed in."""

    first: Callable[[int], object] | None = None
    """Called at the first signal, in place of raising `Terminated`; the process then dies of it."""

    second: Callable[[int], object] | None = None
    """Called at the second one, before the process dies of it."""

    received: int | None = None
    """The signal that was taken."""

    _process: int = 0
    _former: dict[int, Any] = field(default_factory=dict)

    def install(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._process = os.getpid()
        for number in SIGNALS:
            if signal.getsignal(number) is signal.SIG_DFL:
                self._former[number] = signal.signal(number, self._take)

    def restore(self) -> None:
        for number, former in self._former.items():
            if signal.getsignal(number) == self._take:
                signal.signal(number, former)
        self._former.clear()

    def _take(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._process:  # a forked child, which is none of ours
            _die_of(number)
        elif self.first is not None:
            self.first(number)
            _die_of(number)
        elif self.received is None:
            self.received = number
            raise Terminated(number)
        else:
            if self.second is not None:
                self.second(number)
            _die_of(number)


def _die_of(number: int) -> None:
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


@contextmanager
def terminations() -> Iterator[None]:
    """Let signals raise `Terminated` inside."""
    handlers = SignalHandlers()
    handlers.install()
    try:
        yield
    finally:
        handlers.restore()


_EXITS: Final = ("_exit", "execv", "execve")
"""The functions of `os` after which nothing of this process runs; the others call these."""


@final
@dataclass
class ExitGuard:
    """Makes it known when this process is ended by `os._exit`, or replaced by another program."""

    report: Callable[[str], object]
    """Called with what was called, before the process ends with a code that is not 0."""

    _process: int = 0
    _former: dict[str, Any] = field(default_factory=dict)

    def install(self) -> None:
        self._process = os.getpid()
        for name in _EXITS:
            if hasattr(os, name):
                self._former[name] = getattr(os, name)
                setattr(os, name, self._guarded(name))

    def restore(self) -> None:
        for name, former in self._former.items():
            setattr(os, name, former)
        self._former.clear()

    def _guarded(self, name: str) -> Callable[..., object]:
        former = self._former[name]

        def guarded(*args: Any) -> object:
            if os.getpid() != self._process:  # the usual end of a forked child
                return former(*args)
            self.report(f"os.{name}({', '.join(map(repr, args))})")
            code = args[0] & 0xFF if name == "_exit" and args and isinstance(args[0], int) else 1
            return self._former["_exit"](code or 1)

        return guarded
