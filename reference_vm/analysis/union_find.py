"""Disjoint sets of small integers, in near-linear time and without recursion."""

from __future__ import annotations

from typing import final


@final
class UnionFind:
    """The sets that ``0 … size - 1`` fall into; at first each is alone."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))

    def find(self, item: int) -> int:
        """Return the representative of the set of ``item``: its least member."""
        parent = self._parent
        above = parent[item]
        while above != item:
            parent[item] = parent[above]
            item = parent[item]
            above = parent[item]
        return item

    def union(self, left: int, right: int) -> None:
        """Make one set of those of ``left`` and ``right``."""
        a, b = self.find(left), self.find(right)
        if a < b:
            self._parent[b] = a
        elif b < a:
            self._parent[a] = b

    def add(self) -> int:
        """Add one more integer, alone, and return it."""
        self._parent.append(len(self._parent))
        return len(self._parent) - 1


__all__ = ["UnionFind"]
