"""The memory of cells, as Python sees it: chunks for the loop to cut them from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from reference_vm.jit.words import load, store
from reference_vm.runtime.native.heap import Words, address_of, aligned_words
from reference_vm.runtime.native.layout import CELLS, CLASSES, WORD, State

_FIRST: Final = 1 << 13
"""Words of the first chunk, of the others, and of what is kept from run to run at most."""

_CHUNK: Final = 1 << 17
_KEPT: Final = 1 << 23


@final
@dataclass(frozen=True)
class Chunks:
    """The cells of a run, as they were at one moment."""

    starts: Sequence[int]
    """Addresses, in order."""

    words: Sequence[Words]

    def read(self, address: int, count: int) -> list[int]:
        """Return words of a cell."""
        number = bisect_right(self.starts, address) - 1
        at = (address - self.starts[number]) // WORD
        return list(self.words[number][at : at + count].tolist())


@final
class CellMemory:
    """The chunks of one session."""

    def __init__(self, state: int) -> None:
        self._state = state
        self._heads = aligned_words(CLASSES)
        first = aligned_words(_FIRST)
        self._chunks = [first]
        end = address_of(first) + first.nbytes
        store(state, State.CELL_HEADS, address_of(self._heads))
        store(state, State.CELL_REFERENCE, CELLS)
        store(state, State.CELL_CHUNK, address_of(first))
        store(state, State.CELL_CHUNK_END, end)
        self.begin_anew()

    def make_room(self) -> None:
        """Let the loop have a chunk in which there is room for the cell that it asked for."""
        words = load(self._state, State.CELL_WANTED) // WORD
        used = self._used()
        if len(self._chunks) == used or self._chunks[used].size < words:
            self._chunks.insert(used, aligned_words(max(words, _CHUNK)))
        chunk = self._chunks[used]
        store(self._state, State.CELL_BUMP, address_of(chunk))
        store(self._state, State.CELL_BUMP_END, address_of(chunk) + chunk.nbytes)
        store(self._state, State.CELL_WANTED, 0)

    def begin_anew(self) -> None:
        """Forget all cells."""
        self._heads[:] = 0
        store(self._state, State.CELL_BUMP, load(self._state, State.CELL_CHUNK))
        store(self._state, State.CELL_BUMP_END, load(self._state, State.CELL_CHUNK_END))
        self.close_run()

    def close_run(self) -> None:
        """Forget what a run wanted, and the chunks that are too many."""
        store(self._state, State.CELL_WANTED, 0)
        if sum(chunk.size for chunk in self._chunks) > _KEPT:
            del self._chunks[1:]

    @property
    def used(self) -> Sequence[Words]:
        """The chunks that cells lie in."""
        return self._chunks[: self._used()]

    def copy(self) -> Chunks:
        """Return all cells as they are now."""
        chunks = sorted((address_of(chunk), chunk.copy()) for chunk in self.used)
        return Chunks([start for start, _ in chunks], [words for _, words in chunks])

    def _used(self) -> int:
        """Return how many chunks the loop has had in this run."""
        end = load(self._state, State.CELL_BUMP_END)
        ends = [address_of(chunk) + chunk.nbytes for chunk in self._chunks]
        return ends.index(end) + 1


__all__ = ["CellMemory", "Chunks"]
