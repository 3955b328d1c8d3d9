"""How far a run came in a profile: the data that reports show and keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, final


class Reach(StrEnum):
    """How a run stands on one step."""

    REACHED = "reached"
    BLOCKED = "blocked"
    """A word is not declared, or an item did not pass."""

    NOT_JUDGED = "not judged"
    """Not every item was selected."""


@final
@dataclass(frozen=True, slots=True)
class Blocker:
    """The first item that keeps a run from a level."""

    item: str
    outcome: str
    reason: str
    clause: str | None
    """What it was written to prove, of the published list."""

    page: str
    """Where to read about it."""


@final
@dataclass(frozen=True, slots=True)
class Rung:
    """How a run stands on one step of a profile."""

    level: int
    group: str | None
    reach: Reach
    items: int
    """How many items the step has on the devices of the run."""

    selected: int
    passed: int
    excused: int
    """Unsupported for a word that the profile does not ask for."""

    undeclared: tuple[str, ...] = ()
    """Words of the profile that are not declared; of a choice, ``input:hir or input:json``."""

    blocking: int = 0
    """How many items did not pass and are not excused."""

    blocker: Blocker | None = None
    reason: str = ""
    """Why it is not reached, in one line."""

    devices: tuple[str, ...] = ()
    """Where items of it that passed were seen to run, in the order in which devices were named."""

    @property
    def name(self) -> str:
        """``L3``, or ``L5 control flow``."""
        return f"L{self.level}" if self.group is None else f"L{self.level} {self.group}"

    def to_json(self) -> dict[str, Any]:
        """Return plain data from which `from_json` makes an equal rung."""
        data = asdict(self)
        data["reach"] = self.reach.value
        data |= {name: list(getattr(self, name)) for name in ("undeclared", "devices")}
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Rung:
        blocker = data["blocker"]
        known = {
            "reach": Reach(data["reach"]),
            "undeclared": tuple(data["undeclared"]),
            "devices": tuple(data.get("devices", ())),
            "blocker": None if blocker is None else Blocker(**blocker),
        }
        return cls(**{**data, **known})


@final
@dataclass(frozen=True, slots=True)
class Standing:
    """How a run stands in one profile."""

    profile: str
    digest: str
    """That of the profile that was judged by."""

    rungs: tuple[Rung, ...]
    evidence: Mapping[str, str] = field(default_factory=dict)
    """The weakest grade of what was seen from L3 on, by clause: ``placement``, ``copies``."""

    @property
    def level(self) -> int | None:
        """The highest level of the ladder that was reached, or ``None``."""
        return max((r.level for r in self.rungs if r.group is None and _is(r)), default=None)

    @property
    def groups(self) -> tuple[Rung, ...]:
        """The groups that were reached."""
        return tuple(rung for rung in self.rungs if rung.group is not None and _is(rung))

    @property
    def reached(self) -> tuple[Rung, ...]:
        """What the run is good for: the highest level of the ladder, and each group."""
        top = (r for r in self.rungs if r.group is None and r.level == self.level and _is(r))
        return (*top, *self.groups)

    @property
    def next(self) -> tuple[Rung, ...]:
        """The first level of the ladder that was not reached, and each such group."""
        ladder = [r for r in self.rungs if r.group is None and not _is(r)][:1]
        return (*ladder, *(r for r in self.rungs if r.group is not None and not _is(r)))

    def to_json(self) -> dict[str, Any]:
        """Return plain data from which `from_json` makes an equal standing."""
        return {
            "profile": self.profile,
            "digest": self.digest,
            "level": self.level,
            "groups": [rung.name for rung in self.groups],
            "evidence": dict(self.evidence),
            "rungs": [rung.to_json() for rung in self.rungs],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Standing:
        rungs = tuple(map(Rung.from_json, data["rungs"]))
        return cls(data["profile"], data["digest"], rungs, data["evidence"])


def _is(rung: Rung) -> bool:
    return rung.reach is Reach.REACHED
