"""The instructions of the native loop, and what their words are.

Each instruction of the bytecode is one of these. *s*: a slot, in words from the frame. *c*: a cell
of the instance, in words from it. All else are numbers or addresses.
"""

from __future__ import annotations

from enum import IntEnum


class Op(IntEnum):
    """The first word of an instruction; the others as listed."""

    LEAVE = 0
    """length. Python does it."""

    LAUNCH = 1
    """c:plan, kernel, operands, results, length, listed; s for each operand; for each result: s,
    s:storage or 0, offset, c:form or 0. Runs a kernel; unless *listed* only by the plan that Python
    put into the cell."""

    LAUNCH_ONE = 18
    """As `LAUNCH`, with one result that lies in a storage."""

    LAUNCH_1 = 19
    """c:plan, s of each operand, s:result, s:storage, offset, address of the words of `LAUNCH`. A
    launch with one result in a storage, whose operands' forms the instance decides, so that a plan
    found once is right for good: what most launches are."""

    LAUNCH_2 = 20
    LAUNCH_3 = 21

    POISON = 22
    """count; s of each. A checked run makes the tensors unreadable."""

    CONSTANT = 2
    """s, address, reference, form."""

    STORAGE = 3
    """s, c:bytes. Allocates."""

    MOVE = 4
    """pairs; s:to and s:from of each. Copies slots."""

    KILL = 5
    """count; s of each. Gives up a hold on each, which is empty then."""

    SHARE = 6
    """count; s of each. Takes a hold."""

    JUMP = 7
    """address of the instruction to go to."""

    BRANCH = 8
    """s, address to go to if it is false."""

    VIEW = 9
    """s:to, s:from, c:form. Gives a tensor another shape."""

    SHAPE = 10
    """s, c:form."""

    MATCH = 11
    """s:to, s:from, c:memo, casts. Goes on with the instance that fits the tensor's dims."""

    READ = 12
    """s:to, s:from. Reads a scalar on the host."""

    FACT = 13
    """s:to, memo, operands; s of each. What an operator makes of shapes alone: a shape value or a
    tensor that the memo holds."""

    ELEMENTS = 28
    """s:to, s:from, c:form or 0. Makes a tensor of the dims of a shape value."""

    RESHAPE = 14
    """s:to, memo, operands; s of each. As `FACT`, for a view of the first operand."""

    CALL = 15
    """function, s:result, arguments; s of each."""

    TAIL_CALL = 16
    """function, arguments; s of each. The new frame takes the place of this one."""

    MAKE = 23
    """s, maker, slots; s of each. Makes a value of a data type or a closure."""

    FIELD = 24
    """s:to, s:from, field, number of its tree, slots. Lets slots hold what a field holds."""

    TAG = 25
    """s, tag, address to go to if the value has another tag."""

    APPLY = 26
    """s:closure, s:result, number of the tree of the arguments, number of that of the result,
    arguments; s of each. Calls a closure."""

    TAIL_APPLY = 27
    """As `APPLY`, but for s:result. The new frame takes the place of this one."""

    RETURN = 17
    """count; s of each."""


SURE = {Op.LAUNCH_1: 1, Op.LAUNCH_2: 2, Op.LAUNCH_3: 3}
"""The operands of each of the launches that need not look at them."""


class Launch(IntEnum):
    """The words of `Op.LAUNCH`."""

    PLAN = 1
    KERNEL = 2
    OPERANDS = 3
    RESULTS = 4
    LENGTH = 5
    LISTED = 6
    SLOTS = 7


class Result(IntEnum):
    """The words of each result of a launch."""

    SLOT = 0
    STORAGE = 1
    OFFSET = 2
    FORM = 3
    WORDS = 4
