"""Places pieces of memory in one block, so that pieces wanted at the same time do not overlap.

Each piece is wanted from its first to its last moment, both included. Two ways are tried: placing
the pieces in order of time, each in the smallest gap that takes it, as an allocator would; and, for
programs that are not long, in order of size, the largest first, which sees what comes later. The
lower of the two blocks is taken.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, final

_LONG: Final = 1_000
"""Pieces from which on only the order of time is tried: the other takes quadratic time."""


@final
@dataclass(frozen=True, slots=True)
class Piece:
    """Memory that is wanted for a while."""

    size: int
    """Bytes: a multiple of the alignment."""

    first: int
    last: int


Packing: TypeAlias = tuple[tuple[int, ...], int]
"""The offset of each piece, and the size of the block."""


def pack(pieces: Sequence[Piece]) -> Packing:
    """Return where each piece lies, and the size of the block that takes them all."""
    found = _by_time(pieces)
    if found[1] > most_at_once(pieces) and len(pieces) <= _LONG:
        found = min(found, _by_size(pieces), key=lambda packing: packing[1])
    return found


def most_at_once(pieces: Sequence[Piece]) -> int:
    """Return the most bytes that are wanted at one moment: no block can be smaller."""
    changes = sorted(
        change for p in pieces for change in ((p.first, 1, p.size), (p.last + 1, 0, -p.size))
    )
    most = total = 0
    for _, _, change in changes:
        total += change
        most = max(most, total)
    return most


def _by_time(pieces: Sequence[Piece]) -> Packing:
    order = sorted(range(len(pieces)), key=lambda i: (pieces[i].first, -pieces[i].size))
    offsets = [0] * len(pieces)
    ending: list[tuple[int, int]] = []
    gaps = _Gaps()
    for index in order:
        piece = pieces[index]
        while ending and ending[0][0] < piece.first:
            _, ended = heapq.heappop(ending)
            gaps.give_back(offsets[ended], pieces[ended].size)
        offsets[index] = gaps.take(piece.size)
        heapq.heappush(ending, (piece.last, index))
    return tuple(offsets), gaps.top


class _Gaps:
    """The free parts of a block that grows at its top."""

    def __init__(self) -> None:
        self.top = 0
        self._gaps: list[tuple[int, int]] = []
        """Offset and size of each, in order, never touching one another."""

    def take(self, size: int) -> int:
        """Return the offset of free bytes: of the smallest gap that is large enough."""
        fitting = [(gap, offset) for offset, gap in self._gaps if gap >= size]
        if fitting:
            gap, offset = min(fitting)
            self._gaps.remove((offset, gap))
            if gap > size:
                insort(self._gaps, (offset + size, gap - size))
            return offset
        offset = self.top
        if self._gaps and sum(self._gaps[-1]) == self.top:
            offset, _ = self._gaps.pop()
        self.top = offset + size
        return offset

    def give_back(self, offset: int, size: int) -> None:
        if not size:
            return
        insort(self._gaps, (offset, size))
        at = self._gaps.index((offset, size))
        if at + 1 < len(self._gaps) and self._gaps[at + 1][0] == offset + size:
            size += self._gaps.pop(at + 1)[1]
        if at and sum(self._gaps[at - 1]) == offset:
            at -= 1
            before, length = self._gaps[at]
            offset, size = before, length + size
            self._gaps.pop(at + 1)
        self._gaps[at] = (offset, size)


def _by_size(pieces: Sequence[Piece]) -> Packing:
    order = sorted(range(len(pieces)), key=lambda i: (-pieces[i].size, pieces[i].first))
    offsets = [0] * len(pieces)
    placed: list[tuple[int, int]] = []
    """Offset and index of what has its place, in order."""

    top = 0
    for index in order:
        piece = pieces[index]
        offset = _smallest_gap(piece, placed, pieces)
        offsets[index] = offset
        insort(placed, (offset, index))
        top = max(top, offset + piece.size)
    return tuple(offsets), top


def _smallest_gap(piece: Piece, placed: Sequence[tuple[int, int]], pieces: Sequence[Piece]) -> int:
    """Return the offset of the smallest gap between what is wanted at the same time."""
    end = 0
    best: tuple[int, int] | None = None
    for offset, index in placed:
        other = pieces[index]
        if other.first > piece.last or other.last < piece.first:
            continue
        if offset - end >= piece.size and (best is None or offset - end < best[0]):
            best = (offset - end, end)
        end = max(end, offset + other.size)
    return end if best is None else best[1]


__all__ = ["Packing", "Piece", "most_at_once", "pack"]
