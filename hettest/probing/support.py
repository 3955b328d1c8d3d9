"""What a probe found of each capability word: what is declared, beside what was observed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, final

from hettest.outcome import Outcome


class Colour(StrEnum):
    """How declared and observed compare."""

    WORKS = "declared and works"
    FAILS = "declared and fails"
    UNDECLARED = "works but not declared"
    ABSENT = "neither declared nor working"
    UNTESTED = "not tested"
    """No item of the corpus needs the word without needing more than is declared."""


@final
@dataclass(frozen=True, slots=True)
class Tried:
    """One item that was run for a word."""

    item: str
    outcome: Outcome
    reason: str = ""


@final
@dataclass(frozen=True, slots=True)
class Support:
    """One capability word."""

    word: str
    """``op:add:f32``, ``construct:if``."""

    declared: bool
    tried: tuple[Tried, ...]

    @property
    def area(self) -> str:
        return self.word.partition(":")[0]

    @property
    def failure(self) -> Tried | None:
        """The first item that does not pass, of those that were judged."""
        ended = (Outcome.FAILED, Outcome.CRASHED)
        return next((t for t in self.tried if t.outcome in ended), None)

    @property
    def colour(self) -> Colour:
        if self.failure is not None:
            return Colour.FAILS if self.declared else Colour.ABSENT
        if not any(tried.outcome is Outcome.PASSED for tried in self.tried):
            return Colour.UNTESTED
        return Colour.WORKS if self.declared else Colour.UNDECLARED

    def to_json(self) -> dict[str, Any]:
        return {
            "word": self.word,
            "declared": self.declared,
            "colour": self.colour.value,
            "tried": [
                {"item": t.item, "outcome": t.outcome.value, "reason": t.reason} for t in self.tried
            ],
        }


@final
@dataclass(frozen=True, slots=True)
class Survey:
    """All words of one backend on some devices."""

    backend: str
    devices: tuple[str, ...]
    missing: dict[str, str]
    """Why, for each of the devices that is not available."""

    words: tuple[Support, ...]
    untried: tuple[str, ...] = ()
    """Devices with items, each of which needs more than is declared."""

    def of(self, colour: Colour) -> Sequence[Support]:
        return [support for support in self.words if support.colour is colour]

    @property
    def exit_code(self) -> int:
        """1 if something declared fails, else 6 if a device is missing or not tried, else 0."""
        if self.of(Colour.FAILS):
            return 1
        return 6 if self.missing or self.untried else 0

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": "hettest-support-1",
            "backend": self.backend,
            "devices": list(self.devices),
            "missing": self.missing,
            "untried": list(self.untried),
            "words": [support.to_json() for support in self.words],
        }
