"""What an isolated process runs: it loads the backend, and answers until the kit hangs up.

A question is a pickled tuple, an answer is JSON with the bytes of arrays: the process may be
broken, so nothing that it sends is ever executed. Its own output goes to a file, not to the pipe.
Rooms above have questions of their own, ``("call", "module:function", …)``: a function that takes
the process's `Host`, and returns what JSON can say.
"""

from __future__ import annotations

import faulthandler
import mmap
import os
import pickle
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np  # noqa: F401 - loaded before the first item's time begins

from hettest.backend import progress
from hettest.isolation.frames import LENGTH, pack
from hettest.isolation.host import Host, crash

if TYPE_CHECKING:
    from hettest.backend.protocol import Array

WHERE = signal.SIGUSR1
"""Makes the process print what each of its threads is doing."""

_IDLE: Final = 1.0
"""Seconds without a question after which nobody needs to end the process by itself."""


def main(pipe: int, box: int) -> None:
    """Answer at the other end of the pipe; both are file descriptors."""
    for descriptor in (pipe, box):
        os.set_inheritable(descriptor, False)  # else a child of the backend keeps the pipe open
    faulthandler.enable()
    faulthandler.register(WHERE, all_threads=True)
    progress.record_to(mmap.mmap(box, progress.SIZE))
    _serve(_Questions(socket.socket(fileno=pipe)))


def _serve(questions: _Questions) -> None:
    try:
        asked, questions.seconds = questions.next()
        host, process = Host(asked), os.getpid()
        while True:
            number, *question = questions.next()
            data, arrays = host.answer(tuple(question))
            if os.getpid() != process:
                os._exit(1)  # the backend forked, and this is its copy of the kit
            _flush()
            for part in _frame(number, data, arrays):
                questions.end.sendall(part)
    except EOFError:
        return


def _flush() -> None:
    """Bring out what was printed; a backend may have closed both, or put something else there."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()


def _frame(number: int, data: dict[str, Any], arrays: list[Array]) -> list[bytes]:
    try:
        return pack({**data, "number": number}, arrays)
    except ValueError as error:
        return pack({**crash(f"what it showed cannot be sent: {error}"), "number": number})


@final
@dataclass
class _Questions:
    """The kit's questions, one after the other; while one is answered the process is watched."""

    end: socket.socket
    seconds: float = 600.0
    """After which a process ends that answers nothing, should nobody be left to end it."""

    _watched: float | None = field(default=None, init=False)

    def next(self) -> Any:
        """Return the next question.

        Raises:
            EOFError: The kit has hung up.
        """
        if self._watched is not None and not self._is_asked(_IDLE):
            faulthandler.cancel_dump_traceback_later()
            self._watched = None
        (length,) = LENGTH.unpack(self._take(LENGTH.size))
        question = pickle.loads(self._take(length))
        now = time.monotonic()
        if self._watched is None or now - self._watched > _IDLE:
            faulthandler.dump_traceback_later(self.seconds, exit=True)
            self._watched = now
        return question

    def _is_asked(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self.end, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def _take(self, size: int) -> bytes:
        taken = bytearray()
        while len(taken) < size:
            block = self.end.recv(min(size - len(taken), 1 << 20))
            if not block:
                raise EOFError
            taken += block
        return bytes(taken)
