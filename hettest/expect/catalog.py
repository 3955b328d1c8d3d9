"""The checks that every run goes through, in the order in which reports show them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from hettest.expect import arguments, arrivals, copies, evidence, memory, moved, placement, values
from hettest.expect.situation import Situation
from hettest.outcome import Clause

Check: TypeAlias = Callable[[Situation], Iterator[Clause]]

CHECKS: Final[tuple[Check, ...]] = (
    values.check,
    placement.check,
    copies.check,
    moved.check,
    arrivals.check,
    evidence.check,
    arguments.check,
    memory.check,
)
