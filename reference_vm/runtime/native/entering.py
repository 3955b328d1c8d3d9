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
from reference_vm.runtime.native.layout import (
    LENT,
    SLOT,
    WORD,
    Entry,
    Form,
    Frame,
    FunctionRecord,
    State,
)
from reference_vm.runtime.native.memory import register


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


def find_entry(state: int, arrays: int) -> int:
    """Return the remembered call for the arrays in a tuple; 0 if there is none."""
    entry = load(state, State.ENTRY)
    while entry != 0:
        count = load(entry, Entry.COUNT)
        i = 0
        while i < count:
            array = load(arrays + ITEMS, i)
            description = load(entry, Entry.ARRAYS + 2 * i)
            if is_like(state, array, description, load(entry, Entry.ARRAYS + 2 * i + 1)) == 0:
                break
            i += 1
        if i == count:
            return entry
        entry = load(entry, Entry.NEXT)
    return 0


def start(state: int, arrays: int) -> int:
    """Begin a call like a remembered one; return 0 if there is none."""
    entry = find_entry(state, arrays)
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
        form = load(entry, Entry.ARRAYS + 2 * i + 1)
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


FUNCTIONS: Final[tuple[Callable[..., int], ...]] = (is_like, find_entry, start, finish)
"""In the order of their use."""
