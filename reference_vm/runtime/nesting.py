"""Values within values, without recursion: a list may be a hundred thousand pairs deep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar, Union, final

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True)
class Leaf:
    """What a value becomes that has none inside."""

    value: Any


@final
@dataclass(frozen=True, slots=True)
class Inner(Generic[T]):
    """The values inside another, and how the whole is made of what these become."""

    items: Sequence[T]
    make: Callable[[tuple[Any, ...]], Any]


Look: TypeAlias = Callable[[T], Union[Leaf, Inner[T]]]


def rebuilt(root: T, look: Look[T]) -> Any:
    """Return what ``root`` becomes; ``look`` is asked of every value, from left to right."""
    open_: list[tuple[Inner[T], list[Any]]] = []
    found = look(root)
    while True:
        if isinstance(found, Inner):
            open_.append((found, []))
        elif not open_:
            return found.value
        else:
            open_[-1][1].append(found.value)
        while len(open_[-1][1]) == len(open_[-1][0].items):
            inner, made = open_.pop()
            whole = inner.make(tuple(made))
            if not open_:
                return whole
            open_[-1][1].append(whole)
        inner, made = open_[-1]
        found = look(inner.items[len(made)])
