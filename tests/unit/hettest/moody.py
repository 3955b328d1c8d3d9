"""The small backend, that does to its process what the case's name says: for testing isolation."""

from __future__ import annotations

import os
import signal
import stat
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hettest.backend import progress
from hettest.backend.protocol import DeviceInfo, Options, Program
from hettest.isolation.frames import HEAD, MAGIC, pack
from tests.unit.hettest import fake_backend

HANGS = "MOODY_HANGS"
"""Names the file to write, once it hangs, with the process that does."""


def _crash() -> None:
    progress.note("kernel add -> main/%s on cpu:0")
    os.kill(os.getpid(), signal.SIGSEGV)


def _leave() -> None:
    print("good", "bye", flush=False)
    os._exit(0)


def _hang() -> None:
    if HANGS in os.environ:
        Path(os.environ[HANGS]).write_text(str(os.getpid()))
    while True:
        time.sleep(0.01)


def _fill() -> None:
    kept = np.ones(100 << 20)
    time.sleep(3600)
    assert kept.all()


def _chat() -> None:
    print('{"record": {"outcome": "passed"}}')
    os.write(2, b"\xff\x00 not a text\n")


def _scribble() -> None:
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b"\x00\x00\x00\x04oops")
        except OSError:
            continue


def _halve() -> None:
    for descriptor in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                os.write(descriptor, HEAD.pack(MAGIC, 100, 0) + b'{"')
        except OSError:
            continue
    time.sleep(3600)


def _answer_in_advance() -> None:
    for descriptor in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                os.write(descriptor, b"".join(pack({"number": 1, "facts": {}})))
        except OSError:
            continue


def _cut_off() -> None:
    for descriptor in range(3, 64):
        try:
            os.ftruncate(descriptor, 0)
        except OSError:
            continue
    os.kill(os.getpid(), signal.SIGKILL)


def _inflate() -> None:
    os.ftruncate(1, 1 << 36)
    os._exit(5)


def _fork() -> None:
    os.fork()


def _interrupt() -> None:
    raise KeyboardInterrupt


MOODS = {
    "crashes": _crash,
    "leaves": _leave,
    "hangs": _hang,
    "fills": _fill,
    "chats": _chat,
    "scribbles": _scribble,
    "halves": _halve,
    "answers_in_advance": _answer_in_advance,
    "cuts_off": _cut_off,
    "inflates": _inflate,
    "forks": _fork,
    "interrupts": _interrupt,
}


class Backend(fake_backend.Backend):
    def compile(self, program: Program, device_map: Mapping[str, str], options: Options) -> Any:
        MOODS.get(program.id.rpartition("/")[2], lambda: None)()
        return super().compile(program, device_map, options)


class DiesInDevices(fake_backend.Backend):
    def devices(self) -> Sequence[DeviceInfo]:
        print("looking for devices")
        os._exit(7)


class HangsInDevices(fake_backend.Backend):
    def devices(self) -> Sequence[DeviceInfo]:
        time.sleep(3600)
        return ()


class DiesInNotes(fake_backend.Backend):
    def notes(self) -> Sequence[str]:
        os._exit(5)


class DiesInClose(fake_backend.Backend):
    def close(self) -> None:
        os.kill(os.getpid(), signal.SIGABRT)


class DiesWhenMade(fake_backend.Backend):
    def __init__(self) -> None:
        sys.stderr.write("no licence\n")
        os._exit(3)


class OneByOne(fake_backend.Backend):
    """Says in which process each program was compiled."""

    def compile(self, program: Program, device_map: Mapping[str, str], options: Options) -> Any:
        print("in process", os.getpid())
        return super().compile(program, device_map, options)


class DiesOnSharedInput(fake_backend.Backend):
    """Ends its process at one case of the corpus, with the exit code of success."""

    def compile(self, program: Program, device_map: Mapping[str, str], options: Options) -> Any:
        if program.id == "placement/shared_input":
            os._exit(0)
        return super().compile(program, device_map, options)


class BringsWaivers(fake_backend.Backend):
    """Has a waiver of its own for what it does well by now."""

    waivers = Path(__file__).with_name("moody_waivers.toml")


class WithNpu(fake_backend.Backend):
    """Has a real device, or so it says."""

    def devices(self) -> Sequence[DeviceInfo]:
        return [*super().devices(), DeviceInfo("npu:0", "npu", 0)]


class WithoutLibrary(fake_backend.Backend):
    """Has a device whose library is not installed."""

    def devices(self) -> Sequence[DeviceInfo]:
        try:
            import no_such_npu_library  # type: ignore[import-not-found]  # noqa: F401
        except ImportError as error:
            missing = DeviceInfo("npu:0", "npu", 0, available=False, reason=str(error))
        return [*super().devices(), missing]


class InProcess(fake_backend.Backend):
    """Says in which process it is."""

    @property
    def process(self) -> int:
        return os.getpid()
