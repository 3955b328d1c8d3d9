"""What one check of an adapter found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, final


class State(StrEnum):
    """How a check ended."""

    OK = "ok"
    FAILED = "failed"
    NOT_RUN = "not run"
    """A device that it needs is missing."""

    NOT_APPLICABLE = "not applicable"


@final
class Failed(Exception):
    """The adapter does not keep what is checked; says what was found and what to do."""


@final
class NotRun(Exception):
    """A device that the check needs is missing; says which, and exactly why."""


@final
class NotApplicable(Exception):
    """There is nothing to check, by what the backend declares; says why."""


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """How one check ended, and why."""

    check: str
    state: State
    detail: str

    def to_json(self) -> dict[str, Any]:
        return {"check": self.check, "state": self.state.value, "detail": self.detail}

    def __str__(self) -> str:
        first, *rest = self.detail.splitlines() or [""]
        return "\n".join([f"{self.state.value:14}  {self.check}: {first}", *map(_indented, rest)])


def _indented(line: str) -> str:
    return f"{'':16}{line}"
