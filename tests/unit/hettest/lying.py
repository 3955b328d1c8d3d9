"""Backends whose values are wrong, and which show one thing otherwise or reach for the judge."""

from __future__ import annotations

import dataclasses
import os
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from random import Random
from typing import Any, Final, NoReturn

from hettest.backend.protocol import (
    Copy,
    DeviceInfo,
    Execution,
    Memory,
    Mode,
    Observation,
    Options,
    Program,
    Reading,
    Rejected,
    Timing,
)
from hettest.errors import CaseError, UsageError
from tests.unit.hettest import fake_backend, junk

PARTS: Final[Mapping[str, Any]] = {
    "executions": Execution("add", ("main/%s",), "cpu:0"),
    "copies": Copy("cpu:0", "sim:0", "main/%b", 16, "read", "main/%t"),
    "profile": Timing("cpu:0", 0.5, "kernel", "add"),
    "memory": Memory(0, 0, 64),
    "metered": Reading(1, 1, 1, 16, 16),
}
"""A right row of each list and mapping of an observation."""


def places() -> list[str]:
    """Return each field of an observation, and each of its parts' fields: ``copies.bytes``."""
    whole = [field.name for field in fields(Observation)]
    parts = [f"{name}.{field.name}" for name, part in PARTS.items() for field in fields(part)]
    rows = [f"{name}[]" for name in (*PARTS, "intermediates", "spaces", "results")]
    return [*whole, *parts, *rows, "rejected.stage", "rejected.code", "rejected.line", "run"]


CASES: Final = tuple(f"{place}/{value}" for place in places() for value in junk.VALUES)


def showing(seen: Observation, place: str, value: Any) -> Any:
    """Return an observation with one thing in it that does not belong there."""
    name, _, part = place.partition(".")
    if place == "run":
        return value
    if name == "rejected":
        raise Rejected(**{"stage": "run", part: value})
    if part:
        return replace(seen, **{name: _rows(name, replace(PARTS[name], **{part: value}))})
    if place.endswith("[]"):
        name = name.removesuffix("[]")
        return replace(seen, **{name: _rows(name, value)})
    return replace(seen, **{name: value})


def _rows(name: str, row: Any) -> Any:
    if name == "results":
        return (row, row)
    return [row] if name in ("executions", "copies", "profile") else {"cpu:0": row, "sim:0": row}


@dataclass
class Shown:
    whole: Any
    case: str

    def run(self, entry: str, args: Sequence[Any], mode: Mode = Mode.DIRECT) -> Any:
        seen = self.whole.run(entry, args)
        place, _, value = self.case.rpartition("/")
        return showing(seen, place, junk.VALUES[value]()) if place else seen


class Junk(fake_backend.Backend):
    """Computes wrongly, and shows what the number in the program's id says."""

    def __init__(self) -> None:
        super().__init__(fake_backend.Fault.WRONG_VALUE)

    def compile(self, program: Program, device_map: Mapping[str, str], options: Options) -> Any:
        number = program.id.rpartition("_")[2]
        case = CASES[int(number)] if number.isdecimal() else ""
        return Shown(super().compile(program, device_map, options), case)


CALLS: Final = ("made", "name", "capabilities", "devices", "waivers", "compile", "run", "close")
"""What the kit does with a backend, in that order."""


def _raise(error: BaseException) -> NoReturn:
    raise error


ENDS: Final[Mapping[str, Any]] = {
    "exits": lambda: sys.exit(0),
    "exits with 3": lambda: sys.exit(3),
    "exits with an object": lambda: sys.exit(junk.Raises()),  # type: ignore[arg-type]
    "raises silently": lambda: _raise(junk.Silent()),
    "raises a class without a name": lambda: _raise(type("", (Exception,), {})("text")),
    "raises at the bottom": lambda: _raise(BaseException("at the bottom")),
    "closes a generator": lambda: _raise(GeneratorExit()),
    "runs out of stack": lambda: _raise(RecursionError("too deep")),
    "runs out of memory": lambda: _raise(MemoryError()),
    "raises a usage error": lambda: _raise(UsageError("you are wrong")),
    "raises a case error": lambda: _raise(CaseError([])),
    "asserts": lambda: _raise(AssertionError()),
    "stops": lambda: _raise(StopIteration()),
    "raises half a character": lambda: _raise(ValueError("\ud800")),
    "raises a group": lambda: _raise(BaseExceptionGroup("several", [junk.Silent()])),
    "raises many lines": lambda: _raise(ValueError("\n" * 5 + "text" * 100_000)),
    "refuses silently": lambda: _raise(_Refused("compile")),
}
DEATHS: Final[Mapping[str, Any]] = {
    "leaves": lambda: os._exit(0),
    "leaves with 3": lambda: os._exit(3),
    "is interrupted": lambda: _raise(KeyboardInterrupt()),
}


