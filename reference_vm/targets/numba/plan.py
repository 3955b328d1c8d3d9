"""The argument block of one kernel for arrays of given shapes and strides.

Loops that run over adjacent memory become one, so that the innermost loop is as long as it can be:
two contiguous operands of shape ``[8, 128, 384]`` are one loop of 393,216 rounds. What a kernel
was not compiled for (an operand that is broadcast or strided where the kernel steps from element to
element) is copied first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np

from reference_vm.loops.layout import layout
from reference_vm.loops.nest import Inner, Nest, View
from reference_vm.loops.schedule import vector_schedule
from reference_vm.ops.definition import DataError
from reference_vm.targets.numba.blocks import argument_block
from reference_vm.types.arrays import to_numpy

Array: TypeAlias = Any
Block: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
Lengths: TypeAlias = "tuple[int, ...]"


@final
@dataclass(frozen=True, slots=True)
class Spread:
    """How an input is copied so that the kernel can read it: an axis for each of the domain's."""

    input: int
    view: View
    shape: Lengths

    def of(self, x: Array) -> Array:
        """Return the copy."""
        kept = [(axis, place) for place, axis in enumerate(self.view) if axis is not None]
        order = [place for _, place in sorted(kept)]
        dropped = [place for place, axis in enumerate(self.view) if axis is None]
        turned = np.transpose(x, (*order, *dropped))
        sizes = {axis: x.shape[place] for axis, place in kept}
        wide = turned.reshape([sizes.get(axis, 1) for axis in range(len(self.shape))])
        return np.ascontiguousarray(np.broadcast_to(wide, self.shape))


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """How to run a kernel on operands of one form."""

    block: Block
    """Filled in but for the addresses."""

    low_high: tuple[int, int]
    """All of the work."""

    shapes: tuple[Lengths, ...]
    """Of the results."""

    elements: int
    """Places of the domain, a measure of the work."""

    scratch: int = 0
    """Bytes of the scratch rows, whose address the block has yet to get."""

    copies: tuple[Spread, ...] = ()
    """Inputs to copy first."""


@final
@dataclass(frozen=True, slots=True)
class _Move:
    """One access or store: bytes per step along each axis of the domain."""

    inner: Inner
    itemsize: int
    steps: Lengths


@final
@dataclass(frozen=True, slots=True)
class _Form:
    """The form of an array that lies in order, without the array."""

    shape: Lengths
    dtype: Any

    @property
    def strides(self) -> Lengths:
        return _contiguous(self.shape, self.dtype.itemsize)


def contiguous_plan(nest: Nest, shapes: Sequence[Lengths]) -> Plan:
    """Return the plan for operands of these dims that lie in order.

    Raises:
        DataError: The dims do not fit one another.
    """
    dtypes = (to_numpy(access.dtype) for access in nest.accesses)
    return make_plan(nest, [_Form(s, d) for s, d in zip(shapes, dtypes, strict=True)])


def make_plan(nest: Nest, inputs: Sequence[Array]) -> Plan:
    """Return the plan for operands of these shapes and strides.

    Raises:
        DataError: The operands' shapes do not fit one another.
    """
    _check_dtypes(nest, inputs)
    sizes = domain_sizes(nest, [x.shape for x in inputs])
    shapes = tuple(
        tuple(1 if axis is None else sizes[axis] for axis in store.view) for store in nest.stores
    )
    copies: list[Spread] = []
    moves: list[_Move] = []
    for i, (access, x) in enumerate(zip(nest.accesses, inputs, strict=True)):
        itemsize = x.dtype.itemsize
        steps = _steps(x.shape, x.strides, access.view, sizes)
        as_it_lies = isinstance(x, np.ndarray | _Form)
        if not as_it_lies or not _fits(nest, access.inner, steps, sizes, itemsize):
            shape = _spread_shape(nest, access.view, sizes)
            copies.append(Spread(i, access.view, shape))
            every = tuple(range(nest.rank))
            steps = _steps(shape, _contiguous(shape, itemsize), every, sizes)
        moves.append(_Move(access.inner, itemsize, steps))
    for store, shape in zip(nest.stores, shapes, strict=True):
        itemsize = to_numpy(store.dtype).itemsize
        steps = _steps(shape, _contiguous(shape, itemsize), store.view, sizes)
        moves.append(_Move(store.inner, itemsize, steps))
    block, low_high = _fill(nest, sizes, moves)
    place, rows = layout(nest), len(vector_schedule(nest).scratch)
    scratch = 8 * rows * block[place.rounds + place.loops - 1] if rows else 0
    return Plan(argument_block(block), low_high, shapes, math.prod(sizes), scratch, tuple(copies))


def _check_dtypes(nest: Nest, inputs: Sequence[Array]) -> None:
    for access, x in zip(nest.accesses, inputs, strict=True):
        expected = to_numpy(access.dtype)
        assert x.dtype == expected, f"input {access.input} is {x.dtype}, expected {expected}"


