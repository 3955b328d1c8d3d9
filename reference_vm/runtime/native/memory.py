"""Memory of the host, in the language of words: buffers, and blocks in classes of size.

A block is of a class; there are eight classes between a size and its double, so at most an eighth
is lost. Free blocks of a class are a list whose links lie in the blocks. Small ones are cut from
chunks; Python makes chunks and large blocks, when `allocate` returns 0. What counts as in use are
the bytes that were asked for, as on every device.
"""

from __future__ import annotations

from typing import Final

from reference_vm.jit.words import leading_zeros, load, store
from reference_vm.runtime.native.layout import (
    FOREIGN,
    INDEX_BITS,
    INDEX_MASK,
    WORD,
    BufferEntry,
    State,
)

STEP: Final = 64
"""Bytes: the smallest block, and what all blocks are multiples of."""


def size_class(nbytes: int) -> int:
    """Return the class of the smallest block for so many bytes."""
    if nbytes <= 0:
        return 1
    if nbytes <= 8 * STEP:
        return (nbytes + STEP - 1) >> 6
    last = nbytes - 1
    exponent = 63 - leading_zeros(last)
    return ((exponent - 9) << 3) + 9 + ((last >> (exponent - 3)) & 7)


def block_size(size: int) -> int:
    """Return the bytes of a block of a class."""
    if size <= 8:
        return size << 6
    return (9 + ((size - 9) & 7)) << (6 + ((size - 9) >> 3))


def entry_of(state: int, reference: int) -> int:
    """Return the address of a buffer's entry; 0 if it is no more, or is none."""
    if reference <= 0:
        return 0
    place = (reference & INDEX_MASK) * BufferEntry.WORDS * WORD
    entry = load(state, State.BUFFERS) + place
    return entry if load(entry, BufferEntry.REFERENCE) == reference else 0


def allocate(state: int, nbytes: int) -> int:
    """Return a reference to a fresh buffer; 0 if Python must first make room for it."""
    left = load(state, State.LIMIT) - load(state, State.CURRENT)
    if load(state, State.UNUSED) == 0 or nbytes > left:
        store(state, State.WANTED, nbytes)
        return 0
    size = size_class(nbytes)
    head = load(state, State.HEADS)
    block = load(head, size)
    if block != 0:
        store(head, size, load(block, 0))
    else:
        block = load(state, State.BUMP)
        end = block + block_size(size)
        if end > load(state, State.BUMP_END):
            store(state, State.WANTED, nbytes)
            return 0
        store(state, State.BUMP, end)
    return register(state, block, nbytes, size)


def register(state: int, address: int, nbytes: int, size: int) -> int:
    """Return a reference to a buffer, of a class, that has one hold and takes a free entry."""
    index = load(state, State.UNUSED)
    if index > load(state, State.LAST):
        store(state, State.LAST, index)
    entry = load(state, State.BUFFERS) + index * BufferEntry.WORDS * WORD
    serial = load(state, State.SERIAL)
    reference = (serial << INDEX_BITS) | index
    store(state, State.SERIAL, serial + 1)
    store(state, State.UNUSED, load(entry, BufferEntry.ADDRESS))
    store(entry, BufferEntry.REFERENCE, reference)
    store(entry, BufferEntry.ADDRESS, address)
    store(entry, BufferEntry.NBYTES, nbytes)
    store(entry, BufferEntry.CLASS, size)
    store(entry, BufferEntry.HOLDS, 1)
    if size > 0:
        store(state, State.RECORDS, load(state, State.RECORDS) + 1)
        used = load(state, State.CURRENT) + nbytes
        store(state, State.CURRENT, used)
        if used > load(state, State.PEAK):
            store(state, State.PEAK, used)
    return reference


def forget(state: int, entry: int) -> int:
    """Free a buffer's entry, and its block if that is one of ours."""
    size = load(entry, BufferEntry.CLASS)
    if size > 0:
        head = load(state, State.HEADS)
        block = load(entry, BufferEntry.ADDRESS)
        store(block, 0, load(head, size))
        store(head, size, block)
        store(state, State.CURRENT, load(state, State.CURRENT) - load(entry, BufferEntry.NBYTES))
        store(state, State.RECORDS, load(state, State.RECORDS) + 1)
    index = load(entry, BufferEntry.REFERENCE) & INDEX_MASK
    store(entry, BufferEntry.REFERENCE, 0)
    store(entry, BufferEntry.ADDRESS, load(state, State.UNUSED))
    store(state, State.UNUSED, index)
    return 0


def release(state: int, reference: int) -> int:
    """Give up a hold on what a slot holds; return 1 if only Python can."""
    if reference < 0:
        return 1
    entry = entry_of(state, reference)
    if entry == 0:
        return 0
    size = load(entry, BufferEntry.CLASS)
    if size < 0:
        return 1 if size == FOREIGN else 0
    holds = load(entry, BufferEntry.HOLDS) - 1
    if holds > 0:
        store(entry, BufferEntry.HOLDS, holds)
        return 0
    return forget(state, entry)


def share(state: int, reference: int) -> int:
    """Take a hold on a buffer that is counted here."""
    entry = entry_of(state, reference)
    if entry != 0 and load(entry, BufferEntry.CLASS) > 0:
        store(entry, BufferEntry.HOLDS, load(entry, BufferEntry.HOLDS) + 1)
    return 0


def forget_all(state: int) -> int:
    """Free all buffers but the constants."""
    buffers = load(state, State.BUFFERS)
    last = load(state, State.LAST)
    for i in range(load(state, State.FIRST), last + 1):
        entry = buffers + i * BufferEntry.WORDS * WORD
        if load(entry, BufferEntry.REFERENCE) > 0:
            forget(state, entry)
    store(state, State.LAST, 0)
    return 0


FUNCTIONS: Final = (
    size_class,
    block_size,
    entry_of,
    register,
    allocate,
    forget,
    release,
    share,
    forget_all,
)
"""In the order of their use."""
