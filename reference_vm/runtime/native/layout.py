"""Where things stand in the memory of the native loop, in words of 64 bits.

A *slot* holds a value: a register of the bytecode is as many slots as its type has leaves, one
after the other. What a slot holds is told by its words:

==================  ================  ===================  ==================
what                address           reference            form
==================  ================  ===================  ==================
nothing             0                 0                    0
tensor on the host  of its data       its buffer           dtype and dims
storage             of its bytes      its buffer           0
shape value         0                 0                    dims, no dtype
scalar on the host  the bits          `SCALAR`             dtype, no dims
data or closure     of its cell       its cell             its maker
anything else       number of object  `OBJECT`             0
==================  ================  ===================  ==================

A *reference* to a buffer is its serial number and its place in the table of buffers; the entry
there says the same as long as the buffer lives, so a stale reference is known as one. A value of a
data type or a closure is a *cell*: its holds, its *maker* (what all such cells have in common), and
a slot for each leaf inside. The reference to a cell is a number below `CELLS` that its first word
repeats as long as it lives.

A *frame* is the words of `Frame`, then the slots of all registers. Frames lie one after the other.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

WORD: Final = 8
"""Bytes."""

SLOT: Final = 3
"""Words of a slot."""

OBJECT: Final = -1
SCALAR: Final = -2

CELLS: Final = -16
"""References to cells are this or less."""

INDEX_BITS: Final = 24
INDEX_MASK: Final = (1 << INDEX_BITS) - 1
"""The part of a reference that is the place in the table."""


class Slot(IntEnum):
    ADDRESS = 0
    REFERENCE = 1
    FORM = 2


class State(IntEnum):
    """What the loop and Python tell each other."""

    PC = 0
    """The address of the instruction that runs, or is left to Python."""

    FRAME = 1
    STACK_END = 2
    DEPTH = 3
    """Frames on the stack."""

    DEPTH_LIMIT = 4
    LOG = 5
    """Where the next word of the path goes."""

    LOG_END = 6
    CURRENT = 7
    """Bytes of the host in use."""

    PEAK = 8
    LAUNCHES = 9
    READS = 10
    """Scalars read, and their bytes in the next word."""

    READ_BYTES = 11
    SERIAL = 12
    """Of the next buffer."""

    BUFFERS = 13
    """The table."""

    UNUSED = 14
    """The first place in it that is free; 0: there is none."""

    HEADS = 15
    """The first free block of each size class."""

    BUMP = 16
    """What is left of the chunk that small blocks are cut from: begin and end."""

    BUMP_END = 17
    WANTED = 18
    """Bytes that could not be had; -1 if none were asked for."""

    CHECKED = 19
    """1: memory is poisoned before it is written, and only living buffers are read."""

    WORTH = 20
    """The work from which on a stage goes to the pool of threads."""

    POOL_RUN = 21
    POOL_STATE = 22
    SCRATCH = 23
    WORKSPACE = 24
    FIRST = 25
    """The first place in the table that is not a constant's, and the last that was ever taken."""

    LAST = 26
    ENTRY = 27
    """The gate of the function that is called (`Gate`), then the entry that was found."""

    STACK = 28
    LOG_BEGIN = 29
    ARRAY_TYPE = 30
    WRITES = 31
    """Tensors made of shapes, and their bytes in the next word."""

    WRITE_BYTES = 32
    RECORDS = 33
    """Of the trace, since the session began; rather too few than too many."""

    DELIVERED = 34
    """1: the results lie in the arrays that waited for them, and all memory was given back."""

    EXPECTED = 35
    """The address of how many tensors are waited for, and their forms; 0: none are. In the next
    word the tuple of arrays for them."""

    ARRAYS = 36
    NOTES = 37
    """Where the next plan is noted that was for certain contents; 0: none are. Then where the notes
    begin and end."""

    NOTES_BEGIN = 38
    NOTES_END = 39
    ROOM = 64
    """What is left of the memory for what sizes decide (`records`): begin and end."""

    ROOM_END = 65
    FORMS = 66
    """The tables of forms, plans, instances, and calls from outside."""

    PLANS = 67
    INSTANCES = 68
    ENTRIES = 69
    KINDS = 70
    """What is known of each dtype (`Kind`)."""

    NUMBERS = 71
    """Where programs of numbers are worked out."""

    SCRATCH_BYTES = 72
    """Bytes at `SCRATCH` for each thread, and at `WORKSPACE`."""

    WORKSPACE_BYTES = 73
    MADE = 74
    """Instances that the loop made."""

    LIMIT = 40
    """Bytes of the host that may be in use."""

    CELL_HEADS = 41
    """The first free cell of each size class."""

    CELL_BUMP = 42
    """What is left of the chunk that cells are cut from: begin and end."""

    CELL_BUMP_END = 43
    CELL_CHUNK = 44
    """The first of these chunks: begin and end. A run begins with it."""

    CELL_CHUNK_END = 45
    CELL_REFERENCE = 46
    """To the next cell."""

    CELL_WANTED = 47
    """Bytes of a cell for which there is no room; else 0."""

    WORDS = 80


