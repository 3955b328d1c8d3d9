"""Instructions that work with slots and shapes alone, in the language of words.

Each returns where to go on, or 0 if Python must do it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_vm.jit.words import load, load_byte, move, store
from reference_vm.runtime.native.cells import (
    copy,
    hold,
    is_pythons,
    release_slot,
    share_slot,
)
from reference_vm.runtime.native.forms import KINDS, SHAPE
from reference_vm.runtime.native.instances import cast
from reference_vm.runtime.native.layout import (
    SCALAR,
    WORD,
    BufferEntry,
    Form,
    Frame,
    Memo,
    Slot,
    State,
)
from reference_vm.runtime.native.memory import allocate, entry_of
from reference_vm.runtime.native.records import form_of
from reference_vm.types import DTYPES

INDEX: Final = KINDS[DTYPES["i64"]]
"""The kind of tensors of indices, which elements of shapes are."""


def constant(frame: int, pc: int) -> int:
    """Let a slot hold a constant."""
    hold(frame + load(pc, 1) * WORD, load(pc, 2), load(pc, 3), load(pc, 4))
    return pc + 5 * WORD


def storage(state: int, instance: int, frame: int, pc: int) -> int:
    """Allocate."""
    nbytes = load(instance, load(pc, 2))
    if nbytes < 0:
        return 0
    reference = allocate(state, nbytes)
    if reference == 0:
        return 0
    address = load(entry_of(state, reference), BufferEntry.ADDRESS)
    hold(frame + load(pc, 1) * WORD, address, reference, 0)
    return pc + 3 * WORD


def move_slots(frame: int, pc: int) -> int:
    """Copy slots."""
    count = load(pc, 1)
    for i in range(count):
        copy(frame + load(pc, 2 + 2 * i) * WORD, frame + load(pc, 3 + 2 * i) * WORD)
    return pc + (2 + 2 * count) * WORD


def all_counted(state: int, frame: int, places: int, count: int) -> int:
    """Whether the holds on what all slots hold are counted here, not in Python."""
    for i in range(count):
        if is_pythons(state, frame + load(places, i) * WORD):
            return 0
    return 1


def kill(state: int, frame: int, pc: int) -> int:
    """Give up a hold on what each of some slots holds: all of them here, or all in Python."""
    count = load(pc, 1)
    if all_counted(state, frame, pc + 2 * WORD, count) == 0:
        return 0
    for i in range(count):
        slot = frame + load(pc, 2 + i) * WORD
        release_slot(state, slot)
        hold(slot, 0, 0, 0)
    return pc + (2 + count) * WORD


def share_slots(state: int, frame: int, pc: int) -> int:
    """Take a hold on what each of some slots holds."""
    count = load(pc, 1)
    if all_counted(state, frame, pc + 2 * WORD, count) == 0:
        return 0
    for i in range(count):
        share_slot(state, frame + load(pc, 2 + i) * WORD)
    return pc + (2 + count) * WORD


def branch(frame: int, pc: int) -> int:
    """Go on, or elsewhere if a scalar is false."""
    slot = frame + load(pc, 1) * WORD
    form = load(slot, Slot.FORM)
    if form == 0 or load(form, Form.TRUTH) == 0:
        return 0
    return pc + 3 * WORD if load(slot, Slot.ADDRESS) != 0 else load(pc, 2)


def view(instance: int, frame: int, pc: int) -> int:
    """Give a tensor the shape that the symbols say."""
    source = frame + load(pc, 2) * WORD
    form = load(instance, load(pc, 3))
    old = load(source, Slot.FORM)
    if form == 0 or old == 0 or load(form, Form.NBYTES) != load(old, Form.NBYTES):
        return 0
    slot = frame + load(pc, 1) * WORD
    hold(slot, load(source, Slot.ADDRESS), load(source, Slot.REFERENCE), form)
    return pc + 4 * WORD


def shape(instance: int, frame: int, pc: int) -> int:
    """Let a slot hold a shape value."""
    form = load(instance, load(pc, 2))
    if form == 0:
        return 0
    hold(frame + load(pc, 1) * WORD, 0, 0, form)
    return pc + 3 * WORD


def match_dims(state: int, instance: int, frame: int, pc: int) -> int:
    """Go on with the instance for the dims of a tensor or shape value, if that is known."""
    source = frame + load(pc, 2) * WORD
    cell = load(pc, 3)
    form = load(source, Slot.FORM)
    if form == 0:
        return 0
    if load(instance, cell) != form:
        after = cast(state, instance, load(pc, 4), form)
        if after == 0:
            return 0
        store(instance, cell, form)
        store(instance, cell + 1, after)
    store(frame, Frame.INSTANCE, load(instance, cell + 1))
    copy(frame + load(pc, 1) * WORD, source)
    return pc + 5 * WORD


def read_scalar(state: int, target: int, source: int) -> int:
    """Read a tensor of at most eight bytes; return 0 if it is none."""
    form = load(source, Slot.FORM)
    if form == 0:
        return 0
    nbytes = load(form, Form.NBYTES)
    scalar = load(form, Form.SCALAR)
    if scalar == 0 or load(source, Slot.REFERENCE) <= 0:
        return 0
    if load(state, State.CHECKED) != 0 and entry_of(state, load(source, Slot.REFERENCE)) == 0:
        return 0
    address = load(source, Slot.ADDRESS)
    bits = 0
    for i in range(nbytes):
        bits |= load_byte(address + i) << (i << 3)
    hold(target, bits, SCALAR, scalar)
    store(state, State.READS, load(state, State.READS) + 1)
    store(state, State.READ_BYTES, load(state, State.READ_BYTES) + nbytes)
    return 1


def read(state: int, frame: int, pc: int) -> int:
    """Read a scalar on the host."""
    target = frame + load(pc, 1) * WORD
    source = frame + load(pc, 2) * WORD
    return pc + 3 * WORD if read_scalar(state, target, source) else 0


def find_memo(memo: int, frame: int, places: int, operands: int) -> int:
    """Return what is remembered of operands of these forms; 0 if nothing is."""
    while memo != 0:
        i = 0
        while i < operands:
            if load(frame, load(places, i) + Slot.FORM) != load(memo, Memo.OPERANDS + i):
                break
            i += 1
        if i == operands:
            return memo
        memo = load(memo, Memo.NEXT)
    return 0


def fact(state: int, frame: int, pc: int) -> int:
    """Let a slot hold what an operator makes of shapes."""
    operands = load(pc, 3)
    memo = find_memo(load(pc, 2), frame, pc + 4 * WORD, operands)
    if memo == 0:
        return 0
    slot = frame + load(pc, 1) * WORD
    form = load(memo, Memo.FORM)
    data = load(memo, Memo.DATA)
    address = 0
    reference = 0
    if data != 0:
        reference = allocate(state, load(form, Form.NBYTES))
        if reference == 0:
            return 0
        address = load(entry_of(state, reference), BufferEntry.ADDRESS)
        move(address, data, load(form, Form.NBYTES))
        store(state, State.WRITES, load(state, State.WRITES) + 1)
        store(state, State.WRITE_BYTES, load(state, State.WRITE_BYTES) + load(form, Form.NBYTES))
    hold(slot, address, reference, form)
    return pc + (4 + operands) * WORD


def elements(state: int, instance: int, frame: int, pc: int) -> int:
    """Let a slot hold a new tensor of the dims of a shape value."""
    known = load(frame, load(pc, 2) + Slot.FORM)
    if known == 0 or load(known, Form.KIND) != SHAPE:
        return 0
    count = load(known, Form.RANK)
    key = load(state, State.NUMBERS)
    store(key, 0, INDEX)
    store(key, 1, 1)
    store(key, 2, count)
    form = form_of(state, key)
    if form == 0 or (load(pc, 3) != 0 and load(instance, load(pc, 3)) != form):
        return 0
    reference = allocate(state, count * WORD)
    if reference == 0:
        return 0
    address = load(entry_of(state, reference), BufferEntry.ADDRESS)
    move(address, known + Form.DIMS * WORD, count * WORD)
    store(state, State.WRITES, load(state, State.WRITES) + 1)
    store(state, State.WRITE_BYTES, load(state, State.WRITE_BYTES) + count * WORD)
    hold(frame + load(pc, 1) * WORD, address, reference, form)
    return pc + 4 * WORD


def reshape(frame: int, pc: int) -> int:
    """Give a tensor the shape that an operator makes of shapes."""
    operands = load(pc, 3)
    memo = find_memo(load(pc, 2), frame, pc + 4 * WORD, operands)
    if memo == 0:
        return 0
    source = frame + load(pc, 4) * WORD
    slot = frame + load(pc, 1) * WORD
    hold(slot, load(source, Slot.ADDRESS), load(source, Slot.REFERENCE), load(memo, Memo.FORM))
    return pc + (4 + operands) * WORD


FUNCTIONS: Final[tuple[Callable[..., int], ...]] = (
    constant,
    storage,
    move_slots,
    kill,
    all_counted,
    share_slots,
    branch,
    view,
    shape,
    match_dims,
    read_scalar,
    read,
    find_memo,
    fact,
    elements,
    reshape,
)
"""In the order of their use."""
