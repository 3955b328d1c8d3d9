"""The kit's end of the pipe: neither sending nor receiving ever waits without looking.

What waits on a process that has stopped reading, or that sends half an answer, would wait for ever.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, final

from hettest.isolation.frames import HEAD, Answer, lengths, unpack

TICK: Final = 0.05
"""Seconds between two looks at a process that does not answer."""

_BLOCK: Final = 1 << 20

Look = Callable[[], None]
"""Called while waiting; raises where it is no use to wait any longer."""


@final
@dataclass
class Channel:
    """One end of a pair of sockets."""

    end: socket.socket
    _buffer: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self.end.setblocking(False)

    def send(self, data: bytes, look: Look) -> None:
        """Send all of ``data``.

        Raises:
            OSError: The other end is gone.
        """
        left = memoryview(data)
        while left:
            look()
            if self._is_ready(select.POLLOUT):
                left = left[self.end.send(left) :]

    def receive(self, look: Look) -> Answer:
        """Return the next answer.

        Raises:
            EOFError: The other end has hung up.
            OSError: It is gone.
            Malformed: What it sent is no answer.
        """
        head = self._take(HEAD.size, look)
        text, arrays = lengths(head)
        return unpack(self._take(text, look), self._take(arrays, look))

    def has_more(self) -> bool:
        """Whether there is something to be received."""
        return bool(self._buffer) or self._is_ready(select.POLLIN, 0)

    def close(self) -> None:
        self.end.close()

    def _take(self, size: int, look: Look) -> bytes:
        while len(self._buffer) < size:
            look()
            if not self._is_ready(select.POLLIN):
                continue
            block = self.end.recv(_BLOCK)
            if not block:
                raise EOFError
            self._buffer += block
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def _is_ready(self, event: int, seconds: float = TICK) -> bool:
        poll = select.poll()
        poll.register(self.end, event)
        return bool(poll.poll(seconds * 1000))
