"""The host's memory as Python sees it: the table of buffers, and blocks for the loop to give out.

What the loop allocates becomes a `Buffer` only if Python must look at it.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final, final

import numpy as np

from reference_vm.devices.api import Buffer
from reference_vm.devices.cpu import CpuDevice
from reference_vm.devices.faults import OutOfMemory
from reference_vm.jit.words import load, store
from reference_vm.runtime.native import memory
from reference_vm.runtime.native.heap import Words, address_of, aligned_words
from reference_vm.runtime.native.layout import (
    CLASSES,
    CONSTANT,
    FOREIGN,
    INDEX_BITS,
    INDEX_MASK,
    LENT,
    BufferEntry,
    State,
)

_SMALL: Final = 1 << 16
"""Bytes: smaller blocks are cut from chunks."""

_CHUNK: Final = 1 << 20
"""Bytes of a chunk; the first is smaller."""

_FIRST_CHUNK: Final = 1 << 16

_KEPT: Final = 1 << 30
"""Bytes of large blocks that are kept from run to run at most."""

_ENTRIES: Final = 256

# As plain numbers, since members of an enumeration are slow to index with.
_CURRENT: Final = int(State.CURRENT)
_PEAK: Final = int(State.PEAK)


@final
class HostPool:
    """The memory that the loop of one session gives out."""

    def __init__(self, host: CpuDevice, state: int) -> None:
        self.host = host
        self._state = state
        self._table = aligned_words(_ENTRIES * BufferEntry.WORDS)
        self._heads = aligned_words(CLASSES)
        self._chunks: list[Any] = []
        self._large: dict[int, Any] = {}
        """The blocks that are not cut from chunks, by address."""

        self._held = 0
        """Bytes of all chunks and blocks."""

        self._buffers: dict[int, Buffer] = {}
        """What Python has seen, by reference."""

        self.seen: dict[int, Buffer] = {}
        """What Python has seen of the last run, by serial number."""

        self._references: dict[int, int] = {}
        """The reference of a buffer, by its id."""

        self._cells = (ctypes.c_int64 * State.WORDS).from_address(state)
        self._told = 0
        """What the loop's count of bytes was when the device's was last made to agree."""

        self._inside = 0
        """How many of the bytes that the device counts are the loop's."""

        store(state, State.BUFFERS, address_of(self._table))
        store(state, State.HEADS, address_of(self._heads))
        store(state, State.SERIAL, 1)
        store(state, State.LIMIT, host.usage.limit)
        self._chain(1, _ENTRIES)

    @property
    def table(self) -> Words:
        """The entries of all buffers."""
        return self._table

    @property
    def serial(self) -> int:
        """The number of the next buffer."""
        return load(self._state, State.SERIAL)

    def make_room(self, nbytes: int) -> bool:
        """Let the loop have a block for so many bytes; return whether there are as many."""
        try:
            self._make_room(nbytes)
        except OutOfMemory:
            return False
        return True

    def grow_table(self) -> None:
        """Double the number of buffers that there can be.

        Raises:
            OutOfMemory: References have no room for as many.
        """
        old = self._table
        if 2 * old.size // BufferEntry.WORDS > INDEX_MASK + 1:
            usage = self.host.usage
            raise OutOfMemory(self.host.name, old.nbytes, usage.current, usage.statistics().limit)
        self._table = aligned_words(2 * old.size)
        self._table[: old.size] = old
        store(self._state, State.BUFFERS, address_of(self._table))
        first = old.size // BufferEntry.WORDS
        self._chain(first, 2 * first)

    def buffer(self, reference: int) -> Buffer:
        """Return the buffer of a reference, as Python knows it."""
        found = self._buffers.get(reference)
        if found is None:
            found = self._seen(reference)
        elif found.alive and not memory.entry_of(self._state, reference):
            found.alive, found.memory = False, None
        return found

    def reference(self, buffer: Buffer) -> int:
        """Return the reference of a buffer; one that Python made is the loop's to name from now."""
        found = self._references.get(buffer.id)
        if found is not None:
            return found
        return self.name(buffer, FOREIGN if buffer.owned else LENT)

    def name(self, buffer: Buffer, size: int) -> int:
        """Return a fresh reference to memory of Python's."""
        if not load(self._state, State.UNUSED):
            self.grow_table()
        address = address_of(buffer.memory) if buffer.memory is not None else 0
        reference = memory.register(self._state, address, buffer.nbytes, size)
        self._keep(reference, buffer)
        if not buffer.alive:
            memory.forget(self._state, memory.entry_of(self._state, reference))
        if size == CONSTANT:
            store(self._state, State.FIRST, (reference & INDEX_MASK) + 1)
        return reference

    def allocate(self, nbytes: int) -> Buffer:
        """Return memory that the loop could have given out.

        Raises:
            OutOfMemory: There is not as much.
        """
        self.host.check(nbytes)
        if not load(self._state, State.UNUSED):
            self.grow_table()
        self.begin()
        reference = memory.allocate(self._state, nbytes)
        if not reference:
            self._make_room(nbytes)
            reference = memory.allocate(self._state, nbytes)
        self.end()
        return self._seen(reference)

    def owns(self, buffer: Buffer) -> bool:
        """Whether holds on a buffer are counted in the table."""
        entry = memory.entry_of(self._state, self._references.get(buffer.id, 0))
        return bool(entry) and load(entry, BufferEntry.CLASS) > 0

    def share(self, buffer: Buffer) -> None:
        memory.share(self._state, self._references[buffer.id])

    def release(self, buffer: Buffer) -> bool:
        """Give up a hold; return whether it was the last."""
        reference = self._references[buffer.id]
        self.begin()
        memory.release(self._state, reference)
        self.end()
        gone = not memory.entry_of(self._state, reference)
        if gone:
            buffer.alive, buffer.memory = False, None
        return gone

    def disown(self, buffer: Buffer) -> None:
        """Forget a buffer that Python gave back."""
        entry = memory.entry_of(self._state, self._references.get(buffer.id, 0))
        if entry and load(entry, BufferEntry.CLASS) == FOREIGN:
            memory.forget(self._state, entry)

    def begin(self) -> None:
        """Let the loop's count of bytes in use go on from the device's, which knows all of it."""
        cells, usage = self._cells, self.host.usage
        cells[_CURRENT] = self._told = usage.current
        cells[_PEAK] = usage.peak

    def end(self) -> None:
        """Let the device count what the loop has allocated and freed since it was told of it.

        Nothing is called here where the counts do not agree, so whatever interrupts a run does not
        come in between. Another thread may have changed the device's count meanwhile.
        """
        cells, usage = self._cells, self.host.usage
        more = cells[_CURRENT] - self._told
        if more:
            usage.current += more
            self._inside += more
            self._told += more
        peak = cells[_PEAK]
        if peak > usage.peak:
            usage.peak = peak
        cells[_PEAK] = 0

    def begin_anew(self) -> None:
        """Forget all but the constants: a run was interrupted, maybe in the middle of a change."""
        self.end()
        self.host.usage.current -= self._inside
        self._inside = 0
        self._let_all_go()
        first = max(1, load(self._state, State.FIRST))
        store(self._state, State.BUFFERS, address_of(self._table))
        store(self._state, State.LAST, 0)
        store(self._state, State.UNUSED, 0)
        self._table.reshape(-1, BufferEntry.WORDS)[first:, BufferEntry.REFERENCE] = 0
        self._chain(first, self._table.size // BufferEntry.WORDS)
        self.close_run()

    def close_run(self) -> None:
        """Forget what Python saw of a run that has given all back."""
        for reference in list(self._buffers):
            if not memory.entry_of(self._state, reference):
                buffer = self._buffers.pop(reference)
                del self._references[buffer.id]
                if not buffer.owned:
                    buffer.alive, buffer.memory = False, None
        self.seen = {}
        if self._held > _KEPT:
            self._let_all_go()

    def _let_all_go(self) -> None:
        """Give all blocks back to the system; none may be in use."""
        store(self._state, State.BUMP, 0)
        store(self._state, State.BUMP_END, 0)
        self._heads[:] = 0
        self._chunks.clear()
        self._large.clear()
        self._held = 0

    def _seen(self, reference: int) -> Buffer:
        entry = memory.entry_of(self._state, reference)
        nbytes = load(entry, BufferEntry.NBYTES) if entry else 0
        view = _bytes_at(load(entry, BufferEntry.ADDRESS), nbytes) if entry else None
        buffer = Buffer(self.host, nbytes, view, owned=False)
        buffer.alive = bool(entry)
        self._keep(reference, buffer)
        return buffer

    def _keep(self, reference: int, buffer: Buffer) -> None:
        self._buffers[reference] = buffer
        self.seen[reference >> INDEX_BITS] = buffer
        self._references[buffer.id] = reference

    def _make_room(self, nbytes: int) -> None:
        """Let the loop have a block for so many bytes.

        Raises:
            OutOfMemory: They are more than may be in use, or than the machine has.
        """
        self.host.check(nbytes)
        place = memory.size_class(nbytes)
        size = memory.block_size(place)
        if size <= _SMALL:
            self._add_chunk(nbytes)
        else:
            self._add_block(place, size, nbytes)

    def _add_chunk(self, nbytes: int) -> None:
        chunk = self._fresh(_CHUNK if self._chunks else _FIRST_CHUNK, nbytes)
        self._chunks.append(chunk)
        store(self._state, State.BUMP, address_of(chunk))
        store(self._state, State.BUMP_END, address_of(chunk) + chunk.nbytes)

    def _add_block(self, place: int, size: int, nbytes: int) -> None:
        block = self._fresh(size, nbytes)
        address = address_of(block)
        self._large[address] = block
        store(address, 0, int(self._heads[place]))
        self._heads[place] = address

    def _fresh(self, size: int, nbytes: int) -> Any:
        """Return memory from the system; if there is none, free blocks are given back first."""
        if self._held + size > self.host.usage.limit:
            self._let_go()
        try:
            block = self.host.fresh(size, nbytes)
        except OutOfMemory:
            self._let_go()
            block = self.host.fresh(size, nbytes)
        self._held += size
        return block

    def _let_go(self) -> None:
        """Give the free blocks back to the system that are not cut from chunks."""
        for place in range(memory.size_class(_SMALL) + 1, CLASSES):
            free, self._heads[place] = int(self._heads[place]), 0
            while free:
                address, free = free, load(free, 0)
                block = self._large.pop(address, None)
                if block is not None:
                    self._held -= block.nbytes
                else:
                    store(address, 0, int(self._heads[place]))
                    self._heads[place] = address

    def _chain(self, first: int, end: int) -> None:
        """Let the entries from ``first`` to ``end`` be the free ones."""
        entries = self._table.reshape(-1, BufferEntry.WORDS)
        entries[first:end, BufferEntry.ADDRESS] = np.arange(first + 1, end + 1)
        entries[end - 1, BufferEntry.ADDRESS] = load(self._state, State.UNUSED)
        store(self._state, State.UNUSED, first)


def _bytes_at(address: int, nbytes: int) -> Any:
    return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(address))
