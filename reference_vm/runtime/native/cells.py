"""Values of data types, and closures, in the language of words: cells that are counted.

A cell holds slots, and has their holds. With the last hold on a cell go those of its slots; the
cells that die meanwhile are a list whose links lie in them, so nothing is too deep. Cells are cut
from chunks of their own, and are not counted as memory in use: what they hold is. A free cell stays
a cell of its class, so a stale reference to it is known as one.

What returns where to go on returns 0 if Python must do it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_vm.jit.words import load, store
from reference_vm.runtime.native.layout import (
    CELLS,
    CLASSES,
    FOREIGN,
    OBJECT,
    SLOT,
    WORD,
    BufferEntry,
    Cell,
    Maker,
    Slot,
    State,
)
from reference_vm.runtime.native.memory import block_size, entry_of, forget_all, release, share


def hold(slot: int, address: int, reference: int, form: int) -> int:
    """Let a slot hold a value."""
    store(slot, Slot.ADDRESS, address)
    store(slot, Slot.REFERENCE, reference)
    store(slot, Slot.FORM, form)
    return 0


def copy(slot: int, source: int) -> int:
    """Let a slot hold what another one holds."""
    hold(slot, load(source, Slot.ADDRESS), load(source, Slot.REFERENCE), load(source, Slot.FORM))
    return 0


def cell_of(slot: int) -> int:
    """Return the cell that a slot holds; 0 if it holds none, or one that is no more."""
    reference = load(slot, Slot.REFERENCE)
    if reference > CELLS:
        return 0
    cell = load(slot, Slot.ADDRESS)
    return cell if load(cell, Cell.REFERENCE) == reference else 0


def take_cell(state: int, maker: int) -> int:
    """Return a fresh cell with one hold; 0 if there is no room for it."""
    size = load(maker, Maker.CLASS)
    heads = load(state, State.CELL_HEADS)
    cell = load(heads, size)
    if cell != 0:
        store(heads, size, load(cell, Cell.HOLDS))
    else:
        cell = load(state, State.CELL_BUMP)
        end = cell + block_size(size)
        if end > load(state, State.CELL_BUMP_END):
            store(state, State.CELL_WANTED, block_size(size))
            return 0
        store(state, State.CELL_BUMP, end)
    reference = load(state, State.CELL_REFERENCE)
    store(state, State.CELL_REFERENCE, reference - 1)
    store(cell, Cell.REFERENCE, reference)
    store(cell, Cell.HOLDS, 1)
    store(cell, Cell.MAKER, maker)
    return cell


def free_cell(state: int, cell: int) -> int:
    """Let a cell be taken again; its slots' holds are somebody else's by now."""
    size = load(load(cell, Cell.MAKER), Maker.CLASS)
    heads = load(state, State.CELL_HEADS)
    store(cell, Cell.REFERENCE, 0)
    store(cell, Cell.HOLDS, load(heads, size))
    store(heads, size, cell)
    return 0


def is_pythons(state: int, slot: int) -> int:
    """Whether only Python can give up a hold on what a slot holds, or on something inside it."""
    reference = load(slot, Slot.REFERENCE)
    if reference == OBJECT:
        return 1
    cell = cell_of(slot)
    if cell != 0:
        return load(cell, Cell.MIXED)
    entry = entry_of(state, reference)
    return entry != 0 and load(entry, BufferEntry.CLASS) == FOREIGN


def release_inside(state: int, cell: int, dead: int) -> int:
    """Give up the holds that a dead cell has.

    Returns:
        The list of dead cells, with those that died of it.
    """
    for i in range(load(load(cell, Cell.MAKER), Maker.SLOTS)):
        slot = cell + (Cell.SLOTS + i * SLOT) * WORD
        inner = cell_of(slot)
        if inner == 0:
            if load(slot, Slot.REFERENCE) > 0:
                release(state, load(slot, Slot.REFERENCE))
        elif load(inner, Cell.HOLDS) > 1:
            store(inner, Cell.HOLDS, load(inner, Cell.HOLDS) - 1)
        else:
            store(inner, Cell.REFERENCE, 0)
            store(inner, Cell.HOLDS, dead)
            dead = inner
    return dead


def release_cell(state: int, cell: int) -> int:
    """Give up a hold on a cell, and with the last one those that it has itself."""
    holds = load(cell, Cell.HOLDS) - 1
    store(cell, Cell.HOLDS, holds)
    if holds > 0:
        return 0
    store(cell, Cell.HOLDS, 0)
    dead = cell
    while dead != 0:
        gone = dead
        dead = release_inside(state, gone, load(gone, Cell.HOLDS))
        free_cell(state, gone)
    return 0


def release_slot(state: int, slot: int) -> int:
    """Give up a hold on what a slot holds, which is not Python's."""
    cell = cell_of(slot)
    if cell != 0:
        release_cell(state, cell)
    elif load(slot, Slot.REFERENCE) > 0:
        release(state, load(slot, Slot.REFERENCE))
    return 0


