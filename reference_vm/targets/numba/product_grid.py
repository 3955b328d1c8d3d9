"""The loops around the rows of a product, and where everything is along them.

Every operand and result is a *place*: an address, and bytes per round of each loop. Loops that all
places run through in one go are joined, so ``[8, 128, k]`` by a matrix is one product of 1,024
rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

from reference_vm.targets.numba.product_words import BATCH

Steps = tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class Place:
    """The word that holds an address, bytes to add to it, and bytes per round of each loop."""

    word: int
    at: int
    steps: Steps

    def words(self, name: str) -> Iterator[tuple[str, int]]:
        """Yield the words of the argument block that say this place."""
        *batch, row = self.steps
        padded = (*(0,) * (BATCH - len(batch)), *batch)
        yield name, self.word
        yield f"{name}.at", self.at
        yield from ((f"{name}.b{i}", step) for i, step in enumerate(padded))
        yield f"{name}.row", row


@final
@dataclass(frozen=True, slots=True)
class Grid:
    """Loops, the last over rows, and the places of a kernel by name."""

    sizes: Steps
    places: Mapping[str, Place]

    @property
    def batch(self) -> int:
        """How often the rows are gone through."""
        total = 1
        for size in self.sizes[:-1]:
            total *= size
        return total

    @property
    def rows(self) -> int:
        return self.sizes[-1]

    def words(self) -> Iterator[tuple[str, int]]:
        """Yield the words of the argument block that say the loops and places."""
        inner = self.sizes[1:-1] if len(self.sizes) > BATCH else self.sizes[:-1]
        padded = (*(1,) * (BATCH - 1 - len(inner)), *inner)
        yield from ((f"size{i}", size) for i, size in enumerate(padded, 1))
        for name, place in self.places.items():
            yield from place.words(name)


def joined(sizes: Sequence[int], places: Mapping[str, Place], fixed: Sequence[str]) -> Grid:
    """Return the grid with as few loops as there can be.

    Args:
        sizes: Of the loops, the rows last.
        places: With a step for each.
        fixed: Places that do not move from row to row, such as a right factor.
    """
    loops = [(sizes[-1], [p.steps[-1] for p in places.values()])]
    names = list(places)
    for axis in reversed(range(len(sizes) - 1)):
        size, steps = sizes[axis], [p.steps[axis] for p in places.values()]
        inner, distances = loops[0]
        rows = len(loops) == 1
        still = all(steps[names.index(n)] == 0 for n in fixed) or not rows
        if size == 1:
            continue
        if inner == 1 and still:
            loops[0] = (size, steps)
        elif still and all(s == d * inner for s, d in zip(steps, distances, strict=True)):
            loops[0] = (size * inner, distances)
        else:
            loops.insert(0, (size, steps))
    found = {
        name: replace(place, steps=tuple(steps[i] for _, steps in loops))
        for i, (name, place) in enumerate(places.items())
    }
    return Grid(tuple(size for size, _ in loops), found)


def in_order(shape: Sequence[int], itemsize: int) -> Steps:
    """Return the bytes per place along each axis of a tensor that lies in order."""
    steps: list[int] = []
    for size in reversed(shape):
        steps.insert(0, itemsize)
        itemsize *= size
    return tuple(steps)
