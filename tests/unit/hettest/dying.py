"""A well-behaved small backend that dies at one point of its life, in one manner."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from hettest.backend.protocol import DeviceInfo, Mode, Options, Program
from tests.unit.hettest import unruly

DIED: Final = "DYING_BACKEND_DIED"
"""Names the file that is written when it dies."""

POINTS: Final = ("made", "capabilities", "devices", "compile", "run", "notes", "close")


def _raise() -> None:
    raise RuntimeError("the accelerator fell off the bus")


def _leave() -> None:
    sys.exit(0)


def _exit() -> None:
    os._exit(0)


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


MANNERS: Final[Mapping[str, Callable[[], None]]] = {
    "raises": _raise,
    "leaves": _leave,
    "exits": _exit,
    "is-killed": _kill,
}


@dataclass
class Dying:
    """Named as ``tests.unit.hettest.dying:Dying:point=run,manner=exits,after=2``."""

    point: str = "never"
    manner: str = "raises"
    after: str = "0"
    """How often the point is passed before."""

    name: str = "dying"
    passed: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.reach("made")

    def reach(self, point: str) -> None:
        """Die, if it is the time."""
        if point != self.point:
            return
        self.passed += 1
        if self.passed > int(self.after):
            Path(os.environ[DIED]).write_text(point)
            MANNERS[self.manner]()

    @property
    def capabilities(self) -> frozenset[str]:
        self.reach("capabilities")
        return unruly.Shows.capabilities

    def devices(self) -> Sequence[DeviceInfo]:
        self.reach("devices")
        return unruly.Shows().devices()

    def compile(self, program: Program, device_map: Mapping[str, str], options: Options) -> Any:
        self.reach("compile")
        return Executable(self, unruly.Shows().compile(program, device_map, options))

    def notes(self) -> Sequence[str]:
        self.reach("notes")
        return ()

    def close(self) -> None:
        self.reach("close")


@dataclass
class Executable:
    backend: Dying
    whole: unruly.Executable

    def run(self, entry: str, args: Sequence[Any], mode: Mode = Mode.DIRECT) -> Any:
        self.backend.reach("run")
        seen = self.whole.run(entry, args, mode)
        return replace(seen, copies=[replace(copy, cause="read") for copy in seen.copies])
