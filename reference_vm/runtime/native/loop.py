"""The native loop, in the language of words (`jit.words`).

    left = native(state, Command.RUN, 0)

runs from the instruction at `State.PC` until the function returns or something must be done in
Python, and says which (`layout.Left`). An instruction that is left to Python has changed nothing
that matters, so it can be begun again. With a log the address of every instruction is noted as it
is run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_vm.jit.words import load, store
from reference_vm.runtime.native import (
    calling,
    cells,
    entering,
    handing,
    instances,
    kernels,
    memory,
    moves,
    programs,
    records,
)
from reference_vm.runtime.native.calling import apply, give, invoke, tail_apply, tail_invoke
from reference_vm.runtime.native.cells import field, make, tag
from reference_vm.runtime.native.entering import finish, start
from reference_vm.runtime.native.handing import copy_out, list_out, take_in
from reference_vm.runtime.native.kernels import (
    launch,
    launch_1,
    launch_2,
    launch_3,
    launch_one,
    poison,
)
from reference_vm.runtime.native.layout import WORD, Command, Frame, Left, State
from reference_vm.runtime.native.moves import (
    branch,
    constant,
    elements,
    fact,
    kill,
    match_dims,
    move_slots,
    read,
    reshape,
    shape,
    share_slots,
    storage,
    view,
)
from reference_vm.runtime.native.opcodes import Op


def left_at(state: int, pc: int) -> int:
    """Say why the loop stops at an instruction that it could not do."""
    if load(pc, 0) == Op.RETURN and load(load(state, State.FRAME), Frame.CALLER) == 0:
        return Left.RETURNED
    if load(state, State.CELL_WANTED) != 0:
        return Left.CELLS
    if load(state, State.WANTED) < 0:
        return Left.INSTRUCTION
    return Left.BUFFERS if load(state, State.UNUSED) == 0 else Left.MEMORY


def interpret(state: int, logged: int) -> int:  # noqa: C901, PLR0912, PLR0915
    """Run until something is left to Python. One arm for each instruction."""
    pc = load(state, State.PC)
    frame = load(state, State.FRAME)
    instance = load(frame, Frame.INSTANCE)
    log = load(state, State.LOG)
    log_end = load(state, State.LOG_END)
    left = -1
    while left < 0:
        if logged:
            if log == log_end:
                left = Left.LOG
                break
            store(log, 0, pc)
            log += WORD
        match load(pc, 0):
            case Op.LAUNCH_1:
                to = launch_1(state, instance, frame, pc)
            case Op.LAUNCH_2:
                to = launch_2(state, instance, frame, pc)
            case Op.LAUNCH_3:
                to = launch_3(state, instance, frame, pc)
            case Op.LAUNCH_ONE:
                to = launch_one(state, instance, frame, pc)
            case Op.LAUNCH:
                to = launch(state, instance, frame, pc)
            case Op.STORAGE:
                to = storage(state, instance, frame, pc)
            case Op.KILL:
                to = kill(state, frame, pc)
            case Op.SHARE:
                to = share_slots(state, frame, pc)
            case Op.POISON:
                to = poison(state, frame, pc)
            case Op.CONSTANT:
                to = constant(frame, pc)
            case Op.MOVE:
                to = move_slots(frame, pc)
            case Op.JUMP:
                to = load(pc, 1)
            case Op.BRANCH:
                to = branch(frame, pc)
            case Op.READ:
                to = read(state, frame, pc)
            case Op.VIEW:
                to = view(instance, frame, pc)
            case Op.SHAPE:
                to = shape(instance, frame, pc)
            case Op.FACT:
                to = fact(state, frame, pc)
            case Op.ELEMENTS:
                to = elements(state, instance, frame, pc)
            case Op.RESHAPE:
                to = reshape(frame, pc)
            case Op.MATCH:
                to = match_dims(state, instance, frame, pc)
                instance = load(frame, Frame.INSTANCE)
            case Op.CALL:
                to = invoke(state, frame, pc)
                frame = load(state, State.FRAME)
                instance = load(frame, Frame.INSTANCE)
            case Op.TAIL_CALL:
                to = tail_invoke(state, frame, pc)
                instance = load(frame, Frame.INSTANCE)
            case Op.FIELD:
                to = field(frame, pc)
            case Op.TAG:
                to = tag(frame, pc)
            case Op.MAKE:
                to = make(state, frame, pc)
            case Op.APPLY:
                to = apply(state, frame, pc)
                frame = load(state, State.FRAME)
                instance = load(frame, Frame.INSTANCE)
            case Op.TAIL_APPLY:
                to = tail_apply(state, frame, pc)
                instance = load(frame, Frame.INSTANCE)
            case Op.RETURN:
                to = give(state, frame, pc)
                frame = load(state, State.FRAME)
                instance = load(frame, Frame.INSTANCE)
            case _:
                to = 0
        if to > 0:
            pc = to
        else:
            left = left_at(state, pc) if to == 0 else Left.STACK
    store(state, State.PC, pc)
    store(state, State.LOG, log)
    return left


def native(state: int, command: int, argument: int) -> int:
    """Do what Python asks for (`layout.Command`)."""
    match command:
        case Command.START | Command.START_LOGGED:
            if start(state, argument) == 0:
                return Left.REFUSED
            return interpret(state, command == Command.START_LOGGED)
        case Command.RUN | Command.RUN_LOGGED:
            return interpret(state, command == Command.RUN_LOGGED)
        case Command.TAKE_IN:
            return take_in(state, argument)
        case Command.LIST_OUT:
            return list_out(state, argument)
        case Command.COPY_OUT:
            return copy_out(argument)
        case _:
            return finish(state, argument)


FUNCTIONS: Final[tuple[Callable[..., int], ...]] = (
    *records.FUNCTIONS,
    *programs.FUNCTIONS,
    *instances.FUNCTIONS,
    *memory.FUNCTIONS,
    *cells.FUNCTIONS,
    *kernels.FUNCTIONS,
    *moves.FUNCTIONS,
    *calling.FUNCTIONS,
    left_at,
    interpret,
    *entering.FUNCTIONS,
    *handing.FUNCTIONS,
    native,
)
"""In the order of their use; the last is what Python calls."""
