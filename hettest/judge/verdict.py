"""What judging a result finds: one line for each check."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from hettest.language import Estimate


class Status(StrEnum):
    """How one check ended."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"
    """Too many elements hang on a decision that rounding could tip."""

    VACUOUS = "vacuous"
    """The bound is too wide to say anything; no verdict rests on it."""

    UNPROVEN = "unproven"
    """What the check needs could not be observed."""


@final
@dataclass(frozen=True, slots=True)
class Check:
    """One of ``form``, ``expected``, ``local``, ``ratio``, ``anchor``, ``bound``."""

    name: str
    status: Status
    detail: str
    """What was found and what was allowed, in one line."""

    worst: float | None = None
    """The largest error as a part of what is allowed: above 1 fails."""

    undecided: int = 0
    """Elements left out because a decision before them was too close to call."""


@final
@dataclass(frozen=True, slots=True)
class Verdict:
    """All checks of one run."""

    checks: tuple[Check, ...]
    estimates: tuple[Estimate, ...] = ()
    """What the oracle makes of each result, in order; none where the form is another one."""

    def __getitem__(self, name: str) -> Check:
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    @property
    def failures(self) -> tuple[Check, ...]:
        return tuple(c for c in self.checks if c.status in (Status.FAILS, Status.UNDECIDED))

    @property
    def decides(self) -> bool:
        """Whether some check of the values themselves holds that a wrong result would fail.

        The form says nothing of values, and the ratio compares a backend with itself.
        """
        telling = ("expected", "local", "anchor", "bound")
        return any(c.name in telling and c.status is Status.HOLDS for c in self.checks)

    @property
    def holds(self) -> bool:
        """Whether no check failed; those that are vacuous or unproven say nothing."""
        return not self.failures