def share_slot(state: int, slot: int) -> int:
    """Take a hold on what a slot holds."""
    cell = cell_of(slot)
    if cell != 0:
        store(cell, Cell.HOLDS, load(cell, Cell.HOLDS) + 1)
    else:
        share(state, load(slot, Slot.REFERENCE))
    return 0


def make(state: int, frame: int, pc: int) -> int:
    """Make a value of a data type, or a closure, of what slots hold."""
    maker = load(pc, 2)
    cell = take_cell(state, maker)
    if cell == 0:
        return 0
    count = load(pc, 3)
    mixed = 0
    for i in range(count):
        slot = frame + load(pc, 4 + i) * WORD
        mixed |= is_pythons(state, slot)
        copy(cell + (Cell.SLOTS + i * SLOT) * WORD, slot)
    store(cell, Cell.MIXED, mixed)
    hold(frame + load(pc, 1) * WORD, cell, load(cell, Cell.REFERENCE), maker)
    return pc + (4 + count) * WORD


def field(frame: int, pc: int) -> int:
    """Let slots hold what a field holds."""
    cell = cell_of(frame + load(pc, 2) * WORD)
    if cell == 0:
        return 0
    maker = load(cell, Cell.MAKER)
    index = load(pc, 3)
    if index >= load(maker, Maker.FIELDS):
        return 0
    if load(maker, Maker.PARTS + 2 * index + 1) != load(pc, 4):
        return 0
    source = cell + load(maker, Maker.PARTS + 2 * index) * WORD
    target = frame + load(pc, 1) * WORD
    for i in range(load(pc, 5)):
        copy(target + i * SLOT * WORD, source + i * SLOT * WORD)
    return pc + 6 * WORD


def tag(frame: int, pc: int) -> int:
    """Go on, or elsewhere if a value was made by another constructor."""
    slot = frame + load(pc, 1) * WORD
    if load(slot, Slot.REFERENCE) > CELLS:
        return 0
    return pc + 4 * WORD if load(load(slot, Slot.FORM), Maker.TAG) == load(pc, 2) else load(pc, 3)


def take_apart(state: int, cell: int) -> int:
    """Give up a hold on a closure for one on each value that it captured."""
    holds = load(cell, Cell.HOLDS) - 1
    if holds == 0:
        free_cell(state, cell)
        return 0
    store(cell, Cell.HOLDS, holds)
    for i in range(load(load(cell, Cell.MAKER), Maker.SLOTS)):
        share_slot(state, cell + (Cell.SLOTS + i * SLOT) * WORD)
    return 0


def clear(state: int) -> int:
    """Free all buffers but the constants, and all cells."""
    forget_all(state)
    first = load(state, State.CELL_CHUNK)
    if load(state, State.CELL_BUMP) != first:
        store(state, State.CELL_BUMP, first)
        store(state, State.CELL_BUMP_END, load(state, State.CELL_CHUNK_END))
        for size in range(CLASSES):
            store(load(state, State.CELL_HEADS), size, 0)
    return 0


FUNCTIONS: Final[tuple[Callable[..., int], ...]] = (
    hold,
    copy,
    cell_of,
    take_cell,
    free_cell,
    is_pythons,
    release_inside,
    release_cell,
    release_slot,
    share_slot,
    make,
    field,
    tag,
    take_apart,
    clear,
)
"""In the order of their use."""
