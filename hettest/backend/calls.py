"""Calls into an implementation, held to the protocol: what it raises, and what it returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from hettest.backend import progress
from hettest.backend.guard import crashes
from hettest.backend.protocol import (
    Backend,
    Copy,
    Executable,
    Execution,
    Memory,
    Observation,
    Options,
    Program,
    Reading,
    Timing,
)
from hettest.errors import ProtocolBreach

if TYPE_CHECKING:
    from hettest.backend.protocol import Value


def compiled(
    backend: Backend, program: Program, device_map: Mapping[str, str], options: Options
) -> Executable:
    """Return what ``backend`` makes of ``program``.

    Raises:
        Rejected: It does not accept the program.
        BackendCrash: It raised something else.
        ProtocolBreach: What it returned cannot be run.
    """
    where = ", ".join(f"{role}={device}" for role, device in device_map.items())
    progress.step(f"compile for {where or options.default}")
    with crashes(f"{backend.name}.compile()"):
        found = backend.compile(program, device_map, options)
    progress.step("judge what was compiled")
    if not callable(getattr(found, "run", None)):
        raise ProtocolBreach(
            f"{backend.name}.compile() returned {_called(found)}, "
            "expected an object with a method run(entry, args)"
        )
    return found


def observed(executable: Executable, entry: str, args: Sequence[Value]) -> Observation:
    """Return what a run of ``entry`` let the kit see.

    Raises:
        Rejected: The run ended in an error of the program or of its data.
        BackendCrash: It raised something else.
        ProtocolBreach: It returned no observation, or one with something else in it.
    """
    progress.step(f"run {entry!r}")
    with crashes(f"run({entry!r})"):
        found = executable.run(entry, args)
    progress.step("judge the run")
    if not isinstance(found, Observation):
        raise ProtocolBreach(
            f"run() returned {_called(found)}, expected an Observation: "
            "return Observation(results=...)"
        )
    with crashes("what run() returned"):
        found = _plain(found)
    wrong = next(_malformed(found), None)
    if wrong is not None:
        raise ProtocolBreach(f"run() returned an observation whose {wrong}")
    return found


def _plain(found: Observation) -> Observation:
    """Return the observation with containers of our own: theirs may do anything when read."""
    shown = {field: getattr(found, field) for field in (*_LISTED, *_NAMED)}
    own: dict[str, Any] = {f: tuple(shown[f]) for f in _LISTED if isinstance(shown[f], Sequence)}
    own |= {f: dict(shown[f]) for f in _NAMED if isinstance(shown[f], Mapping)}
    return replace(found, **own)


def _malformed(found: Observation) -> Iterator[str]:
    import numpy as np

    for leaf in _leaves(found.results):
        if not isinstance(leaf, np.ndarray | np.generic):
            yield f"results hold {_called(leaf)}, expected arrays, or tuples of them"
    yield from _wrong_items("executions", found.executions, Execution)
    yield from _wrong_items("copies", found.copies, Copy)
    yield from _wrong_values("memory", found.memory, Memory)
    yield from _wrong_values("intermediates", found.intermediates, np.ndarray)
    yield from _wrong_items("profile", found.profile, Timing)
    yield from _wrong_values("metered", found.metered, Reading)
    yield from _wrong_values("spaces", found.spaces, str)


_LISTED: Final = ("executions", "copies", "profile")
_NAMED: Final = ("memory", "intermediates", "metered", "spaces")
_NONE: Final = type(None)
_KINDS: Final = {str: "a text", int: "an int", float: "a float", tuple: "a tuple", _NONE: "None"}
_PARTS: Final[Mapping[type, Mapping[str, tuple[type, ...]]]] = {
    Execution: {"op": (str,), "defines": (tuple,), "device": (str,)},
    Copy: {
        **dict.fromkeys(("source", "target"), (str,)),
        **dict.fromkeys(("value", "cause", "reader"), (str, _NONE)),
        "bytes": (int, _NONE),
        "count": (int,),
    },
    Memory: dict.fromkeys(("start", "end", "peak"), (int,)),
    Timing: {"device": (str,), "seconds": (float, int), "kind": (str,), "count": (int,)},
    Reading: dict.fromkeys(
        ("launches", "copies_in", "copies_out", "bytes_in", "bytes_out"), (int, _NONE)
    ),
}
_AMOUNTS: Final = (Memory, Timing, Reading)


def _wrong_items(field: str, found: object, kind: type) -> Iterator[str]:
    if found is None:
        return
    if not isinstance(found, Sequence):
        yield f"{field} are {_called(found)}, expected a list of {kind.__name__}"
        return
    for number, item in enumerate(found):
        if not isinstance(item, kind):
            yield f"{field} hold {_called(item)}, expected {kind.__name__}"
        else:
            yield from _wrong_parts(f"{field}[{number}]", item, _PARTS.get(kind, {}))


def _wrong_parts(place: str, item: object, parts: Mapping[str, tuple[type, ...]]) -> Iterator[str]:
    for name, kinds in parts.items():
        value = getattr(item, name)
        if not isinstance(value, kinds) or isinstance(value, bool):
            expected = " or ".join(_KINDS[kind] for kind in kinds)
            yield f"{place}.{name} is {_called(value)}, {value!r}, expected {expected}"
        elif isinstance(item, _AMOUNTS) and isinstance(value, int | float) and not value >= 0:
            yield f"{place}.{name} is {value!r}, expected no less than 0"


def _wrong_values(field: str, found: object, kind: type) -> Iterator[str]:
    if found is None:
        return
    if not isinstance(found, Mapping):
        yield f"{field} are {_called(found)}, expected a mapping from names to {kind.__name__}"
        return
    yield from _wrong_items(field, tuple(found.values()), kind)


def _leaves(value: object) -> Iterator[object]:
    """Yield what lies in nested tuples, in order, but for a constructor's name at the beginning."""
    stack = [value]
    while stack:
        top = stack.pop()
        if isinstance(top, tuple):
            named = bool(top) and isinstance(top[0], str)
            stack.extend(reversed(top[1:] if named else top))
        else:
            yield top


def _called(value: object) -> str:
    """Return ``a list``, ``an int``, ``None``."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
