"""A backend in another process, as the protocol has it: what the judge sees in its place.

Nothing of the backend is imported here. Whatever is asked goes over as a question, and what comes
back is plain data, which is looked at as if a stranger had sent it: one has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, final

from hettest.backend.facts import Facts
from hettest.backend.ownership import Ownership, TellsOwnership
from hettest.backend.protocol import DeviceInfo, Mode, Observation, Options, Program
from hettest.errors import BackendCrash
from hettest.isolation import observations
from hettest.isolation.frames import Answer, Malformed, kind
from hettest.isolation.observations import part

if TYPE_CHECKING:
    from hettest.backend.protocol import Value

_T = TypeVar("_T")

Ask: TypeAlias = Callable[[tuple[Any, ...]], Answer]
"""Puts a question to the process, and returns what it answers; an answer that is a rejection, a
breach or a crash is raised."""

Refuse: TypeAlias = Callable[[Malformed], BackendCrash]
"""Ends the process after an answer that is none, and returns what to raise."""


@final
@dataclass
class RemoteBackend:
    """Stands for the backend that the process has loaded."""

    facts: Facts
    claims: frozenset[str]
    """What it claimed when it last answered."""

    ask: Ask
    refuse: Refuse

    @property
    def name(self) -> str:
        return self.facts.name

    @property
    def capabilities(self) -> frozenset[str]:
        return self.claims

    def devices(self) -> Sequence[DeviceInfo]:
        return self.facts.devices

    def compile(
        self, program: Program, device_map: Mapping[str, str], options: Options
    ) -> RemoteExecutable:
        """Return what stands for the compiled program; raises as the backend did."""
        answer = self.ask(("compile", program.id, program.text, dict(device_map), options))
        return RemoteExecutable(self, self.read(answer, lambda a: part(a.data, "compiled", int)))

    def close(self) -> None:
        """Nothing: the process is closed by who started it."""

    def read(self, answer: Answer, door: Callable[[Answer], _T]) -> _T:
        """Return what a door lets through; ends the process that sent something else."""
        try:
            return door(answer)
        except Malformed as wrong:
            raise self.refuse(wrong) from None


@final
@dataclass
class RemoteExecutable(TellsOwnership):
    """Stands for a program that was compiled in the process."""

    backend: RemoteBackend
    number: int
    runs: list[int] = field(default_factory=list)

    def run(self, entry: str, args: Sequence[Value], mode: Mode = Mode.DIRECT) -> Observation:
        """Return what a run let be seen; raises as the backend did."""
        answer = self.backend.ask(("run", self.number, entry, tuple(args)))
        seen = self.backend.read(answer, observations.from_json)
        self.runs.append(self.backend.read(answer, lambda a: part(a.data, "ran", int)))
        return seen

    def ownership(self, *, after_another: bool) -> Ownership:
        """Return what the process says of its arguments and results by now."""
        earlier = self.runs[-2] if after_another else None
        answer = self.backend.ask(("ownership", self.runs[-1], earlier))
        return self.backend.read(answer, partial(_ownership, after_another=after_another))


def _ownership(answer: Answer, *, after_another: bool) -> Ownership:
    data = answer.data
    pairs = [
        (_count("shared", pair[0]), _count("shared", pair[1]))
        if type(pair) is list and len(pair) == 2
        else _count("shared", pair)
        for pair in part(data, "shared", list)
    ]
    over = part(data, "overwritten", list) if after_another else None
    return Ownership(
        frozenset(_count("written", number) for number in part(data, "written", list)),
        frozenset(pair for pair in pairs if isinstance(pair, tuple)),
        None if over is None else frozenset(_count("overwritten", number) for number in over),
    )


def _count(name: str, value: object) -> int:
    if type(value) is not int or value < 0:
        raise Malformed(f"answered {name} with {kind(value)}, expected numbers of arrays")
    return value
