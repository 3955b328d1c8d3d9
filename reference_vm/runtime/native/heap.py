"""Words that stay where they are: records for the native loop, one after the other."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Final, TypeAlias, final

import numpy as np

Words: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"

_CHUNK: Final = 1 << 13
"""Words."""


def address_of(array: Any) -> int:
    """Return where an array's elements begin."""
    return int(array.ctypes.data)


def aligned_words(count: int) -> Words:
    """Return words that are 0, and begin at a cache line."""
    raw = np.zeros(count + 8, dtype=np.int64)
    start = -address_of(raw) % 64 // 8
    return raw[start : start + count]


@final
class Heap:
    """Records that are made once and never freed, but all together with the heap."""

    def __init__(self) -> None:
        self._chunks: list[Words] = []
        self._next = 0
        self._end = 0
        self.words = 0
        """How many were taken."""

    def take(self, count: int) -> int:
        """Return the address of so many words, all 0."""
        nbytes = 8 * count
        if self._next + nbytes > self._end:
            chunk = aligned_words(max(count, _CHUNK))
            self._chunks.append(chunk)
            self._next = address_of(chunk)
            self._end = self._next + chunk.nbytes
        found = self._next
        self._next += nbytes
        self.words += count
        return found

    def put(self, words: Sequence[int]) -> int:
        """Return the address of a record of these words."""
        address = self.take(len(words))
        write(address, words)
        return address


def write(address: int, words: Sequence[int]) -> None:
    """Write words to memory."""
    (ctypes.c_int64 * len(words)).from_address(address)[:] = list(words)


def read(address: int, count: int) -> list[int]:
    """Return words from memory."""
    return (ctypes.c_int64 * count).from_address(address)[:]


__all__ = ["Heap", "Words", "address_of", "aligned_words", "read", "write"]
