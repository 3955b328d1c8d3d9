"""Records that are found by their words, in the language of words.

What sizes decide (forms, plans, instances, calls) lies in the *room*, memory that is taken piece by
piece and given back all at once between two runs. Each kind has a table of lists; a record's first
word leads to the next one of its list, and its *key* are words that stand together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_vm.jit.words import load, store
from reference_vm.runtime.native.layout import WORD, Form, Kind, State

BUCKETS: Final = 1 << 12
"""Lists of a table."""

KEPT: Final = 256
"""Instances that outlive a run; there are more only while it lasts."""

MOST: Final = 1 << 62
"""Beyond what any number, and the bytes that any form spans, must stay; else Python looks."""

_BITS: Final = (1 << 48) - 1


def bucket(key: int, count: int) -> int:
    """Return the place in a table of the list for a key."""
    mixed = 0
    for i in range(count):
        word = load(key, i)
        mixed = ((mixed << 5) ^ (mixed >> 27) ^ word ^ (word >> 6)) & _BITS
    return (mixed ^ (mixed >> 13) ^ (mixed >> 29)) & (BUCKETS - 1)


def find(table: int, key: int, count: int, offset: int) -> int:
    """Return the record with a key, which stands ``offset`` words into it; 0 if there is none."""
    record = load(table, bucket(key, count))
    while record != 0:
        i = 0
        while i < count and load(record, offset + i) == load(key, i):
            i += 1
        if i == count:
            return record
        record = load(record, 0)
    return 0


def link(table: int, record: int, count: int, offset: int) -> int:
    """Let a record be found by its key."""
    place = bucket(record + offset * WORD, count)
    store(record, 0, load(table, place))
    store(table, place, record)
    return 0


def take(state: int, words: int) -> int:
    """Return the address of so many words of the room, at a cache line; 0 if it is full."""
    address = load(state, State.ROOM)
    end = address + ((words * WORD + 63) & -64)
    if end > load(state, State.ROOM_END):
        return 0
    store(state, State.ROOM, end)
    return address


def form_of(state: int, key: int) -> int:
    """Return the form whose kind, rank and dims stand at ``key``; 0 if Python must make it.

    Those of scalars, and of tensors without dims, are Python's; so is what no tensor can be.
    """
    kind = load(key, 0)
    rank = load(key, 1)
    found = find(load(state, State.FORMS), key, rank + 2, Form.KIND)
    if found != 0:
        return found
    about = load(state, State.KINDS) + kind * Kind.WORDS * WORD
    nbytes = 0
    if kind >= 0:
        if rank == 0:
            return 0
        nbytes = load(about, Kind.ITEMSIZE)
        empty = 0
        for axis in range(rank):
            dim = load(key, 2 + axis)
            if dim < 0:
                return 0
            if dim == 0:
                empty = 1
            elif dim > MOST // nbytes:
                return 0
            else:
                nbytes = nbytes * dim
        if empty:
            nbytes = 0
    form = take(state, Form.DIMS + rank)
    if form == 0:
        return 0
    store(form, Form.NBYTES, nbytes)
    store(form, Form.POISON, load(about, Kind.POISON) if kind >= 0 else 0)
    store(form, Form.SCALAR, 0)
    store(form, Form.TRUTH, 0)
    for i in range(rank + 2):
        store(form, Form.KIND + i, load(key, i))
    link(load(state, State.FORMS), form, rank + 2, Form.KIND)
    return form


FUNCTIONS: Final[tuple[Callable[..., int], ...]] = (bucket, find, link, take, form_of)
"""In the order of their use."""
