"""Instances of functions, in the language of words: what their symbols decide.

The symbols are told from the dims of the arguments (`layout.Binding`), and what an instance holds
from the symbols (`layout.Telling`), by programs that Python left when it did the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_vm.jit.words import load, store
from reference_vm.runtime.native.layout import (
    WORD,
    Binding,
    Casting,
    Form,
    FunctionRecord,
    Instance,
    State,
    Telling,
)
from reference_vm.runtime.native.programs import MOST_NUMBERS, evaluate, numbered_form
from reference_vm.runtime.native.records import find, link, take
from reference_vm.runtime.native.told import SIZE


def fill_cells(state: int, instance: int, cells: int) -> int:
    """Fill the cells of an instance from numbers; return 0 if Python must."""
    numbers = load(state, State.NUMBERS)
    at = cells + WORD
    for _ in range(load(cells, 0)):
        kind = load(at, 1)
        rank = load(at, 2)
        if kind == SIZE:
            word = load(numbers, load(at, 3))
            if word < 0:
                return 0
        else:
            word = numbered_form(state, kind, rank, at + 3 * WORD)
            if word == 0:
                return 0
        store(instance, load(at, 0), word)
        at += (3 + rank) * WORD
    return 1


def tell(state: int, function: int) -> int:
    """Return a new instance of a function, whose symbols stand first among the numbers; or 0."""
    numbers = load(state, State.NUMBERS)
    symbols = load(function, FunctionRecord.SYMBOLS)
    telling = load(function, FunctionRecord.TELLINGS)
    while telling != 0 and evaluate(load(telling, Telling.PROGRAM), numbers, symbols) == 0:
        telling = load(telling, Telling.NEXT)
    if telling == 0:
        return 0
    words = load(function, FunctionRecord.INSTANCE_WORDS)
    instance = take(state, words)
    if instance == 0:
        return 0
    for i in range(words):
        store(instance, i, 0)
    store(instance, Instance.FUNCTION, function)
    for i in range(symbols):
        store(instance, Instance.SYMBOLS + i, load(numbers, i))
    if fill_cells(state, instance, load(telling, Telling.CELLS)) == 0:
        return 0
    link(load(state, State.INSTANCES), instance, 1 + symbols, Instance.FUNCTION)
    store(state, State.MADE, load(state, State.MADE) + 1)
    return instance


def instance_of(state: int, key: int) -> int:
    """Return the instance for a function and its symbols, at ``key``; 0 if Python must make it."""
    numbers = load(state, State.NUMBERS)
    function = load(key, 0)
    count = load(function, FunctionRecord.SYMBOLS)
    found = find(load(state, State.INSTANCES), key, 1 + count, Instance.FUNCTION)
    if found != 0:
        return found
    for i in range(count):
        store(numbers, i, load(key, 1 + i))
    return tell(state, function)


def bind_by(state: int, binding: int, function: int, forms: int) -> int:
    """Return the instance for arguments of the forms in a list; 0 if a binding tells none."""
    numbers = load(state, State.NUMBERS)
    given = 0
    for i in range(load(function, FunctionRecord.PARAMETERS)):
        form = load(forms, i)
        kind = load(form, Form.KIND) if form != 0 else 0
        rank = load(form, Form.RANK) if form != 0 else 0
        if kind != load(binding, Binding.PARAMETERS + 2 * i):
            return 0
        if rank != load(binding, Binding.PARAMETERS + 2 * i + 1):
            return 0
        for axis in range(rank):
            store(numbers, given, load(form, Form.DIMS + axis))
            given += 1
    if evaluate(load(binding, Binding.PROGRAM), numbers, given) == 0:
        return 0
    key = numbers + MOST_NUMBERS * WORD
    store(key, 0, function)
    for i in range(load(function, FunctionRecord.SYMBOLS)):
        store(key, 1 + i, load(numbers, load(load(binding, Binding.SYMBOLS), i)))
    return instance_of(state, key)


def cast(state: int, instance: int, casting: int, form: int) -> int:
    """Return the instance after a cast of a value of some form, by one of a list of castings.

    Return 0 if none tells it.
    """
    numbers = load(state, State.NUMBERS)
    function = load(instance, Instance.FUNCTION)
    symbols = load(function, FunctionRecord.SYMBOLS)
    rank = load(form, Form.RANK)
    while casting != 0:
        if load(form, Form.KIND) == load(casting, Casting.KIND) and rank == load(
            casting, Casting.RANK
        ):
            for i in range(symbols):
                store(numbers, i, load(instance, Instance.SYMBOLS + i))
            for axis in range(rank):
                store(numbers, symbols + axis, load(form, Form.DIMS + axis))
            if evaluate(load(casting, Casting.PROGRAM), numbers, symbols + rank) != 0:
                key = numbers + MOST_NUMBERS * WORD
                store(key, 0, function)
                for i in range(symbols):
                    store(key, 1 + i, load(numbers, load(load(casting, Casting.SYMBOLS), i)))
                return instance_of(state, key)
        casting = load(casting, Casting.NEXT)
    return 0


def bind(state: int, function: int, forms: int) -> int:
    """Return the instance of a function for arguments of the forms in a list; 0: Python must.

    A form of 0 stands for a cell.
    """
    binding = load(function, FunctionRecord.BINDINGS)
    while binding != 0:
        instance = bind_by(state, binding, function, forms)
        if instance != 0:
            return instance
        binding = load(binding, Binding.NEXT)
    return 0


FUNCTIONS: Final[tuple[Callable[..., int], ...]] = (
    fill_cells,
    tell,
    instance_of,
    bind_by,
    cast,
    bind,
)
"""In the order of their use."""
