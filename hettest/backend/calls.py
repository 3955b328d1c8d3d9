"""Calls into an implementation, held to the protocol: what it raises, and what it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hettest.backend import exact, progress
from hettest.backend.guard import crashes, plain
from hettest.backend.protocol import (
    Backend,
    Executable,
    Observation,
    Options,
    Program,
    Rejected,
)
from hettest.errors import ProtocolBreach

if TYPE_CHECKING:
    from hettest.backend.protocol import Value


def name_of(backend: Backend) -> str:
    """Return what a backend calls itself.

    Raises:
        BackendCrash: It raised something instead.
        ProtocolBreach: It is no text.
    """
    with crashes("the backend's name"):
        name = backend.name
    if not isinstance(name, str):
        raise ProtocolBreach(f"the backend's name is {exact.called(name)}, expected a text")
    return plain(name)


def claims_of(backend: Backend) -> frozenset[str]:
    """Return the capability words that a backend claims.

    Raises:
        BackendCrash: It raised something instead.
        ProtocolBreach: They are no words.
    """
    with crashes("the backend's capabilities"):
        return exact.words(backend.capabilities)


def compiled(
    backend: Backend, program: Program, device_map: Mapping[str, str], options: Options
) -> Executable:
    """Return what ``backend`` makes of ``program``.

    Raises:
        Rejected: It does not accept the program.
        BackendCrash: It raised something else.
        ProtocolBreach: What it returned cannot be run, or what it says of its rejection.
    """
    where = ", ".join(f"{role}={device}" for role, device in device_map.items())
    progress.step(f"compile for {where or options.default}")
    name = name_of(backend)
    try:
        with crashes(f"{name}.compile()", may_refuse=True):
            found = backend.compile(program, device_map, options)
    except Rejected as rejected:
        raise _plainly(f"{name}.compile()", rejected) from rejected
    progress.step("read what compile() returned")
    with crashes(f"what {name}.compile() returned"):
        runs = callable(getattr(found, "run", None))
    if not runs:
        raise ProtocolBreach(
            f"{name}.compile() returned {exact.called(found)}, "
            "expected an object with a method run(entry, args)"
        )
    return found


def observed(executable: Executable, entry: str, args: Sequence[Value]) -> Observation:
    """Return what a run of ``entry`` let the kit see, in plain values.

    Raises:
        Rejected: The run ended in an error of the program or of its data.
        BackendCrash: It raised something else.
        ProtocolBreach: It returned no observation, or one with something else in it.
    """
    progress.step(f"run {entry!r}")
    try:
        with crashes(f"run({entry!r})", may_refuse=True):
            found = executable.run(entry, args)
    except Rejected as rejected:
        raise _plainly("run()", rejected) from rejected
    progress.step("read what run() returned")
    if not issubclass(type(found), Observation):
        raise ProtocolBreach(
            f"run() returned {exact.called(found)}, expected an Observation: "
            "return Observation(results=...)"
        )
    with crashes("what run() returned"):
        return exact.observation(found)


def _plainly(call: str, rejected: Rejected) -> Rejected:
    """Return a rejection of plain values.

    Raises:
        ProtocolBreach: It says something else than the protocol has; names the field.
    """
    try:
        with crashes(f"what {call} raised"):
            return exact.rejection(rejected)
    except ProtocolBreach as wrong:
        raise ProtocolBreach(f"{call} {wrong}") from None
