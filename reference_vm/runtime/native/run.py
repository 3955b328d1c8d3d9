"""One run of the native executor, as the interpreter's steps see it.

Holds on memory that the loop gave out are counted in its table. What the steps do is noted as
*events*, from which the trace is made afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast, final

from reference_vm.bytecode.instructions import (
    GetField,
    Invoke,
    InvokeClosure,
    Kill,
    MakeClosure,
    MakeData,
    MakeTuple,
    Move,
    Project,
    Return,
    Share,
    TailInvoke,
    TailInvokeClosure,
)
from reference_vm.devices.api import Buffer, DeviceApi
from reference_vm.runtime.frames import Run
from reference_vm.runtime.log import Entry, PathLog
from reference_vm.runtime.native.pool import HostPool
from reference_vm.runtime.sizes import Symbols

BOOKS: Final = (
    MakeTuple,
    Project,
    Move,
    Invoke,
    TailInvoke,
    InvokeClosure,
    TailInvokeClosure,
    MakeClosure,
    MakeData,
    GetField,
    Share,
    Kill,
    Return,
)
"""Instructions that need no data: whoever goes the way of a run once more can do them again."""

Event: TypeAlias = tuple[str, Any]
"""``entry`` and the entry, or ``adopt``, ``share`` or ``free`` and the buffer."""


@final
@dataclass(slots=True)
class Step:
    """What one instruction did that was done in Python."""

    events: list[Event] = field(default_factory=list)
    written: dict[int, Any] = field(default_factory=dict)
    """The registers that it set."""

    symbols: Symbols = ()
    """The frame's, after it."""

    serial: int = 0
    """Of the loop's next buffer, after it."""


@final
class _Notes:
    """Takes what the steps append to the log."""

    __slots__ = ("run",)

    def __init__(self, run: NativeRun) -> None:
        self.run = run

    def append(self, entry: Entry) -> None:
        self.run.events.append(("entry", entry))


@final
class NativeRun(Run):
    """A run whose memory on the host is the loop's."""

    __slots__ = ("events", "memory", "running")

    def __init__(self, memory: HostPool, traced: bool, checked: bool) -> None:
        super().__init__(None, checked)
        self.memory = memory
        self.events: list[Event] = []
        self.running = False
        """Whether an instruction is being done, so that what fails is its fault."""

        if traced:
            self.log = cast("PathLog", _Notes(self))

    def allocate(self, device: DeviceApi, nbytes: int) -> Buffer:
        if device is not self.memory.host:
            return super().allocate(device, nbytes)
        buffer = self.memory.allocate(nbytes)
        self.events.append(("adopt", buffer))
        return buffer

    def adopt(self, buffer: Buffer) -> None:
        self.live[buffer.id] = buffer
        self.events.append(("adopt", buffer))

    def share(self, buffer: Buffer) -> None:
        self.events.append(("share", buffer))
        if self.memory.owns(buffer):
            self.memory.share(buffer)
        else:
            super().share(buffer)

    def free(self, buffer: Buffer) -> None:
        self.events.append(("free", buffer))
        if self.memory.owns(buffer):
            self.memory.release(buffer)
            return
        log, self.log = self.log, None  # a path's trace says by itself when memory is given back
        super().free(buffer)
        self.log = log
        if not buffer.alive:
            self.memory.disown(buffer)

    def taken(self) -> list[Event]:
        """Return the events since it was called last."""
        events = list(self.events)
        self.events.clear()
        return events


__all__ = ["Entry", "Event", "NativeRun", "Step"]
