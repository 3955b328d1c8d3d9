"""Cells: one device for all tensors that data types and functions as values keep in one place.

A list has any number of elements, and nobody knows where a function value is called; so what one
such place holds shares one device, and so do two places when a value of one may be one of the
other. A tensor is *stored* into a cell, and may be copied for it; between two cells nothing moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

from reference_vm.analysis.union_find import UnionFind


@final
class Cells:
    """The cells of one function, by the index of their values, and which of them are one."""

    def __init__(self) -> None:
        self._number: dict[int, int] = {}
        self._sets = UnionFind(0)
        self.stored: list[tuple[int, int]] = []
        """Which value is put into which cell."""

    def __contains__(self, value: int) -> bool:
        return value in self._number

    def add(self, value: int) -> None:
        """Make ``value`` a cell, alone."""
        self._number[value] = self._sets.add()

    def unite(self, left: int, right: int) -> None:
        """Let two cells be one."""
        self._sets.union(self._number[left], self._number[right])

    def root(self, value: int) -> int:
        """Return a number that all cells that are one share."""
        return self._sets.find(self._number[value])

    def groups(self) -> Iterator[tuple[int, ...]]:
        """Yield the values of the cells that are one, each with at least one."""
        found: dict[int, list[int]] = {}
        for value, number in self._number.items():
            found.setdefault(self._sets.find(number), []).append(value)
        yield from map(tuple, found.values())


__all__ = ["Cells"]
