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
    """Too many elements hang on a decision that rounding could tip; no right run can be told from a
    wrong one by them."""

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
        return tuple(c for c in self.checks if c.status is Status.FAILS)

    @property
    def decides(self) -> bool:
        """Whether some check of the values themselves holds that a wrong result would fail.

        The form says nothing of values, and the ratio compares a backend with itself. Where a check
        is undecided, only numbers that the case states decide.
        """
        holding = {c.name for c in self.checks if c.status is Status.HOLDS}
        if any(c.status is Status.UNDECIDED for c in self.checks):
            return "expected" in holding
        return bool(holding & {"expected", "local", "anchor", "bound"})

    @property
    def holds(self) -> bool:
        """Whether no check failed; those that are vacuous, undecided or unproven say nothing."""
        return not self.failures
