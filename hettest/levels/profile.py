"""What a profile says: capability words and cases, level by level. See docs/reference/levels.md.

A profile is a file, ``profiles/core@1.json``. Once published it never changes; a later one is
another version. Its digest does not depend on how the file is laid out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, final

from hettest.devicemap import kind_of
from hettest.errors import UsageError
from hettest.files.reading import parse_json, read_text

FOLDER: Final = Path(__file__).parent / "profiles"
SCHEMA: Final = "hettest-profile-1"
EVERY_DEVICE: Final = "device:*"
"""In a profile: each device of the run must be declared."""


@final
@dataclass(frozen=True)
class Step:
    """One level of a profile; of L5 and L6 one group of it."""

    level: int
    group: str | None
    """``control flow``; ``None`` for a level of the ladder, which rests on those below it."""

    words: tuple[tuple[str, ...], ...]
    """The capability words that must be declared; of several in one place one is enough."""

    cases: Mapping[str, tuple[str, ...]]
    """The variants of each case that count, by case id: see `levels.plan.variant`."""

    @property
    def name(self) -> str:
        """``L3``, or ``L5 control flow``."""
        return f"L{self.level}" if self.group is None else f"L{self.level} {self.group}"


@final
@dataclass(frozen=True)
class Profile:
    """A published list of what to declare and what to pass."""

    name: str
    """With its version: ``core@1``."""

    summary: str
    steps: tuple[Step, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "name": self.name,
            "summary": self.summary,
            "steps": [
                {
                    "level": step.level,
                    "group": step.group,
                    "words": [list(words) for words in step.words],
                    "cases": {case: list(variants) for case, variants in step.cases.items()},
                }
                for step in self.steps
            ],
        }

    @property
    def digest(self) -> str:
        """The SHA-256 of the profile's content, as hexadecimal digits."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def from_json(data: Mapping[str, Any]) -> Profile:
    """Return the profile that a file holds."""
    return Profile(data["name"], data["summary"], tuple(_step(step) for step in data["steps"]))


def _step(data: Mapping[str, Any]) -> Step:
    cases = {case: tuple(variants) for case, variants in data["cases"].items()}
    words = tuple(tuple(words) for words in data["words"])
    return Step(data["level"], data["group"], words, MappingProxyType(cases))


def published() -> tuple[str, ...]:
    """Return the names of the profiles that belong to this installation, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*@*.json")))


@cache
def load(name: str) -> Profile:
    """Return a published profile, ``core@1``.

    Raises:
        UsageError: There is none of that name.
    """
    if name not in published():
        listed = ", ".join(published())
        raise UsageError(f"found no profile {name}; this installation has {listed}")
    return from_json(parse_json(read_text(path := FOLDER / f"{name}.json"), path))


def due(words: Sequence[tuple[str, ...]], devices: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the words with `EVERY_DEVICE` written out for the kinds of ``devices``."""
    kinds = dict.fromkeys(map(kind_of, devices))
    found: list[tuple[str, ...]] = []
    for choice in words:
        found += [(f"device:{kind}",) for kind in kinds] if choice == (EVERY_DEVICE,) else [choice]
    return found
