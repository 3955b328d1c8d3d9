"""Calls and returns, in the language of words.

`State.FRAME` is the frame on top; the loop reads it again after each of these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_vm.jit.arrays import DATA, ITEMS
from reference_vm.jit.words import load, move, store
from reference_vm.runtime.native.cells import cell_of, clear, copy, take_apart
from reference_vm.runtime.native.instances import bind
from reference_vm.runtime.native.layout import (
    CELLS,
    OBJECT,
    SLOT,
    WORD,
    Cell,
    Form,
    Frame,
    FunctionRecord,
    Look,
    Maker,
    Slot,
    Spot,
    State,
    Way,
)
from reference_vm.runtime.native.programs import LIST, MOST_WORDS

NOWHERE: Final = -1
PYTHONS: Final = -2

DEPTH: Final = 200
"""How deep in data types the loop looks for a size."""


def find_size(look: int, base: int, depth: int) -> int:
    """Return the size of a hidden symbol; `NOWHERE` if no tensor tells, `PYTHONS` if Python must.

    Constructors are looked into by recursion, but no deeper than ``depth``.
    """
    for i in range(load(look, Look.COUNT)):
        spot = look + (Look.SPOTS + i * Spot.WORDS) * WORD
        slot = base + load(spot, Spot.PLACE) * WORD
        inside = load(spot, Spot.INSIDE)
        found = PYTHONS
        if inside == 0:
            form = load(slot, Slot.FORM)
            if load(slot, Slot.REFERENCE) > 0 and form != 0:
                return load(form, Form.DIMS + load(spot, Spot.AXIS))
        else:
            cell = cell_of(slot)
            if cell != 0 and depth > 0:
                maker = load(cell, Cell.MAKER)
                inner = load(inside, load(maker, Maker.TAG))
                if load(maker, Maker.SLOTS) == load(inner, Look.SLOTS):
                    found = find_size(inner, cell, depth - 1)
        if found != NOWHERE:
            return found
    return NOWHERE


def find_sizes(hidden: int, frame: int, sizes: int) -> int:
    """Write the sizes of a function's hidden symbols; return 0 if Python must find them."""
    for i in range(load(hidden, 0)):
        size = find_size(load(hidden, 1 + i), frame, DEPTH)
        if size == PYTHONS:
            return 0
        store(sizes, i, 0 if size == NOWHERE else size)
    return 1


def is_of_sizes(way: int, count: int, hidden: int, sizes: int) -> int:
    """Whether a remembered call was one with hidden symbols of these sizes."""
    if hidden == 0:
        return 1
    for i in range(load(hidden, 0)):
        if load(way, Way.FORMS + count + i) != load(sizes, i):
            return 0
    return 1


def is_like_call(way: int, slots: int, count: int) -> int:
    """Whether a remembered call was one with arguments of the forms of those in slots."""
    for i in range(count):
        slot = slots + i * SLOT * WORD
        reference = load(slot, Slot.REFERENCE)
        if reference == OBJECT:
            return 0
        form = 0 if reference <= CELLS else load(slot, Slot.FORM)
        if form != load(way, Way.FORMS + i):
            return 0
    return 1


def bound(state: int, function: int, slots: int) -> int:
    """Return the instance of a function for new arguments in slots; 0 if Python must find it."""
    forms = load(state, State.NUMBERS) + LIST * WORD
    count = load(function, FunctionRecord.PARAMETERS)
    if count > MOST_WORDS:
        return 0
    for i in range(count):
        slot = slots + i * SLOT * WORD
        reference = load(slot, Slot.REFERENCE)
        if reference == OBJECT:
            return 0
        store(forms, i, 0 if reference <= CELLS else load(slot, Slot.FORM))
    return bind(state, function, forms)


