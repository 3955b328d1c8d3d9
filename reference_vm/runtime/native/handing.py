"""Values of data types that are handed into a run, or out of it, in the language of words.

Python lists their items in order, each value before its fields (`layout.Handed`), and here cells
are made of them; results are listed likewise. However deep a value is, nothing is called again from
within itself: what is still to be done lies in the record too, behind the items on the way in, and
behind the room for them on the way out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_vm.jit.arrays import DATA, ITEMS
from reference_vm.jit.words import load, move, store
from reference_vm.runtime.native.cells import cell_of, copy, hold, take_cell
from reference_vm.runtime.native.layout import (
    LENT,
    SLOT,
    WORD,
    Cell,
    Form,
    Handed,
    Left,
    Maker,
    Slot,
    State,
)
from reference_vm.runtime.native.memory import entry_of, register

OTHERWISE: Final = -1
"""What is to be listed is not all values of data types and tensors on the host."""

SHORT: Final = -2
"""There is too little room in the record."""


def put_in(state: int, maker: int, fields: int) -> int:
    """Return a fresh cell of what slots hold; 0 if there is no room for it."""
    cell = take_cell(state, maker)
    if cell == 0:
        return 0
    store(cell, Cell.MIXED, 0)
    for i in range(load(maker, Maker.SLOTS)):
        copy(cell + (Cell.SLOTS + i * SLOT) * WORD, fields + i * SLOT * WORD)
    return cell


def take_in(state: int, handed: int) -> int:
    """Make cells of the listed items, from the last to the first.

    The slots of what is done lie at `Handed.TOP`: at the end those of the whole.

    Returns:
        `Left.RETURNED`, or what is lacking; called again, it goes on.
    """
    left = load(handed, Handed.COUNT)
    top = load(handed, Handed.TOP)
    lacking = Left.RETURNED
    while left > 0:
        item = handed + (Handed.ITEMS + (left - 1) * SLOT) * WORD
        form = load(item, Slot.FORM)
        address = load(item, Slot.ADDRESS)
        if load(item, Slot.REFERENCE) == 0:
            if load(state, State.UNUSED) == 0:
                lacking = Left.BUFFERS
                break
            reference = register(state, address, load(form, Form.NBYTES), LENT)
            top = top - SLOT * WORD
            hold(top, address, reference, form)
        else:
            cell = put_in(state, form, top)
            if cell == 0:
                lacking = Left.CELLS
                break
            top = top + (load(form, Maker.SLOTS) - 1) * SLOT * WORD
            hold(top, cell, load(cell, Cell.REFERENCE), form)
        left -= 1
    store(handed, Handed.COUNT, left)
    store(handed, Handed.TOP, top)
    return lacking


def is_tensor(state: int, slot: int) -> int:
    """Whether a slot holds a tensor on the host that lives."""
    if entry_of(state, load(slot, Slot.REFERENCE)) == 0:
        return 0
    form = load(slot, Slot.FORM)
    return form != 0 and load(form, Form.KIND) > 0


def list_out(state: int, handed: int) -> int:
    """List the result of the function that returned.

    Returns:
        How many items there are, `OTHERWISE` or `SHORT`.
    """
    pc = load(state, State.PC)
    frame = load(state, State.FRAME)
    first = handed + Handed.ITEMS * WORD
    end = first + load(handed, Handed.COUNT) * SLOT * WORD
    at = first
    roots = load(pc, 1)
    top = end - roots * SLOT * WORD
    if top < at:
        return SHORT
    for i in range(roots):
        copy(top + i * SLOT * WORD, frame + load(pc, 2 + i) * WORD)
    while top != end:
        cell = cell_of(top)
        if cell == 0:
            if is_tensor(state, top) == 0:
                return OTHERWISE
            copy(at, top)
            top = top + SLOT * WORD
        else:
            maker = load(cell, Cell.MAKER)
            slots = load(maker, Maker.SLOTS)
            if load(maker, Maker.TAG) < 0:
                return OTHERWISE
            below = top + (1 - slots) * SLOT * WORD
            if below < at + SLOT * WORD:
                return SHORT
            copy(at, top)
            for i in range(slots):
                copy(below + i * SLOT * WORD, cell + (Cell.SLOTS + i * SLOT) * WORD)
            top = below
        at = at + SLOT * WORD
    return (at - first) // (SLOT * WORD)


def copy_out(handed: int) -> int:
    """Copy listed tensors to arrays."""
    arrays = load(handed, Handed.TOP)
    done = 0
    for i in range(load(handed, Handed.COUNT)):
        item = handed + (Handed.ITEMS + i * SLOT) * WORD
        if load(item, Slot.REFERENCE) > 0:
            nbytes = load(load(item, Slot.FORM), Form.NBYTES)
            move(load(load(arrays + ITEMS, done) + DATA, 0), load(item, Slot.ADDRESS), nbytes)
            done += 1
    return 0


FUNCTIONS: Final[tuple[Callable[..., int], ...]] = (
    put_in,
    take_in,
    is_tensor,
    list_out,
    copy_out,
)
"""In the order of their use."""