class Frame(IntEnum):
    FUNCTION = 0
    CALLER = 1
    """Words back to the caller's frame; 0 in the first."""

    RETURN = 2
    """Where the caller goes on."""

    TARGET = 3
    """The caller's first slot for the result, in words from its frame; negative if the caller's
    slots are not those of the result, so that only Python can write it there."""

    INSTANCE = 4
    SLOTS = 5


class FunctionRecord(IntEnum):
    NUMBER = 0
    CODE = 1
    FRAME_WORDS = 2
    INSTANCE = 3
    """The only one, of a function without symbols; else 0."""

    WAYS = 4
    """The first of the calls that are remembered (`Way`)."""

    HIDDEN = 5
    """The address of how many symbols only values inside data types tell, then where to look for
    each (`Look`); 0: there are none, -1: only Python can tell them."""

    PARAMETERS = 6
    """Slots of the parameters."""

    BINDINGS = 7
    """The first way to tell the symbols from the dims of the arguments (`Binding`)."""

    TELLINGS = 8
    """The first way to tell what an instance holds from the symbols (`Telling`)."""

    SYMBOLS = 9
    """How many."""

    INSTANCE_WORDS = 10
    WORDS = 11


class Binding(IntEnum):
    """A program that tells symbols from the dims of arguments, and whether these fit."""

    NEXT = 0
    PROGRAM = 1
    SYMBOLS = 2
    """The address of the place of each symbol among the numbers."""

    PARAMETERS = 3
    """Kind and rank of what is in each slot; zeros for a cell."""


class Telling(IntEnum):
    """A program that tells the sizes and forms of an instance from its symbols."""

    NEXT = 0
    PROGRAM = 1
    CELLS = 2
    """The address of how many cells there are, then for each its place, kind, rank and dims."""

    WORDS = 3


class Casting(IntEnum):
    """A program that tells the symbols after a cast from those before and the dims of a value."""

    NEXT = 0
    PROGRAM = 1
    SYMBOLS = 2
    """The address of the place of each symbol among the numbers."""

    KIND = 3
    RANK = 4


class Way(IntEnum):
    """The instance that a function was called with for arguments of certain forms."""

    NEXT = 0
    INSTANCE = 1
    FORMS = 2
    """Of each slot of the parameters, 0 for a cell; then the sizes of hidden symbols."""


class Look(IntEnum):
    """Where a size may be found: in one of these spots, the first that has a tensor."""

    SLOTS = 0
    """How many slots there are, so that no other values are looked at."""

    COUNT = 1
    SPOTS = 2