def domain_sizes(nest: Nest, shapes: Sequence[Lengths]) -> Lengths:
    """Return the sizes of the domain's axes, by broadcasting the operands."""
    sizes = [1] * nest.rank
    for access, shape in zip(nest.accesses, shapes, strict=True):
        for size, axis in zip(shape, access.view, strict=True):
            if axis is None or size == 1 or size == sizes[axis]:
                continue
            if sizes[axis] != 1:
                raise DataError(
                    "shape-mismatch",
                    f"operands of sizes {sizes[axis]} and {size} along one axis do not broadcast",
                )
            sizes[axis] = size
    return tuple(sizes)


def _contiguous(shape: Lengths, itemsize: int) -> Lengths:
    steps: list[int] = []
    for size in reversed(shape):
        steps.append(itemsize)
        itemsize *= size
    return tuple(reversed(steps))


def _steps(shape: Lengths, strides: Lengths, view: View, sizes: Lengths) -> Lengths:
    """Return bytes per step along each axis of the domain; 0 where the tensor is broadcast."""
    steps = [0] * len(sizes)
    for size, stride, axis in zip(shape, strides, view, strict=True):
        if axis is not None and size != 1:
            steps[axis] = stride
    return tuple(steps)


def _spread_shape(nest: Nest, view: View, sizes: Lengths) -> Lengths:
    """Return the shape of an input spread over the innermost loop, if it runs along it at all."""
    inside = _inner_axes(nest)
    whole = any(axis in inside for axis in view if axis is not None)
    return tuple(
        size if axis in view or (whole and axis in inside) else 1 for axis, size in enumerate(sizes)
    )


def _inner_axes(nest: Nest) -> range:
    return range(nest.outer_axes, nest.rank)


def _fits(nest: Nest, inner: Inner, steps: Lengths, sizes: Lengths, itemsize: int) -> bool:
    """Whether a tensor can be read as the innermost loop reads it."""
    if inner is Inner.ZERO or (inner is Inner.STRIDED and nest.row_axes <= 1):
        return True
    expected = itemsize if inner is Inner.UNIT else _row_step(nest, steps, sizes)
    for axis in reversed(_inner_axes(nest)):
        if sizes[axis] != 1 and steps[axis] != expected:
            return False
        expected *= sizes[axis]
    return True


def _row_step(nest: Nest, steps: Lengths, sizes: Lengths) -> int:
    """Return the bytes per step along a row: those of its last axis that has several places."""
    return next((steps[a] for a in reversed(_inner_axes(nest)) if sizes[a] != 1), 0)


def _fill(nest: Nest, sizes: Lengths, moves: Sequence[_Move]) -> tuple[list[int], tuple[int, int]]:
    """Return the words of the block, and all of the work."""
    place = layout(nest)
    loops = _inner_loop(nest, sizes, moves)
    outer = [(sizes[a], [m.steps[a] for m in moves]) for a in range(nest.outer_axes)]
    flat = not nest.row_axes
    for size, steps in reversed(outer):
        if size == 1:
            continue
        rounds, distances = loops[0]
        mergeable = len(loops) > 1 or not nest.row_axes
        joined = all(s == d * rounds for s, d in zip(steps, distances, strict=True))
        if mergeable and (joined or (rounds == 1 and _classes_hold(moves, steps, loops))):
            merged = distances if joined else steps
            loops[0] = (size * rounds, merged)
        else:
            loops.insert(0, (size, steps))
    flat = flat and len(loops) == 1
    first = loops[0][0] if len(loops) > 1 else 1
    low_high = (0, loops[0][0] if flat else first)
    padded = [*loops[:1], *[(1, [0] * len(moves))] * (place.loops - len(loops)), *loops[1:]]
    if len(loops) == 1:
        padded.reverse()
    block = [0] * place.words
    block[place.flat] = int(flat)
    for loop, (rounds, distances) in enumerate(padded):
        block[place.rounds + loop] = rounds
        for move, distance in enumerate(distances):
            block[place.distance(move, loop)] = distance
    return block, low_high


def _inner_loop(nest: Nest, sizes: Lengths, moves: Sequence[_Move]) -> list[tuple[int, list[int]]]:
    """Return the innermost loop alone: its rounds and each move's distance."""
    rounds = 1
    for axis in _inner_axes(nest):
        rounds *= sizes[axis]
    distances: list[int] = []
    for move in moves:
        match move.inner:
            case Inner.ZERO:
                distances.append(0)
            case Inner.UNIT:
                distances.append(move.itemsize)
            case Inner.STRIDED:
                row = nest.row_axes > 1
                distances.append(_row_step(nest, move.steps, sizes) if row else move.steps[-1])
    return [(rounds, distances)]


def _classes_hold(
    moves: Sequence[_Move], steps: Sequence[int], loops: Sequence[tuple[int, list[int]]]
) -> bool:
    """Whether an outer loop can take the place of an innermost one that runs once."""
    if len(loops) > 1:
        return False
    return all(
        m.inner is Inner.STRIDED or s == (m.itemsize if m.inner is Inner.UNIT else 0)
        for m, s in zip(moves, steps, strict=True)
    )