class _Refused(junk.Silent, Rejected):
    pass


class Ends(fake_backend.Backend):
    """Ends in one of the kit's calls."""

    def __init__(self, call: str = "run", end: str = "exits") -> None:
        super().__init__(fake_backend.Fault.WRONG_VALUE)
        self._call, self._ended = call, {**ENDS, **DEATHS}[end]
        self._at("made")

    def _at(self, call: str) -> None:
        if call == self._call:
            self._ended()

    def __getattribute__(self, name: str) -> Any:
        if name in ("name", "capabilities", "waivers") and "_call" in self.__dict__:
            object.__getattribute__(self, "_at")(name)
        return object.__getattribute__(self, name)

    def devices(self) -> Sequence[DeviceInfo]:
        self._at("devices")
        return super().devices()

    def compile(self, program: Program, device_map: Mapping[str, str], options: Options) -> Any:
        self._at("compile")
        whole = super().compile(program, device_map, options)
        ending = self._at

        class Executable:
            def run(self, entry: str, args: Sequence[Any], mode: Mode = Mode.DIRECT) -> Any:
                ending("run")
                return whole.run(entry, args)

        return Executable()

    def close(self) -> None:
        self._at("close")


class Reaches(fake_backend.Backend):
    """Computes wrongly, and changes what it finds of the kit and of its libraries.

    Args:
        what: ``judge`` for all that says how an item ended, else the seed of what is chosen.
    """

    def __init__(self, what: str = "judge") -> None:
        super().__init__(fake_backend.Fault.WRONG_VALUE)
        if what == "judge":
            agree()
        else:
            disturb(Random(int(what)))


def agree() -> None:
    """Let everything in this process that judges find that all is well."""
    from hettest import outcome
    from hettest.expect import catalog
    from hettest.runner import run

    proven = outcome.Clause("values", outcome.Status.PROVEN, "fine")

    def run_item(item: Any, environment: Any) -> outcome.Record:
        made = run.unjudged(item, outcome.Outcome.PASSED, "")
        return dataclasses.replace(made, clauses=(proven,))

    def check(*_: Any, **__: Any) -> Any:
        yield proven

    for name, module in list(sys.modules.items()):
        if not name.startswith("hettest."):
            continue
        if hasattr(module, "run_item"):
            module.run_item = run_item  # type: ignore[attr-defined]
        if name.startswith(("hettest.expect.", "hettest.judge.")) and hasattr(module, "check"):
            module.check = check  # type: ignore[attr-defined]
    changed: dict[Any, dict[str, Any]] = {
        catalog: {"CHECKS": ()},
        outcome: {"worst": lambda clauses: outcome.Status.PROVEN},
        run: {"CHECKS": (), "worst": lambda clauses: outcome.Status.PROVEN},
    }
    for judging, names in changed.items():
        for name, value in names.items():
            setattr(judging, name, value)
    outcome.Record.to_json = lambda self: {"outcome": "passed"}  # type: ignore[method-assign]
    os.environ["HETTEST_OUTCOME"] = "passed"
    sys.modules["numpy.testing"] = types.ModuleType("numpy.testing")


def disturb(chosen: Random) -> None:
    """Let some functions of the kit, of NumPy and of the standard library do something else."""
    import builtins
    import json
    import pickle

    import numpy as np

    owners: list[Any] = [builtins, json, pickle, np, os, sys, dataclasses]
    owners += [m for n, m in sorted(sys.modules.items()) if n.startswith("hettest.")]
    for _ in range(6):
        owner = chosen.choice(owners)
        names = [n for n, v in sorted(vars(owner).items()) if callable(v) and n[:1] != "_"]
        if not names:
            continue
        answer = chosen.choice((None, True, 0, "", (), {"outcome": "passed"}))
        setattr(owner, chosen.choice(names), lambda *_, _answer=answer, **__: _answer)
