"""Recursion without the interpreter's stack: nested calls of generators, kept in a list.

A recursive function becomes a generator that yields the calls it makes and is sent their results::

    def depth(tree: Tree) -> Steps[int]:
        inner: int = yield depth(tree.left)
        return inner + 1

    run(depth(tree))

It reads like the recursive function, and a program nested a thousand deep needs no more of
Python's stack than a flat one.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

Steps: TypeAlias = Generator[Any, Any, T]
"""A function that yields other `Steps` to call them, and returns a ``T``."""


def run(steps: Steps[T]) -> T:
    """Return what ``steps`` returns. An exception in a nested call ends the whole run."""
    stack: list[Steps[Any]] = [steps]
    value: Any = None
    while stack:
        try:
            called = stack[-1].send(value)
        except StopIteration as stop:
            stack.pop()
            value = stop.value
        else:
            stack.append(called)
            value = None
    result: T = value
    return result
