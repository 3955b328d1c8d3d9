"""Values are arrays in nested tuples; one of a data type begins with its constructor's name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hettest.backend.protocol import Value


def leaves(value: Any) -> Iterator[Any]:
    """Yield the arrays in nested tuples, in order; the names of constructors are passed over."""
    stack = [value]
    while stack:
        top = stack.pop()
        if isinstance(top, tuple):
            stack.extend(reversed(top))
        elif not isinstance(top, str):
            yield top


def rebuilt(value: Any, arrays: Iterator[Any]) -> Any:
    """Return ``value`` with the next of ``arrays`` in place of each array, names as they are."""
    made: list[Any] = []
    open_ = [(iter((value,)), made)]
    while open_:
        items, made = open_[-1]
        for item in items:
            if isinstance(item, tuple):
                open_.append((iter(item), []))
                break
            made.append(item if isinstance(item, str) else next(arrays))
        else:
            open_.pop()
            if open_:
                open_[-1][1].append(tuple(made))
    return made[0]


def copied(args: Sequence[Value]) -> tuple[Value, ...]:
    """Return fresh arrays, so that an implementation that writes to them changes no one else's."""
    return tuple(rebuilt(arg, (array.copy() for array in leaves(arg))) for arg in args)
