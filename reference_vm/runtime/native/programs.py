"""Programs of numbers, made by `tracing`, in the language of words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_vm.jit.words import load, store
from reference_vm.runtime.native.layout import WORD, State
from reference_vm.runtime.native.records import MOST, form_of
from reference_vm.runtime.native.tracing import STEP_WORDS, Do

MOST_NUMBERS: Final = 1 << 12
"""Numbers of a program; behind them there is room for a key, then for a list of forms."""

LIST: Final = MOST_NUMBERS + 128
MOST_WORDS: Final = 120
"""Of a key, or of such a list."""

_HALF: Final = 1 << 31


def product(left: int, right: int) -> int:
    """Return a product, or `MOST` if it is no smaller than that."""
    one = left if left >= 0 else -left
    other = right if right >= 0 else -right
    if (one >= _HALF or other >= _HALF) and other != 0 and one > (MOST - 1) // other:
        return MOST
    return left * right


def quotient(left: int, right: int) -> int:
    """Return a number divided by a positive one, rounded down."""
    return left // right if left >= 0 else -((right - 1 - left) // right)


def made_by(do: int, left: int, right: int) -> int:
    """Return the number that a step makes, or `MOST` if there is none."""
    match do:
        case Do.ADD:
            return left + right
        case Do.SUBTRACT:
            return left - right
        case Do.MULTIPLY:
            return product(left, right)
        case Do.FLOOR_DIVIDE:
            return quotient(left, right) if right > 0 else MOST
        case _:
            return left - quotient(left, right) * right if right > 0 else MOST


def holds(do: int, left: int, right: int) -> int:
    """Whether what a step checks is so."""
    match do:
        case Do.EQUAL:
            return left == right
        case Do.UNEQUAL:
            return left != right
        case Do.LESS:
            return left < right
        case _:
            return left >= right


def evaluate(program: int, values: int, given: int) -> int:
    """Put the numbers that a program makes behind those given at ``values``.

    Return 0 if it is not for these, or if a number is too large.
    """
    for i in range(given):
        if load(values, i) >= MOST or load(values, i) <= -MOST:
            return 0
    target = values + given * WORD
    at = program + WORD
    for _ in range(load(program, 0)):
        do = load(at, 0)
        made = load(at, 1)
        if do >= Do.EQUAL:
            if holds(do, load(values, made), load(values, load(at, 2))) == 0:
                return 0
        else:
            if do != Do.CONSTANT:
                made = made_by(do, load(values, made), load(values, load(at, 2)))
            if made >= MOST or made <= -MOST:
                return 0
            store(target, 0, made)
            target += WORD
        at += STEP_WORDS * WORD
    return 1


def numbered_form(state: int, kind: int, rank: int, places: int) -> int:
    """Return the form whose dims are the numbers at these places; 0 if Python must make it."""
    numbers = load(state, State.NUMBERS)
    key = numbers + MOST_NUMBERS * WORD
    store(key, 0, kind)
    store(key, 1, rank)
    for axis in range(rank):
        store(key, 2 + axis, load(numbers, load(places, axis)))
    return form_of(state, key)


FUNCTIONS: Final[tuple[Callable[..., int], ...]] = (
    product,
    quotient,
    made_by,
    holds,
    evaluate,
    numbered_form,
)
"""In the order of their use."""
