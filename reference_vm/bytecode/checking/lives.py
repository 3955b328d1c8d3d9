"""Which memory of a frame was given back for certain.

Every place that makes memory has a number. A place begins with one hold; each `Share` adds one,
each `Kill` and each handing over takes one away, and with the last one its life is over. Where two
ways meet, a place has the fewer holds. A value that may lie in one of several places (a branch
chose) says nothing of any of them: from then on only the run knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import final

from reference_vm.bytecode.checking.held import Memory


@final
@dataclass
class Lives:
    """The holds on each place; of a place that is not here only the run knows."""

    holds: dict[int, int] = field(default_factory=dict)
    lent: set[int] = field(default_factory=set)
    """Places that are not the frame's to give back."""

    def copy(self) -> Lives:
        return Lives(dict(self.holds), self.lent)

    def begin(self, place: int) -> None:
        self.holds[place] = 1

    def lend(self, place: int) -> None:
        self.lent.add(place)

    def share(self, memory: Memory) -> None:
        for place in self._certain(memory):
            self.holds[place] += 1

    def release(self, memory: Memory) -> None:
        """Give up one hold; what was given back before is left alone."""
        for place in self._certain(memory):
            self.holds[place] = max(0, self.holds[place] - 1)

    def is_over(self, memory: Memory) -> bool:
        """Whether a value that lies in one place lies in memory that was given back."""
        return any(self.holds.get(place) == 0 for place in memory)

    def joined(self, other: Lives) -> Lives:
        """Return what is known where two ways meet: a place of one of them is as it was there."""
        holds = {**other.holds, **self.holds}
        for place in self.holds.keys() & other.holds.keys():
            holds[place] = min(self.holds[place], other.holds[place])
        return Lives(holds, self.lent)

    def _certain(self, memory: Memory) -> Iterator[int]:
        if len(memory) > 1:
            for place in memory:
                self.holds.pop(place, None)
        for place in memory:
            if place in self.holds:
                yield place
