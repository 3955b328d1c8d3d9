"""The loop nest of one kernel: loops over a domain, and code for its element.

The axes of the domain are those of the widest value that the kernel computes. Without folds every
result has an element at each place. With folds the last ``row_axes`` axes make up a *row*: code
that depends on them runs for each element of the row, once per fold that must come first; the rest
runs once a row. So softmax and layer norm are one nest::

    top = fold max x;  e = exp(x - top);  total = fold add e;  store e / total

Sizes are not part of a nest: one kernel serves all shapes of its ranks.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from typing import TypeAlias, final

from reference_vm.loops.code import Detail, Instruction
from reference_vm.types.dtype import DType

View: TypeAlias = tuple["int | None", ...]
"""For each axis of a tensor the axis of the domain that runs along it; ``None``: its element 0."""


class Inner(Enum):
    """How an access moves along the innermost loop; decided when the kernel is compiled."""

    UNIT = auto()
    """From each element to the next in memory."""

    ZERO = auto()
    """It stays where it is."""

    STRIDED = auto()
    """By a distance known at run time."""


@final
@dataclass(frozen=True, slots=True)
class Access:
    """How the function's parameter number ``input`` is read; an input of the kernel by itself."""

    input: int
    view: View
    dtype: DType
    inner: Inner


@final
@dataclass(frozen=True, slots=True)
class Store:
    """Result number ``output``: the value of an instruction, at each place of its view."""

    output: int
    view: View
    value: int
    dtype: DType
    inner: Inner
    """`Inner.ZERO` for a result with one element a row."""


@final
@dataclass(frozen=True)
class Nest:
    """A kernel."""

    rank: int
    """Axes of the domain."""

    row_axes: int
    """How many of the last axes are folded; 0 when nothing is."""

    accesses: tuple[Access, ...]
    code: tuple[Instruction, ...]
    stores: tuple[Store, ...]

    @property
    def sources(self) -> tuple[int, ...]:
        """The function's parameter that each input of the kernel is; some may be twice."""
        return tuple(a.input for a in self.accesses)

    @property
    def outer_axes(self) -> int:
        """How many loops are around the innermost one, which runs over the last axis or the row."""
        return self.rank - self.row_axes if self.row_axes else max(0, self.rank - 1)

    @cached_property
    def form(self) -> str:
        """All that makes up the nest, in a line; equal for equal nests, in every process."""
        accesses = [(a.input, a.view, a.dtype.name, a.inner.name) for a in self.accesses]
        code = [(c.op, c.args, c.dtype.name, _exactly(c.detail)) for c in self.code]
        stores = [(s.output, s.view, s.value, s.dtype.name, s.inner.name) for s in self.stores]
        return repr((self.rank, self.row_axes, accesses, code, stores))

    @cached_property
    def per_element(self) -> tuple[bool, ...]:
        """For each instruction, whether it depends on the place in the row."""
        found: list[bool] = []
        for instruction in self.code:
            if instruction.op == "load":
                assert isinstance(instruction.detail, int)
                found.append(self.accesses[instruction.detail].inner is not Inner.ZERO)
            else:
                found.append(instruction.op != "fold" and any(found[a] for a in instruction.args))
        return tuple(found)

    @cached_property
    def phases(self) -> tuple[int, ...]:
        """For each instruction, how many loops over the row are done before it can be computed."""
        found: list[int] = []
        for instruction in self.code:
            phase = max((found[a] for a in instruction.args), default=0)
            found.append(phase + 1 if instruction.op == "fold" else phase)
        return tuple(found)


def _exactly(detail: Detail) -> Detail | tuple[str]:
    """Return what tells every two numbers apart when written, NaNs and zeros by sign included."""
    return (struct.pack("<d", detail).hex(),) if isinstance(detail, float) else detail