def find_instance(state: int, function: int, frame: int) -> int:
    """Return the instance of a function for the arguments in a frame; 0 if Python must find it."""
    only = load(function, FunctionRecord.INSTANCE)
    if only != 0:
        return only
    hidden = load(function, FunctionRecord.HIDDEN)
    sizes = load(state, State.NUMBERS)
    if hidden < 0 or (hidden != 0 and find_sizes(hidden, frame, sizes) == 0):
        return 0
    slots = frame + Frame.SLOTS * WORD
    count = load(function, FunctionRecord.PARAMETERS)
    way = load(function, FunctionRecord.WAYS)
    before = 0
    while way != 0:
        if is_like_call(way, slots, count) and is_of_sizes(way, count, hidden, sizes):
            if before != 0:
                store(before, Way.NEXT, load(way, Way.NEXT))
                store(way, Way.NEXT, load(function, FunctionRecord.WAYS))
                store(function, FunctionRecord.WAYS, way)
            return load(way, Way.INSTANCE)
        before = way
        way = load(way, Way.NEXT)
    return bound(state, function, slots)


def next_frame(state: int, frame: int, function: int) -> int:
    """Return where the frame of a function behind this one goes; -1 if there is no room for it."""
    inner = frame + load(load(frame, Frame.FUNCTION), FunctionRecord.FRAME_WORDS) * WORD
    if inner + load(function, FunctionRecord.FRAME_WORDS) * WORD > load(state, State.STACK_END):
        return -1
    return inner


def put_arguments(inner: int, at: int, frame: int, places: int) -> int:
    """Copy slots of a frame to those of another one, from ``at`` on; return where they end."""
    for i in range(load(places, 0)):
        copy(inner + at * WORD, frame + load(places, 1 + i) * WORD)
        at += SLOT
    return at


def put_captured(inner: int, cell: int) -> int:
    """Copy what a closure captured to the first slots of a frame; return where they end."""
    words = load(load(cell, Cell.MAKER), Maker.SLOTS) * SLOT
    for i in range(words):
        store(inner, Frame.SLOTS + i, load(cell, Cell.SLOTS + i))
    return Frame.SLOTS + words


def enter(state: int, inner: int, function: int, at: int) -> int:
    """Make a frame of a function of the words that hold its arguments, and end at ``at``.

    Returns:
        The instance that the arguments choose; 0 if Python must find it.
    """
    instance = find_instance(state, function, inner)
    store(inner, Frame.FUNCTION, function)
    store(inner, Frame.INSTANCE, instance)
    for i in range(at, load(function, FunctionRecord.FRAME_WORDS)):
        store(inner, i, 0)
    return instance