class Spot(IntEnum):
    """A slot to look at."""

    PLACE = 0
    """In words from the frame or the cell."""

    AXIS = 1
    """Of a tensor."""

    INSIDE = 2
    """Of a data type: the address of one look for each constructor. Of a tensor 0."""

    WORDS = 3


class Instance(IntEnum):
    """What the symbols of a function decide; after these words the symbols, then the cells."""

    NEXT = 0
    FUNCTION = 1
    """With the symbols the key."""

    SYMBOLS = 2


class BufferEntry(IntEnum):
    REFERENCE = 0
    ADDRESS = 1
    """Of a free entry: the next free one."""

    NBYTES = 2
    CLASS = 3
    """The size class of its block, or `LENT`, `FOREIGN` or `CONSTANT`."""

    HOLDS = 4
    WORDS = 5


LENT: Final = -1
"""The class of a caller's memory, which is not the run's to give back."""

FOREIGN: Final = -2
"""The class of memory that Python allocated, and must give back."""

CONSTANT: Final = -3
"""The class of constants, which outlive all runs."""

CLASSES: Final = 512


class Cell(IntEnum):
    """A value of a data type, or a closure."""

    REFERENCE = 0
    HOLDS = 1
    """Of a free cell: the next one."""

    MAKER = 2
    MIXED = 3
    """1: somewhere inside is what only Python can give back."""

    SLOTS = 4


class Maker(IntEnum):
    """What cells have in common that one constructor, or one lambda, made of fields alike.

    It stands where tensors have their form, so its first words are those of a form, all 0.
    """

    TAG = 6
    """Which constructor; -1: a closure."""

    NUMBER = 7
    FUNCTION = 8
    """The record of a closure's function; else 0."""

    REST = 9
    """The number of the tree of the arguments that a closure has not got yet."""

    RESULT = 10
    """The number of the tree of what a closure returns."""

    SLOTS = 11
    """Of a cell."""

    CLASS = 12
    """The size class of a cell."""

    FIELDS = 13
    """How many."""

    PARTS = 14
    """For each field: where it begins, in words from the cell, and the number of its tree."""


class Form(IntEnum):
    NEXT = 0
    NBYTES = 1
    POISON = 2
    """Eight bytes to fill such a tensor with; 0 for none."""

    SCALAR = 3
    """The form of such a scalar once it was read; 0 for what is no scalar."""

    TRUTH = 4
    """1: a scalar that was read, of a dtype in which only zero bits are false."""

    KIND = 5
    """The number of the dtype, -1 for a shape value, or what a scalar that was read has. With rank
    and dims the key."""

    RANK = 6
    DIMS = 7


class Kind(IntEnum):
    """What is known of a dtype."""

    ITEMSIZE = 0
    POISON = 1
    WORDS = 2


class KernelRecord(IntEnum):
    FIRST = 0
    """The plan that was found last."""

    RECIPES = 1
    """The first way to make plans without Python."""

    WORDS = 2


class Recipe(IntEnum):
    """A way to make plans of a kernel: a program of numbers, and where they go."""

    NEXT = 0
    PROGRAM = 1
    """Its address; it is given the dims of all operands."""

    SCRATCH = 2
    """Where the bytes of scratch memory for each thread are among the numbers."""

    WORKSPACE = 3
    WORDS = 4
    """How many a plan has, with its stages and their blocks."""

    TEMPLATE = 5
    """The address of as many words: the plan, but for what follows."""

    NUMBERS = 6
    """The address of how many words are numbers, then for each its place, and the number's."""

    ADDRESSES = 7
    """The same for words that are addresses in the plan: its place, and what is to be added."""

    RESULTS = 8
    """The address of how many results there are, then for each kind, rank, and places of dims."""

    OPERANDS = 9
    """Kind and rank of each."""


