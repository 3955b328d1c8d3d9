"""What an observation names is there: causes that are published, variables, devices.

A name that nobody knows is no evidence, and a count that goes by it would be of nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, final

from hettest.backend import exact
from hettest.backend.calls import name_of
from hettest.backend.discovery import devices_of, ranges
from hettest.backend.guard import crashes
from hettest.backend.protocol import Backend, Observation
from hettest.case import walk
from hettest.expect.situation import HOST, Situation
from hettest.expect.transfers import MOVED
from hettest.language import Module, nodes

CAUSES: Final = MOVED | {"constant", "deliver"}
"""The words that say why something was copied."""

_ITEM: Final = re.compile(r"(\.\d+|\[\d+\])+$")
"""What follows a tuple's name to name its items: ``main/%p.0``, ``main/%p[0]``."""


@final
@dataclass(frozen=True)
class Listed:
    """The devices that a backend lists."""

    backend: str
    devices: tuple[str, ...]

    @classmethod
    def of(cls, backend: Backend) -> Listed:
        """Ask a backend; raises `BackendCrash` if it raises something instead."""
        name = name_of(backend)
        listed = devices_of(backend)
        with crashes(f"what {name}.devices() returned"):
            return cls(name, tuple(exact.device(device).name for device in listed))


def unknown(situation: Situation, listed: Listed | None) -> Iterator[str]:
    """Yield what the observation names and is not there, each once.

    Args:
        situation: The run.
        listed: The devices there are; ``None`` to believe every device.
    """
    seen = situation.observation
    yield from dict.fromkeys(_causes(seen))
    yield from dict.fromkeys(_variables(situation))
    if listed is not None:
        known = {HOST, situation.default, *listed.devices, *situation.binding.values()}
        listing = ", ".join(ranges(listed.devices)) or "none"
        for device in dict.fromkeys(_devices(seen)):
            if device not in known:
                yield f"{device} is not one of the devices that {listed.backend} lists: {listing}"


def _causes(seen: Observation) -> Iterator[str]:
    for copy in seen.copies or ():
        if copy.cause is not None and copy.cause not in CAUSES:
            yield f"a transfer has the cause {copy.cause!r}, expected {_either(CAUSES)}, or None"


def _either(words: Iterable[str]) -> str:
    *others, last = sorted(words)
    return f"{', '.join(others)} or {last}"


def _variables(situation: Situation) -> Iterator[str]:
    named = list(_named(situation.observation))
    if not named:
        return
    there = set(_names(situation.module))
    for what, name in named:
        if name not in there and _ITEM.sub("", name) not in there:
            yield f"{what} {name!r}, which is no variable of the program"


def _named(seen: Observation) -> Iterator[tuple[str, str]]:
    """Yield every variable that is named, after what is said of it."""
    yield from (("a transfer is of", c.value) for c in seen.copies or () if c.value is not None)
    yield from (("a transfer is for", c.reader) for c in seen.copies or () if c.reader is not None)
    for execution in seen.executions or ():
        yield from (("an execution defines", name) for name in execution.defines)
    yield from (("its intermediates hold", name) for name in seen.intermediates or ())


def _names(module: Module) -> Iterator[str]:
    for function in module.functions:
        yield from (walk.name_of(function, param) for param in function.params)
        for binding in walk.bindings(function):
            within = (binding.var, *_bound_inside(binding.value))
            yield from (walk.name_of(function, var) for var in within)


def _bound_inside(value: nodes.Expr) -> Iterator[nodes.Var]:
    """Yield the variables that an expression binds itself: parameters, and those of patterns."""
    match value:
        case nodes.Closure(params=params):
            yield from params
        case nodes.Match(arms=arms):
            for arm in arms:
                yield from _in_pattern(arm.pattern)


def _in_pattern(pattern: nodes.Pattern) -> Iterator[nodes.Var]:
    waiting = [pattern]
    while waiting:
        match waiting.pop():
            case nodes.BindPattern(var=var):
                yield var
            case nodes.ConstructorPattern(items=items) | nodes.TuplePattern(items=items):
                waiting += items


def _devices(seen: Observation) -> Iterator[str]:
    for copy in seen.copies or ():
        yield copy.source
        yield copy.target
    yield from (execution.device for execution in seen.executions or ())
    yield from seen.memory or ()
    yield from seen.metered or ()