def push(state: int, frame: int, inner: int, back: int, target: int) -> int:
    """Let the function of a frame behind this one run next; return where its code is."""
    store(inner, Frame.CALLER, (inner - frame) // WORD)
    store(inner, Frame.RETURN, back)
    store(inner, Frame.TARGET, target)
    store(state, State.DEPTH, load(state, State.DEPTH) + 1)
    store(state, State.FRAME, inner)
    return load(load(inner, Frame.FUNCTION), FunctionRecord.CODE)


def replace(frame: int, inner: int) -> int:
    """Let a frame behind this one take the place of it; return where its function's code is."""
    function = load(inner, Frame.FUNCTION)
    store(frame, Frame.FUNCTION, function)
    for i in range(Frame.INSTANCE, load(function, FunctionRecord.FRAME_WORDS)):
        store(frame, i, load(inner, i))
    return load(function, FunctionRecord.CODE)


def invoke(state: int, frame: int, pc: int) -> int:
    """Let a function run next, with its frame behind this one; -1 if there is no room for it."""
    function = load(pc, 1)
    places = pc + 3 * WORD
    if load(state, State.DEPTH) >= load(state, State.DEPTH_LIMIT):
        return 0
    inner = next_frame(state, frame, function)
    if inner < 0:
        return -1
    if enter(state, inner, function, put_arguments(inner, Frame.SLOTS, frame, places)) == 0:
        return 0
    return push(state, frame, inner, places + (1 + load(places, 0)) * WORD, load(pc, 2))


def tail_invoke(state: int, frame: int, pc: int) -> int:
    """Let a function run next, with its frame in place of this one; -1 if there is no room.

    The new frame is made behind the old one, since its arguments are there, and then moved.
    """
    function = load(pc, 1)
    inner = next_frame(state, frame, function)
    if inner < 0:
        return -1
    at = put_arguments(inner, Frame.SLOTS, frame, pc + 2 * WORD)
    if enter(state, inner, function, at) == 0:
        return 0
    return replace(frame, inner)


def callee(cell: int, arguments: int, result: int) -> int:
    """Return the function of a closure that takes and returns what a call says; else 0."""
    if cell == 0:
        return 0
    maker = load(cell, Cell.MAKER)
    if load(maker, Maker.REST) != arguments or load(maker, Maker.RESULT) != result:
        return 0
    shared = load(cell, Cell.MIXED) and load(cell, Cell.HOLDS) > 1
    return 0 if shared else load(maker, Maker.FUNCTION)


def apply(state: int, frame: int, pc: int) -> int:
    """Let a closure run next, with its frame behind this one; -1 if there is no room for it."""
    cell = cell_of(frame + load(pc, 1) * WORD)
    function = callee(cell, load(pc, 3), load(pc, 4))
    places = pc + 5 * WORD
    if function == 0 or load(state, State.DEPTH) >= load(state, State.DEPTH_LIMIT):
        return 0
    inner = next_frame(state, frame, function)
    if inner < 0:
        return -1
    at = put_arguments(inner, put_captured(inner, cell), frame, places)
    if enter(state, inner, function, at) == 0:
        return 0
    take_apart(state, cell)
    return push(state, frame, inner, places + (1 + load(places, 0)) * WORD, load(pc, 2))


def tail_apply(state: int, frame: int, pc: int) -> int:
    """Let a closure run next, with its frame in place of this one; -1 if there is no room."""
    cell = cell_of(frame + load(pc, 1) * WORD)
    function = callee(cell, load(pc, 2), load(pc, 3))
    if function == 0:
        return 0
    inner = next_frame(state, frame, function)
    if inner < 0:
        return -1
    at = put_arguments(inner, put_captured(inner, cell), frame, pc + 4 * WORD)
    if enter(state, inner, function, at) == 0:
        return 0
    take_apart(state, cell)
    return replace(frame, inner)


def is_expected(state: int, frame: int, pc: int) -> int:
    """Whether the results are tensors of the forms that are waited for."""
    expected = load(state, State.EXPECTED)
    count = load(pc, 1)
    if expected == 0 or load(expected, 0) != count:
        return 0
    for i in range(count):
        slot = frame + load(pc, 2 + i) * WORD
        if load(slot, Slot.REFERENCE) <= 0:
            return 0
        if load(slot, Slot.FORM) != load(expected, 1 + i):
            return 0
    return 1


def hand_over(frame: int, pc: int, arrays: int) -> int:
    """Copy the results, all of them tensors, to the arrays in a tuple."""
    for i in range(load(pc, 1)):
        slot = frame + load(pc, 2 + i) * WORD
        nbytes = load(load(slot, Slot.FORM), Form.NBYTES)
        move(load(load(arrays + ITEMS, i) + DATA, 0), load(slot, Slot.ADDRESS), nbytes)
    return 0


def deliver(state: int, frame: int, pc: int) -> int:
    """Copy the results to the arrays that wait for them, and give back all memory, if they fit."""
    store(state, State.DELIVERED, 0)
    if is_expected(state, frame, pc):
        hand_over(frame, pc, load(state, State.ARRAYS))
        clear(state)
        store(state, State.DELIVERED, 1)
    return 0


def give(state: int, frame: int, pc: int) -> int:
    """Return to the caller with the result; 0 from the first frame, or if Python must."""
    back = load(frame, Frame.CALLER)
    if back == 0:
        deliver(state, frame, pc)
        return 0
    if load(frame, Frame.TARGET) < 0:
        return 0
    caller = frame - back * WORD
    target = caller + load(frame, Frame.TARGET) * WORD
    for i in range(load(pc, 1)):
        copy(target + i * SLOT * WORD, frame + load(pc, 2 + i) * WORD)
    store(state, State.DEPTH, load(state, State.DEPTH) - 1)
    store(state, State.FRAME, caller)
    return load(frame, Frame.RETURN)


FUNCTIONS: Final[tuple[Callable[..., int], ...]] = (
    find_size,
    find_sizes,
    is_of_sizes,
    is_like_call,
    bound,
    find_instance,
    next_frame,
    put_arguments,
    put_captured,
    enter,
    push,
    replace,
    invoke,
    tail_invoke,
    callee,
    apply,
    tail_apply,
    is_expected,
    hand_over,
    deliver,
    give,
)
"""In the order of their use."""