class Plan(IntEnum):
    """How a kernel runs on operands of certain forms."""

    NEXT = 0
    EMPTY = 1
    """1: there is nothing to compute."""

    ADDRESSES = 2
    """How many of the operands' addresses the blocks hold."""

    STAGES = 3
    """How many."""

    FIRST = 4
    """The address of the first stage."""

    MAP = 5
    """The address of the operands' places, whose addresses the blocks hold."""

    ENTRY = 6
    """Of a plan with one stage that needs no memory of its own, no threads, and the operands in
    order: the words of that stage. Else 0."""

    BLOCK = 7
    LOW = 8
    HIGH = 9
    SITE = 10
    """From which of four places of the loop the entry is called."""

    CONTENTS = 11
    """The address of how many operands the plan is for the elements of, then for each its place,
    its bytes, and as many words as they fill; 0 for none."""

    KERNEL = 12
    """The address of its record; with the operands' forms the key."""

    FORMS = 13
    """Of the operands, then of the results."""


class Job(IntEnum):
    """A stage of a plan: the pool's words for a job, and the place of the workspace."""

    ENTRY = 0
    BLOCK = 1
    BLOCK_WORDS = 2
    LOW = 3
    HIGH = 4
    GRAIN = 5
    WORK = 6
    SCRATCH = 7
    SCRATCH_BYTES = 8
    SCRATCH_WORD = 9
    WORKSPACE_WORD = 10
    """0: it needs none."""

    FAULT_WORD = 11
    """0: it cannot fail."""

    WORDS = 12


class Memo(IntEnum):
    """What an operator on shapes made of operands of certain forms."""

    NEXT = 0
    FORM = 1
    DATA = 2
    """The address of the result's elements; 0 where they are not made from shapes."""

    OPERANDS = 3


class Gate(IntEnum):
    """What calls of a function from outside with plain arrays have in common."""

    ENTRIES = 0
    """The calls that were seen last (`Entry`)."""

    LISTED = 1
    """How many."""

    FUNCTION = 2
    COUNT = 3
    """Of arrays."""

    ARRAYS = 4
    """For each the address of its dtype object, then kind and rank of its form."""


class Entry(IntEnum):
    """A call from outside with arrays of certain forms."""

    NEXT = 0
    FOLLOWING = 1
    """The next in the gate's list."""

    INSTANCE = 2
    COUNT = 3
    FUNCTION = 4
    """With the forms the key."""

    FORMS = 5


class Handed(IntEnum):
    """Values of data types on their way into a run, or out of it.

    An item is three words, as in a slot. A tensor has its address, 0 on the way in and its
    reference on the way out, and its form. A value of a data type is an item with 1 on the way in
    and the cell's reference on the way out, and the maker; all items of its fields follow.
    """

    COUNT = 0
    """Items, on the way in those that are left; on the way out, how many there is room for."""

    TOP = 1
    ITEMS = 2


class Command(IntEnum):
    """What the machine code is called for."""

    RUN = 0
    RUN_LOGGED = 1
    START = 2
    """Begin a call with the arrays in a tuple, if one like it is remembered, and run."""

    START_LOGGED = 3
    FINISH = 4
    """Copy the results to the arrays in a tuple, and give back all that is left."""

    TAKE_IN = 5
    """Put values of data types into cells, as a `Handed` record lists them."""

    LIST_OUT = 6
    """List the result in a `Handed` record; returns how many items there are, or less than 0."""

    COPY_OUT = 7
    """Copy the listed tensors to the arrays in the tuple at `Handed.TOP`."""


class Left(IntEnum):
    """Why the loop came back to Python."""

    REFUSED = -1
    """No call with such arrays is remembered; nothing was begun."""

    RETURNED = 0
    """It is at its end: the result is in the last frame."""

    INSTRUCTION = 1
    """Python is to do the instruction at `State.PC`."""

    MEMORY = 2
    """`State.WANTED` bytes are to be had, then it can go on."""

    BUFFERS = 3
    """The table of buffers is full."""

    STACK = 4
    LOG = 5
    CELLS = 6
    """`State.CELL_WANTED` bytes are to be had for a cell."""
