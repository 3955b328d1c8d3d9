"""Calls and returns, in the language of words.

`State.FRAME` is the frame on top; the loop reads it again after each of these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_vm.jit.arrays import DATA
from reference_vm.jit.words import load, move, store
from reference_vm.runtime.native.layout import (
    OBJECT,
    SLOT,
    WORD,
    Form,
    Frame,
    FunctionRecord,
    Slot,
    State,
)
from reference_vm.runtime.native.memory import forget_all
from reference_vm.runtime.native.moves import copy


def callee_instance(instance: int, function: int, cell: int, frame: int, places: int) -> int:
    """Return the instance that a call's arguments choose; 0 if it must be found."""
    only = load(function, FunctionRecord.INSTANCE)
    if only != 0:
        return only
    found = load(instance, cell)
    if found == 0:
        return 0
    count = load(places, 0)
    for i in range(count):
        slot = frame + load(places, 1 + i) * WORD
        if load(slot, Slot.FORM) != load(instance, cell + 1 + i):
            return 0
        if load(slot, Slot.REFERENCE) == OBJECT:
            return 0
    return found


def enter(frame: int, function: int, instance: int, source: int, places: int) -> int:
    """Make a frame of a function: empty but for the arguments from slots of another frame."""
    count = load(places, 0)
    store(frame, Frame.FUNCTION, function)
    store(frame, Frame.INSTANCE, instance)
    for i in range(count):
        slot = frame + (Frame.SLOTS + i * SLOT) * WORD
        argument = source + load(places, 1 + i) * WORD
        copy(slot, argument)
    for i in range(Frame.SLOTS + count * SLOT, load(function, FunctionRecord.FRAME_WORDS)):
        store(frame, i, 0)
    return 0


def invoke(state: int, instance: int, frame: int, pc: int) -> int:
    """Let a function run next, with its frame behind this one; -1 if there is no room for it."""
    function = load(pc, 1)
    places = pc + 4 * WORD
    made = callee_instance(instance, function, load(pc, 2), frame, places)
    if made == 0 or load(state, State.DEPTH) >= load(state, State.DEPTH_LIMIT):
        return 0
    size = load(load(frame, Frame.FUNCTION), FunctionRecord.FRAME_WORDS)
    inner = frame + size * WORD
    if inner + load(function, FunctionRecord.FRAME_WORDS) * WORD > load(state, State.STACK_END):
        return -1
    enter(inner, function, made, frame, places)
    store(inner, Frame.CALLER, size)
    store(inner, Frame.RETURN, places + (1 + load(places, 0)) * WORD)
    store(inner, Frame.TARGET, load(pc, 3))
    store(state, State.DEPTH, load(state, State.DEPTH) + 1)
    store(state, State.FRAME, inner)
    return load(function, FunctionRecord.CODE)


def tail_invoke(state: int, instance: int, frame: int, pc: int) -> int:
    """Let a function run next, with its frame in place of this one; -1 if there is no room.

    The new frame is made behind the old one, since its arguments are there, and then moved.
    """
    function = load(pc, 1)
    places = pc + 3 * WORD
    made = callee_instance(instance, function, load(pc, 2), frame, places)
    if made == 0:
        return 0
    size = load(function, FunctionRecord.FRAME_WORDS)
    inner = frame + load(load(frame, Frame.FUNCTION), FunctionRecord.FRAME_WORDS) * WORD
    if inner + size * WORD > load(state, State.STACK_END):
        return -1
    enter(inner, function, made, frame, places)
    store(inner, Frame.CALLER, load(frame, Frame.CALLER))
    store(inner, Frame.RETURN, load(frame, Frame.RETURN))
    store(inner, Frame.TARGET, load(frame, Frame.TARGET))
    for i in range(size):
        store(frame, i, load(inner, i))
    return load(function, FunctionRecord.CODE)


def deliver(state: int, frame: int, pc: int) -> int:
    """Copy the result to the array that waits for it, and give back all memory, if it fits.

    Otherwise say what it is, if it is one tensor.
    """
    store(state, State.RESULT, 0)
    if load(pc, 1) != 1:
        return 0
    slot = frame + load(pc, 2) * WORD
    if load(slot, Slot.REFERENCE) <= 0:
        return 0
    form = load(slot, Slot.FORM)
    store(state, State.RESULT, form)
    if form == load(state, State.EXPECTED):
        array = load(load(state, State.ARRAY) + DATA, 0)
        move(array, load(slot, Slot.ADDRESS), load(form, Form.NBYTES))
        forget_all(state)
        store(state, State.RESULT, -1)
    return 0


def give(state: int, frame: int, pc: int) -> int:
    """Return to the caller with the result; 0 from the first frame."""
    back = load(frame, Frame.CALLER)
    if back == 0:
        deliver(state, frame, pc)
        return 0
    caller = frame - back * WORD
    target = caller + load(frame, Frame.TARGET) * WORD
    for i in range(load(pc, 1)):
        copy(target + i * SLOT * WORD, frame + load(pc, 2 + i) * WORD)
    store(state, State.DEPTH, load(state, State.DEPTH) - 1)
    store(state, State.FRAME, caller)
    return load(frame, Frame.RETURN)


FUNCTIONS: Final[tuple[Callable[..., int], ...]] = (
    callee_instance,
    enter,
    invoke,
    tail_invoke,
    deliver,
    give,
)
"""In the order of their use."""
