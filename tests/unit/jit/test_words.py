"""Functions over words do the same as machine code and as Python."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable
from enum import IntEnum

import numpy as np
import pytest

from reference_vm.jit import words
from reference_vm.jit.machine import Machine
from reference_vm.jit.object_cache import ObjectCache
from reference_vm.jit.words import (
    leading_zeros,
    load,
    load_byte,
    load_int,
    move,
    store,
    store_byte,
)

MACHINE = Machine(ObjectCache(None))
EDGE = 5


class Kind(IntEnum):
    ADD = 0
    TAKE = 1
    OTHER = 2


def arithmetic(p: int, n: int) -> int:
    a = load(p, 0)
    b = 3
    b += a * 7 - n
    b -= (a & 12) | (n ^ 5)
    return (b << 2) + (b >> 1) + (a // 3 if a > 0 else -a) + ~n


def loops(p: int, n: int) -> int:
    found = 0
    for i in range(n):
        if i == 2:
            continue
        if load(p, i) > 90:
            break
        found += load(p, i)
    for i in range(1, 3):
        found += i
    while found > 100:
        found -= 7
    return found


def conditions(p: int, n: int) -> int:
    a = load(p, 0)
    found = 0
    if a > 50 and n > 2 and not (a == 60 or a == 61):
        found |= 1
    if a < 10 or n == 4 or load(p, 1) >= 50:
        found |= 2
    elif a != EDGE:
        found |= 4
    else:
        found |= 8
    found += (a <= n) * 16
    return found if found else -1


def remainder(p: int, n: int) -> int:
    return load(p, 0) % n


def helper(p: int, n: int) -> int:
    """Look at memory in other ways."""
    store(p, 2, n)
    store_byte(p + 25, n)
    move(p + 32, p, 8)
    return load_byte(p + 25) + load_int(p + 16) + leading_zeros(n + 1) + load(p, 4)


def choosing(p: int, n: int) -> int:
    match n & 3:
        case Kind.ADD:
            found = load(p, 0) + load(p, 1)
        case Kind.TAKE | Kind.OTHER:
            found = load(p, 0) - load(p, 1)
        case _:
            return helper(p, n)
    return found


def compiled(*functions: words.Function) -> Callable[[int, int], int]:
    address = MACHINE.address(words.source(functions), lambda: words.print_module(functions))
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(address)


@pytest.mark.parametrize(
    "functions",
    [(arithmetic,), (loops,), (conditions,), (helper,), (helper, choosing)],
    ids=lambda f: f[-1].__name__,
)
def test_machine_code_does_what_python_does(functions: tuple[words.Function, ...]) -> None:
    native, rng = compiled(*functions), random.Random(1)
    for _ in range(200):
        memory = np.array([rng.randrange(100) for _ in range(8)], dtype=np.int64)
        other = memory.copy()
        n = rng.randrange(8)
        assert native(memory.ctypes.data, n) == functions[-1](other.ctypes.data, n)
        np.testing.assert_array_equal(memory, other)


def test_what_the_language_has_not_is_refused_with_its_text() -> None:
    with pytest.raises(
        SyntaxError, match=r"remainder: the language of words has no 'load\(p, 0\) % n'"
    ):
        words.print_module((remainder,))


def test_code_is_known_by_its_constants_too(monkeypatch: pytest.MonkeyPatch) -> None:
    before = words.source((conditions,))
    monkeypatch.setitem(conditions.__globals__, "EDGE", 6)

    assert words.source((conditions,)) != before
