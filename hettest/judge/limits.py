"""How much each check of the judge allows, and what its checks share."""

from __future__ import annotations

from typing import Final

from hettest.judge.verdict import Status
from hettest.language import Estimate

RATIO: Final = 4.0
FLOOR: Final = 4.0
"""Unit roundoffs of the result's scale that the placed run may always be off by, times `RATIO`."""

ANCHOR: Final = 8.0
RUNS: Final = 8
IN_FORCE: Final = 0.01
UNDECIDED: Final = 0.01
"""The share of elements that may differ by a decision and leave a check decided."""


def unit(estimate: Estimate) -> float:
    return estimate.dtype.unit_roundoff if estimate.dtype.is_float else 0.0


def share(wrong: int, size: int) -> str:
    """Return how many elements differ, where any does."""
    return f"; {wrong} of {size} elements differ" if wrong else ""


def decided(undecided: int, elements: int) -> Status:
    return Status.UNDECIDED if undecided > UNDECIDED * max(elements, 1) else Status.HOLDS
