"""What a running program consists of: the run, its frames, and the memory they hold."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, final

from reference_vm.bytecode.executable import FunctionCode
from reference_vm.devices.api import Buffer, DeviceApi
from reference_vm.devices.api import Tensor as Tensor  # what registers hold
from reference_vm.runtime.log import ALLOC, FREE, PathLog
from reference_vm.runtime.sizes import Symbols

Step: TypeAlias = Callable[["Frame"], "int | None"]
"""One instruction, made ready. Returns where to go on: ``None`` for the next instruction, the index
of another, or `SWITCH`."""

SWITCH: Final = -1
"""Go on in the frame that is now on top."""


@final
@dataclass(frozen=True, slots=True)
class PreparedFunction:
    """A function whose instructions have been made ready for the devices of a session."""

    code: FunctionCode
    steps: tuple[Step, ...]


class Run:
    """One run of a program; the native executor counts holds in its own way."""

    __slots__ = ("borrowed", "checked", "live", "log", "profiled", "result", "shared", "stack")

    def __init__(self, log: PathLog | None, checked: bool, profiled: bool = False) -> None:
        self.log = log
        self.profiled = profiled
        """Whether work on devices without a clock is timed, and waited for."""

        self.checked = checked
        """Whether memory is poisoned when its value dies."""

        self.live: dict[int, Buffer] = {}
        """What the run allocated and has not given back, by id."""

        self.shared: dict[int, int] = {}
        """How many holds there are beyond the first on what is live, by id; most have none."""

        self.borrowed: list[Buffer] = []
        """The caller's own arrays, which the run must let go of; they are not its to give back."""

        self.stack: list[Frame] = []
        self.result: Any = None

    def now(self, device: DeviceApi) -> int | None:
        """Return the time on a device's clock; of a profiled run every device has one."""
        found = device.clock()
        if found is not None or not self.profiled:
            return found
        device.synchronize()
        return time.perf_counter_ns()

    def allocate(self, device: DeviceApi, nbytes: int) -> Buffer:
        buffer = device.allocate(nbytes)
        self.adopt(buffer)
        return buffer

    def adopt(self, buffer: Buffer) -> None:
        """Let the run own a buffer that was allocated for it."""
        self.live[buffer.id] = buffer
        if self.log is not None:
            self.log.append((ALLOC, (), ((buffer, 0, buffer.nbytes),), None, None))

    def has_alone(self, buffer: Buffer) -> bool:
        """Whether memory is this run's to give back, and there is one hold on it."""
        return buffer.id in self.live and buffer.id not in self.shared

    def share(self, buffer: Buffer) -> None:
        """Take one more hold on memory, if it is this run's to give back."""
        if buffer.id in self.live:
            self.shared[buffer.id] = self.shared.get(buffer.id, 0) + 1

    def free(self, buffer: Buffer) -> None:
        """Give up a hold on memory; with the last one it is given back.

        Nothing happens if it is not this run's to give, or was given back before.
        """
        more = self.shared.get(buffer.id)
        if more is not None:
            if more > 1:
                self.shared[buffer.id] = more - 1
            else:
                del self.shared[buffer.id]
            return
        if buffer.id not in self.live:
            return
        if self.log is not None:
            self.log.append((FREE, (), ((buffer, 0, buffer.nbytes),), None, None))
        self.give_back(buffer)
        del self.live[buffer.id]  # last, for who is interrupted before

    def give_back(self, buffer: Buffer) -> None:
        """Let the device have memory back that nobody holds any more, if it has not yet."""
        if buffer.alive:
            buffer.device.free(buffer)

    def close(self) -> None:
        """Give back all that is left, and let go of the caller's arrays.

        May be done again after it was interrupted: what is no longer alive was given back.
        """
        self.shared.clear()
        for buffer in tuple(self.live.values()):
            self.free(buffer)
        for buffer in self.borrowed:
            if buffer.alive:
                buffer.device.free(buffer)
        self.borrowed.clear()


@final
@dataclass(slots=True)
class Frame:
    """One call of a function."""

    function: PreparedFunction
    registers: list[Any]
    symbols: Symbols
    run: Run
    pc: int = 0
    target: int = 0
    """The caller's register for the result."""

    steps: tuple[Step, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.steps = self.function.steps


def enter(function: PreparedFunction, args: list[Any], symbols: Symbols, run: Run) -> Frame:
    """Return a frame that is about to run ``function``."""
    registers = args + [None] * (function.code.registers - len(args))
    return Frame(function, registers, symbols, run)
