"""Values that are given back with the last hold on them: data types, closures, shared memory.

The bytecode says when a hold is taken, handed over and given up (`bytecode.instructions`); here
holds are counted. A value of a data type or a closure counts its own. Of a buffer the run counts
those beyond the first, so that memory nobody shares costs nothing. A tuple has no count: its holds
are those of its items.
"""

from __future__ import annotations

from typing import Any

from reference_vm.devices.api import Buffer, Tensor
from reference_vm.runtime.frames import Run


class Data:
    """A value of a data type; in the native loop's memory it keeps its parts in another way."""

    __slots__ = ("data_type", "fields", "holds", "tag")

    def __init__(self, data_type: int, tag: int, fields: tuple[Any, ...]) -> None:
        self.data_type = data_type
        self.tag = tag
        """Which constructor made it."""

        self.fields = fields
        self.holds = 1

    @property
    def inside(self) -> tuple[Any, ...]:
        """The values whose holds it has."""
        return self.fields


class Closure:
    """A function that has its first arguments already, kept as data is."""

    __slots__ = ("captured", "function", "holds")

    def __init__(self, function: int, captured: tuple[Any, ...]) -> None:
        self.function = function
        self.captured = captured
        self.holds = 1

    @property
    def inside(self) -> tuple[Any, ...]:
        """The values whose holds it has."""
        return self.captured


def share(run: Run, value: Any) -> None:
    """Take one more hold on a value."""
    stack = [value]
    while stack:
        top = stack.pop()
        if isinstance(top, Tensor):
            run.share(top.buffer)
        elif isinstance(top, Data | Closure):
            top.holds += 1
        elif isinstance(top, tuple):
            stack.extend(top)


def release(run: Run, value: Any) -> None:
    """Give up a hold on a value, and with the last one those that it has itself."""
    stack = [value]
    while stack:
        top = stack.pop()
        if isinstance(top, Tensor):
            run.free(top.buffer)
        elif isinstance(top, Buffer):
            run.free(top)
        elif isinstance(top, tuple):
            stack.extend(reversed(top))
        elif isinstance(top, Data | Closure):
            top.holds -= 1
            if not top.holds:
                stack.extend(reversed(top.inside))


def taken_apart(run: Run, closure: Closure) -> tuple[Any, ...]:
    """Return what a closure captured, with a hold on each, for a hold on the closure."""
    closure.holds -= 1
    if closure.holds:
        for value in closure.captured:
            share(run, value)
    return closure.captured
