"""The memory of what sizes decide: it grows while a program runs, and is emptied between runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from reference_vm.jit.words import load, store
from reference_vm.runtime.native.heap import Words, address_of, aligned_words, write
from reference_vm.runtime.native.layout import State
from reference_vm.runtime.native.programs import MOST_NUMBERS
from reference_vm.runtime.native.records import BUCKETS, take

_CHUNK: Final = 1 << 17
"""Words."""

_FULL: Final = 1 << 24
"""Words after which all is to be forgotten: 128 MiB."""

_TABLES: Final = (State.FORMS, State.PLANS, State.INSTANCES, State.ENTRIES)

_BEHIND: Final = 256
"""Words behind the numbers: a key and a list."""


@final
class Room:
    """The room of a session, and the tables of what lies in it (`records`)."""

    def __init__(self, state: int) -> None:
        self._state = state
        self._tables = [aligned_words(BUCKETS) for _ in _TABLES]
        for word, table in zip(_TABLES, self._tables, strict=True):
            store(state, word, address_of(table))
        self._numbers = aligned_words(MOST_NUMBERS + _BEHIND)
        store(state, State.NUMBERS, address_of(self._numbers))
        self._chunks: list[Words] = []
        self._grow(_CHUNK)

    def take(self, words: int) -> int:
        """Return the address of so many words, at a cache line."""
        found = take(self._state, words)
        if not found:
            self._grow(max(_CHUNK, words))
            found = take(self._state, words)
        return found

    def put(self, words: Sequence[int]) -> int:
        """Return the address of a record of these words."""
        address = self.take(len(words))
        write(address, words)
        return address

    def ensure(self) -> bool:
        """See that there is room for more than a few records; say whether there was not."""
        is_short = load(self._state, State.ROOM_END) - load(self._state, State.ROOM) < _CHUNK
        if is_short:
            self._grow(_CHUNK)
        return is_short

    @property
    def is_full(self) -> bool:
        return sum(c.size for c in self._chunks) > _FULL

    def clear(self) -> None:
        """Forget all."""
        for table in self._tables:
            table[:] = 0
        del self._chunks[1:]
        self._begin(self._chunks[0])

    def _grow(self, words: int) -> None:
        chunk = aligned_words(words)
        self._chunks.append(chunk)
        self._begin(chunk)

    def _begin(self, chunk: Words) -> None:
        start = address_of(chunk)
        store(self._state, State.ROOM, start)
        store(self._state, State.ROOM_END, start + chunk.nbytes)


__all__ = ["Room"]
