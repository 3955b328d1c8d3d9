"""One spawned process that answers questions, and how it ended if it does not.

It leads a session of its own, so that an interrupt typed at the terminal reaches the kit alone, and
ending it ends whatever it started.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, final

from hettest.backend import progress
from hettest.isolation.channel import TICK, Channel
from hettest.isolation.frames import LENGTH, Answer, Malformed
from hettest.isolation.memory import descendants, resident
from hettest.isolation.serve import WHERE
from hettest.limits import Limits, show_bytes, show_excess
from hettest.runner.asked import Asked

_GRACE: Final = 5.0
"""Seconds that a process has to be gone after it hung up."""

_LONGEST: Final = 64 * 1024 * 1024
"""Bytes of a process's output that are kept on disk."""

_SHOWN: Final = 1 << 20
"""Bytes of it that are read at once; the last ones."""


@final
class ProcessEnded(Exception):
    """The process did not answer; the message says how it ended and what it was doing."""

    def __init__(self, stage: str, how: str, words: progress.Words) -> None:
        doing = f" during: {words}" if words.step else " before it was ready"
        super().__init__(how + doing)
        self.stage = stage
        """``crash`` or ``timeout``."""


@final
@dataclass
class Process:
    """A process that has been started; to be closed or killed."""

    limits: Limits
    _child: subprocess.Popen[bytes]
    _pipe: Channel
    _box: int
    """The descriptor of its black box. It is read and never mapped: the process may cut it off."""

    _output: int
    """The descriptor of the file that takes what the process prints."""

    _shown: int = 0
    """How much of that file earlier answers have taken."""

    _stacks: int | None = None
    """Where in that file the stacks begin that a process which hangs was asked for."""

    _asked: int = 0
    """How many questions it has been asked."""

    @classmethod
    def start(cls, asked: Asked, limits: Limits) -> Process:
        """Return a process that will load the backend when it is first asked."""
        ours, theirs = socket.socketpair()
        output, box = _unnamed(os.O_APPEND), _unnamed()
        os.ftruncate(box, progress.SIZE)
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; "
            f"from hettest.isolation.serve import main; main({theirs.fileno()}, {box})"
        )
        child = subprocess.Popen(
            [sys.executable, "-u", "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=(theirs.fileno(), box),
            start_new_session=True,
        )
        theirs.close()
        made = cls(limits, child, Channel(ours), box, output)
        # Should the kit be killed, a process that hangs ends by itself.
        made._begin((asked, 2 * max(limits.seconds, limits.start) + 60))
        return made

    def _begin(self, first: tuple[Any, ...]) -> None:
        try:
            self._pipe.send(_pickled(first), _Look(self, self.limits.start, self.limits.start))
        except OSError:
            return  # it is gone already; whoever asks it something will say so

    def ask(self, question: tuple[Any, ...], seconds: float, limit: float | None = None) -> Answer:
        """Return the answer to ``question``.

        Args:
            question: What it is asked.
            seconds: How long it may take.
            limit: How long it might have taken all in all, for the message.

        Raises:
            ProcessEnded: There is none; the process has been ended.
        """
        self._asked += 1
        look = _Look(self, seconds, seconds if limit is None else limit)
        try:
            self._pipe.send(_pickled((self._asked, *question)), look)
            answer = self._pipe.receive(look)
            if answer.data.get("number") != self._asked:
                raise Malformed("wrote into the kit's own pipe")
        except (EOFError, OSError):
            raise self._death() from None
        except Malformed as wrong:
            raise self.refused(wrong) from None
        except BaseException:
            self.kill()
            raise
        return answer

    def refused(self, wrong: Malformed) -> ProcessEnded:
        """Return the end of a process whose answer is none; it is killed."""
        return self._ended("crash", f"its process {wrong}")

    def printed(self) -> str:
        """Return what the process has printed by itself since this was last asked."""
        size = os.fstat(self._output).st_size
        end = size if self._stacks is None else self._stacks
        start = min(self._shown, end)
        self._shown = end
        return self._text(start, end)

    def stacks(self) -> str:
        """Return what the threads were doing of a process that hung; empty for any other."""
        size = os.fstat(self._output).st_size
        return "" if self._stacks is None else self._text(self._stacks, size)

    def _text(self, start: int, end: int) -> str:
        start = max(start, end - _SHOWN)  # a hostile process can make the file as long as it likes
        return os.pread(self._output, end - start, start).decode("utf-8", "replace")

    def close(self) -> None:
        """Let the process end by itself; what still runs after a while is killed."""
        started = _handles_of(descendants(self._child.pid))
        self._pipe.close()
        self._has_gone(_GRACE)
        self.kill()
        _end(started)

    def kill(self) -> None:
        """End the process and all that it started."""
        self._pipe.close()
        if self._child.returncode is None:
            self.kill_group()
            self._child.wait()

    def release(self) -> None:
        """Give back the file of its output, when all of it has been taken."""
        os.close(self._output)
        os.close(self._box)

    def look(self, passed: bool, limit: float) -> None:
        """Find out whether an answer is still to be waited for.

        Args:
            passed: Whether the time for it has passed.
            limit: The time that there was, for the message.

        Raises:
            ProcessEnded: It is not; the process has taken too long, or too much, or is gone.
        """
        if passed:
            self._say_where()
            raise self._ended("timeout", f"no answer within {limit:g} s")
        if self._has_gone(0) and not self._pipe.has_more():
            raise self._death()
        self._hold_to_memory()
        if os.fstat(self._output).st_size > _LONGEST:
            os.ftruncate(self._output, 0)

    def _hold_to_memory(self) -> None:
        allowed = self.limits.memory
        held = resident(self._child.pid) if allowed is not None else 0
        if allowed is not None and held > allowed:
            how = f"its process held {show_excess(held, allowed)}, more than {show_bytes(allowed)},"
            raise self._ended("crash", how)

    def _say_where(self) -> None:
        """Let a process that hangs print what its threads do, if it still can."""
        self._stacks = size = os.fstat(self._output).st_size
        os.kill(self._child.pid, WHERE)
        end = time.monotonic() + 0.5
        while time.monotonic() < end and os.fstat(self._output).st_size == size:
            time.sleep(0.01)
        time.sleep(0.02)

    def _death(self) -> ProcessEnded:
        if not self._has_gone(_GRACE):
            return self._ended("crash", "its process hung up on the kit")
        return self._ended("crash", None)

    def _ended(self, stage: str, how: str | None) -> ProcessEnded:
        """Return the end of the process, which is killed if it is there; ``None`` says how."""
        self.kill()
        doing = progress.read(os.pread(self._box, progress.SIZE, 0))
        return ProcessEnded(stage, how or _how(self._child.returncode), doing)

    def _has_gone(self, seconds: float) -> bool:
        """Whether the process ends within so many seconds; it stays to be waited for."""
        end = time.monotonic() + seconds
        while self._child.returncode is None:
            if os.waitid(os.P_PID, self._child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                return True
            if time.monotonic() >= end:
                return False
            time.sleep(0.005)
        return True

    def kill_group(self) -> None:
        """Kill the process and all that it started, and wait for none of them."""
        if self._child.returncode is not None:
            return
        started = _handles_of(descendants(self._child.pid))
        with suppress(ProcessLookupError, PermissionError):
            # macOS refuses for a group whose leader is gone but not waited for
            os.killpg(self._child.pid, signal.SIGKILL)
        _end(started)


@final
@dataclass
class _Look:
    """Looks at a process now and then while it is waited for."""

    process: Process
    seconds: float
    limit: float
    _started: float = field(default_factory=time.monotonic)
    _next: float = field(default_factory=lambda: time.monotonic() + TICK / 2)

    def __call__(self) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + TICK / 2
            self.process.look(now - self._started >= self.seconds, self.limit)


def _handles_of(processes: Iterable[int]) -> list[int]:
    """Return descriptors of processes, by which none is taken for a later one of its number."""
    handles = []
    for process in processes if hasattr(os, "pidfd_open") else ():
        with suppress(OSError):  # it has ended meanwhile
            handles.append(os.pidfd_open(process))
    return handles


def _end(handles: Iterable[int]) -> None:
    """Kill the processes of `_handles_of`, those too that left the group of their parent."""
    for handle in handles:
        with suppress(OSError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        os.close(handle)


def _pickled(question: tuple[Any, ...]) -> bytes:
    data = pickle.dumps(question)
    return LENGTH.pack(len(data)) + data


def _unnamed(flags: int = 0) -> int:
    """Return the descriptor of a new file that has no name any more."""
    descriptor, name = tempfile.mkstemp(prefix="hettest-")
    os.close(descriptor)
    descriptor = os.open(name, os.O_RDWR | os.O_CLOEXEC | flags)
    os.unlink(name)
    return descriptor


def _how(code: int) -> str:
    """Return how a process ended that nobody killed."""
    if code >= 0:
        return f"its process ended itself with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    out_of_memory = (
        " (by the kernel for want of memory, or by somebody)" if name == "SIGKILL" else ""
    )
    return f"its process was killed by {name}{out_of_memory}"
