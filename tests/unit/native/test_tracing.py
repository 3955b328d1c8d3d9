"""Programs that numbers leave: they do the same for other numbers, or find that they do not."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable

import pytest

from reference_vm.runtime.native.heap import Heap, read
from reference_vm.runtime.native.layout import WORD
from reference_vm.runtime.native.programs import evaluate
from reference_vm.runtime.native.records import MOST
from reference_vm.runtime.native.tracing import Number, Recording, Untraceable, given

Function = Callable[[Number, Number, Number], Number]


def blocks(a: Number, b: Number, c: Number) -> Number:
    """Divide as kernels do."""
    if a == 1 or b < 2:
        return a * b + c
    parts = -(-a // b)
    return max(parts, c) * b - a % b if parts > 1 else min(a, c)


def chosen(a: Number, b: Number, c: Number) -> Number:
    """Choose by comparing in all ways."""
    total = 0 * a + 3
    for left, right in ((a, b), (b, c), (c, a)):
        total = total + (5 if left <= right else 7) * left
        total = total - (right if left != right else 2 * left)
    return abs(total - 40) >> 1


def by_value(a: Number, b: Number, c: Number) -> Number:
    """Use numbers where only ints do."""
    return sum(range(a)) + {b: 1}.get(2, 0) + c


def run(
    heap: Heap, function: Function, traced: tuple[int, ...], numbers: tuple[int, ...]
) -> object:
    """Trace a function on some numbers; return what its program makes of others, or ``None``."""
    recording = Recording()
    place = recording.place(function(*given(recording, traced)))
    program = heap.put(recording.words())
    values = (ctypes.c_int64 * (recording.numbers + 1))(*numbers)
    if not evaluate(program, ctypes.addressof(values), len(numbers)):
        return None
    return read(ctypes.addressof(values) + place * WORD, 1)[0]


@pytest.mark.parametrize("function", [blocks, chosen, by_value])
def test_a_program_does_what_the_code_does_or_nothing(function: Function) -> None:
    rng, heap, done = random.Random(3), Heap(), 0
    for _ in range(400):
        first, other = ([rng.randrange(1, 9) for _ in range(3)] for _ in range(2))
        found = run(heap, function, tuple(first), tuple(other))
        assert found in (None, function(*other))
        assert run(heap, function, tuple(first), tuple(first)) == function(*first)
        done += found is not None
    assert done > 5


def test_numbers_that_grow_too_large_are_for_python() -> None:
    heap = Heap()
    assert run(heap, lambda a, b, c: a * b * c, (2, 3, 4), (1 << 31, 1 << 31, 1)) is None
    assert run(heap, lambda a, b, c: a * b + c, (2, 3, 4), (1 << 31, 1 << 30, 1)) == (1 << 61) + 1
    assert run(heap, lambda a, b, c: a + b + c, (2, 3, 4), (MOST - 1, 1, 0)) is None
    assert run(heap, lambda a, b, c: a - b - c, (2, 3, 4), (MOST, 1, 0)) is None


def test_what_divides_by_nothing_is_for_python() -> None:
    assert run(Heap(), lambda a, b, c: a // b + c % b, (7, 2, 3), (7, 0, 3)) is None


def test_code_that_asks_what_a_number_is_cannot_be_traced() -> None:
    with pytest.raises(Untraceable):
        run(Heap(), lambda a, b, c: a.terms, (1, 2, 3), (1, 2, 3))  # type: ignore[union-attr]
