"""Copies between strided places of memory, as machine code.

A *copy* is a box of elements, with a distance along each axis in the source and in the target.
Axes that lie one after the other in both become one, so that most boxes are a row or two loops. A
source that stands still, with distances of 0, is repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

from reference_vm.targets.numba.assembly import Assembly, Value
from reference_vm.targets.numba.blocks import Words

Steps: TypeAlias = tuple[int, ...]

MAX_AXES: Final = 5

_ROOM: Final = 4
"""Address words come in so many at a time, so that code is shared."""


@final
@dataclass(frozen=True, slots=True)
class Copy:
    """One box; all numbers count elements."""

    source: int
    """Which address it is copied from; -1 for a constant."""

    target: int
    dims: Steps
    source_steps: Steps
    target_steps: Steps
    source_start: int = 0
    target_start: int = 0

    @property
    def size(self) -> int:
        found = 1
        for dim in self.dims:
            found *= dim
        return found

    def joined(self) -> Copy:
        """Return the same copy with as few axes as can be, at least one."""
        found = joined_axes(self.dims, self.source_steps, self.target_steps)
        dims, source, target = (tuple(a[i] for a in found) for i in range(3))
        begin = (self.source_start, self.target_start)
        return Copy(self.source, self.target, dims, source, target, *begin)


def joined_axes(dims: Steps, *steps: Steps) -> list[Steps]:
    """Return axes, each a size and its distances, with those that follow one another as one.

    Axes of one place go; there is one axis at least.
    """
    found: list[Steps] = []
    for axis in zip(dims, *steps, strict=True):
        if axis[0] == 1:
            continue
        if found and all(o == axis[0] * i for o, i in zip(found[-1][1:], axis[1:], strict=True)):
            found[-1] = (found[-1][0] * axis[0], *axis[1:])
        else:
            found.append(axis)
    return found or [(1,) * (1 + len(steps))]


@final
@dataclass(frozen=True, slots=True)
class CopyForm:
    """What is compiled for."""

    bytes: int
    """Of an element."""

    axes: int
    plain: bool
    """Whether elements of the last axis lie one after the other in both."""

    addresses: int

    def words(self) -> Words:
        steps = [f"{kind}{axis}" for axis in range(self.axes) for kind in ("dim", "from", "to")]
        return Words(self.addresses, ("source", "target", "constant", "start", "end", *steps))


def copy_form(copy: Copy, itemsize: int, addresses: int) -> CopyForm:
    """Return the form that a joined copy is compiled for."""
    plain = copy.source_steps[-1] == copy.target_steps[-1] == 1
    return CopyForm(itemsize, len(copy.dims), plain, -(-addresses // _ROOM) * _ROOM)


def copy_block(copy: Copy, form: CopyForm, constant: int) -> Any:
    """Return the argument block of a joined copy; ``constant`` is the address of a constant."""
    words = form.words()
    values = {
        "source": words.position("constant") if copy.source < 0 else copy.source,
        "target": copy.target,
        "constant": constant,
        "start": copy.source_start,
        "end": copy.target_start,
    }
    for axis in range(form.axes):
        values[f"dim{axis}"] = copy.dims[axis]
        values[f"from{axis}"] = copy.source_steps[axis]
        values[f"to{axis}"] = copy.target_steps[axis]
    return words.block(**values)


def print_copy(form: CopyForm) -> str:
    """Return the kernel; its range counts places along the first axis."""
    out = Assembly()
    kind = f"i{8 * form.bytes}"
    head = "define internal void @row(ptr noalias readonly %x, ptr noalias %y, i64 %n"
    with out.function(f"{head}, i64 %from, i64 %to) noinline nounwind"):

        def one(index: Value) -> None:
            source, target = index, index
            if not form.plain:
                source, target = out.mul(index, "%from"), out.mul(index, "%to")
            value = out.load(kind, out.at("%x", kind, source))
            out.store(kind, value, out.at("%y", kind, target))

        out.each("0", "%n", "1", one)
    with out.kernel():
        _print_loops(form, out, kind)
    return out.text


def _print_loops(form: CopyForm, out: Assembly, kind: str) -> None:
    words, last = form.words(), form.axes - 1
    read = {name: words.read(out, name) for name in words.names if name != "constant"}

    def address(name: str) -> Value:
        return out.load("ptr", out.at("%block", "i64", read[name]))

    x = out.at(address("source"), kind, read["start"])
    y = out.at(address("target"), kind, read["end"])

    def row(x: Value, y: Value, count: Value) -> None:
        steps = f"i64 {read[f'from{last}']}, i64 {read[f'to{last}']}"
        out.do(f"call void @row(ptr {x}, ptr {y}, i64 {count}, {steps})")

    def moved(pointer: Value, index: Value, step: str) -> Value:
        return out.at(pointer, kind, out.mul(index, read[step]))

    def nested(axis: int, x: Value, y: Value) -> None:
        if axis == last:
            row(x, y, read[f"dim{axis}"])
            return
        low, high = ("%low", "%high") if axis == 0 else ("0", read[f"dim{axis}"])
        out.each(
            low,
            high,
            "1",
            lambda i: nested(axis + 1, moved(x, i, f"from{axis}"), moved(y, i, f"to{axis}")),
        )

    if last:
        nested(0, x, y)
    else:
        row(moved(x, "%low", "from0"), moved(y, "%low", "to0"), out.sub("%high", "%low"))


def strides(dims: Sequence[int]) -> Steps:
    """Return the distances of a tensor that lies in order, in elements."""
    found: list[int] = []
    step = 1
    for dim in reversed(dims):
        found.append(step)
        step *= dim
    return tuple(reversed(found))


__all__ = [
    "MAX_AXES",
    "Copy",
    "CopyForm",
    "copy_block",
    "copy_form",
    "joined_axes",
    "print_copy",
    "strides",
]
