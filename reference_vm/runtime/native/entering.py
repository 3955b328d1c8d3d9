"""Calls from outside, in the language of words.

A call with NumPy arrays like those of one before begins without Python: the arrays' fields are read
where NumPy keeps them (`jit.arrays`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_vm.jit.arrays import DATA, DESCRIPTION, DIMS, FLAGS, ITEMS, PLAIN, RANK, TYPE
from reference_vm.jit.words import load, load_int, store
from reference_vm.runtime.native.calling import hand_over
from reference_vm.runtime.native.cells import clear, hold
from reference_vm.runtime.native.instances import bind
from reference_vm.runtime.native.layout import (
    LENT,
    SLOT,
    WORD,
    Entry,
    Form,
    Frame,
    FunctionRecord,
    Gate,
    State,
)
from reference_vm.runtime.native.memory import register
from reference_vm.runtime.native.programs import LIST, MOST_NUMBERS, MOST_WORDS
from reference_vm.runtime.native.records import KEPT, find, form_of, link, take

LISTED: Final = 8
"""Calls of one function that are looked through."""


def is_like(state: int, array: int, description: int, form: int) -> int:
    """Whether an object is a plain array of a dtype object and form."""
    if load(array + TYPE, 0) != load(state, State.ARRAY_TYPE):
        return 0
    if load(array + DESCRIPTION, 0) != description:
        return 0
    rank = load(form, Form.RANK)
    if load_int(array + RANK) != rank or (load_int(array + FLAGS) & PLAIN) != PLAIN:
        return 0
    dims = load(array + DIMS, 0)
    for axis in range(rank):
        if load(dims, axis) != load(form, Form.DIMS + axis):
            return 0
    return 1


def find_entry(state: int, gate: int, arrays: int) -> int:
    """Return the call of a gate's list that was with arrays like those in a tuple; or 0."""
    count = load(gate, Gate.COUNT)
    entry = load(gate, Gate.ENTRIES)
    while entry != 0:
        i = 0
        while i < count:
            array = load(arrays + ITEMS, i)
            description = load(gate, Gate.ARRAYS + 3 * i)
            if is_like(state, array, description, load(entry, Entry.FORMS + i)) == 0:
                break
            i += 1
        if i == count:
            return entry
        entry = load(entry, Entry.FOLLOWING)
    return 0


def form_of_array(state: int, array: int, about: int) -> int:
    """Return the form of a plain array, if it is of the dtype and rank that a gate has; else 0."""
    if load(array + TYPE, 0) != load(state, State.ARRAY_TYPE):
        return 0
    rank = load(about, 2)
    if load(array + DESCRIPTION, 0) != load(about, 0) or load_int(array + RANK) != rank:
        return 0
    if (load_int(array + FLAGS) & PLAIN) != PLAIN:
        return 0
    key = load(state, State.NUMBERS) + MOST_NUMBERS * WORD
    store(key, 0, load(about, 1))
    store(key, 1, rank)
    dims = load(array + DIMS, 0)
    for axis in range(rank):
        store(key, 2 + axis, load(dims, axis))
    return form_of(state, key)


def new_entry(state: int, gate: int, arrays: int) -> int:
    """Return a call with the arrays in a tuple that is not in the gate's list; 0: Python begins it.

    It is the first in the list then; one that has grown long is begun anew.
    """
    count = load(gate, Gate.COUNT)
    function = load(gate, Gate.FUNCTION)
    if count >= MOST_WORDS or load(state, State.MADE) > KEPT:
        return 0
    key = load(state, State.NUMBERS) + LIST * WORD
    store(key, 0, function)
    for i in range(count):
        about = gate + (Gate.ARRAYS + 3 * i) * WORD
        form = form_of_array(state, load(arrays + ITEMS, i), about)
        if form == 0:
            return 0
        store(key, 1 + i, form)
    entry = find(load(state, State.ENTRIES), key, 1 + count, Entry.FUNCTION)
    if entry == 0:
        instance = bind(state, function, key + WORD)
        entry = take(state, Entry.FORMS + count)
        if instance == 0 or entry == 0:
            return 0
        store(entry, Entry.INSTANCE, instance)
        store(entry, Entry.COUNT, count)
        for i in range(1 + count):
            store(entry, Entry.FUNCTION + i, load(key, i))
        link(load(state, State.ENTRIES), entry, 1 + count, Entry.FUNCTION)
    listed = load(gate, Gate.LISTED)
    store(entry, Entry.FOLLOWING, load(gate, Gate.ENTRIES) if listed < LISTED else 0)
    store(gate, Gate.ENTRIES, entry)
    store(gate, Gate.LISTED, listed + 1 if listed < LISTED else 1)
    return entry


def start(state: int, arrays: int) -> int:
    """Begin a call like a remembered one; return 0 if there is none."""
    gate = load(state, State.ENTRY)
    entry = find_entry(state, gate, arrays)
    if entry == 0:
        entry = new_entry(state, gate, arrays)
    if entry == 0:
        return 0
    store(state, State.ENTRY, entry)
    function = load(entry, Entry.FUNCTION)
    count = load(entry, Entry.COUNT)
    frame = load(state, State.STACK)
    size = load(function, FunctionRecord.FRAME_WORDS)
    if frame + size * WORD > load(state, State.STACK_END):
        return 0
    for i in range(size):
        store(frame, i, 0)
    for i in range(count):
        if load(state, State.UNUSED) == 0:
            clear(state)
            return 0
        form = load(entry, Entry.FORMS + i)
        address = load(load(arrays + ITEMS, i) + DATA, 0)
        reference = register(state, address, load(form, Form.NBYTES), LENT)
        hold(frame + (Frame.SLOTS + i * SLOT) * WORD, address, reference, form)
    store(frame, Frame.FUNCTION, function)
    store(frame, Frame.INSTANCE, load(entry, Entry.INSTANCE))
    store(state, State.FRAME, frame)
    store(state, State.DEPTH, 1)
    store(state, State.PC, load(function, FunctionRecord.CODE))
    store(state, State.LOG, load(state, State.LOG_BEGIN))
    store(state, State.NOTES, load(state, State.NOTES_BEGIN))
    store(state, State.WANTED, -1)
    return 1


def finish(state: int, arrays: int) -> int:
    """Copy the tensors that a function returned to a tuple of arrays, and give back all memory.

    The tuple has an array for each slot of the result; 0 copies nothing.
    """
    pc = load(state, State.PC)
    frame = load(state, State.FRAME)
    if arrays != 0:
        hand_over(frame, pc, arrays)
    clear(state)
    return 0


FUNCTIONS: Final[tuple[Callable[..., int], ...]] = (
    is_like,
    find_entry,
    form_of_array,
    new_entry,
    start,
    finish,
)
"""In the order of their use."""
