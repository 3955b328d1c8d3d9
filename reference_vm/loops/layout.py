"""The argument block of a kernel: where its addresses, sizes and distances stand.

A kernel is ``void kernel(int64_t *block, int64_t low, int64_t high)``. The block holds, in words of
64 bits::

    the address of what each access reads, then of each result
    flat: 1 when low and high count places of the innermost loop, 0 when those of the first
    the address of the scratch rows, if `schedule` wants any: 8 bytes an element, row after row
    the number of rounds of each outer loop, then of the innermost
    for each access, then each store: its distance in bytes per round of each loop

so that any kernel can be run on a part of its work, by several threads at once, each with scratch
rows of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from reference_vm.loops.nest import Nest


@final
@dataclass(frozen=True, slots=True)
class Layout:
    """Positions in the block of one kernel, in words."""

    moves: int
    """Accesses and stores: as many addresses."""

    loops: int
    """Outer loops and the innermost one."""

    @property
    def flat(self) -> int:
        return self.moves

    @property
    def scratch(self) -> int:
        return self.moves + 1

    @property
    def rounds(self) -> int:
        """The first loop's number of rounds; the others follow."""
        return self.moves + 2

    def distance(self, move: int, loop: int) -> int:
        """Return where the distance of an access or store per round of a loop stands."""
        return self.rounds + self.loops + move * self.loops + loop

    @property
    def words(self) -> int:
        return self.distance(self.moves, 0)


def layout(nest: Nest) -> Layout:
    return Layout(
        moves=len(nest.accesses) + len(nest.stores),
        loops=nest.outer_axes + 1,
    )
