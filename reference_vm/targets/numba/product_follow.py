"""What follows on a block of a product's rows: the loop nest's argument block and places.

The nest sees a block as its whole domain: its first loop runs over the rows of the block, the
others stand still, the innermost runs along the columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from reference_vm.bytecode.kernel import Dims
from reference_vm.loops.layout import layout
from reference_vm.loops.nest import Inner, Nest, View
from reference_vm.loops.schedule import vector_schedule
from reference_vm.targets.numba.product_grid import Grid, Place, Steps, in_order
from reference_vm.targets.numba.product_words import PRODUCT
from reference_vm.types.arrays import to_numpy

_SUMS = -1
"""Stands for the word of a product's sums."""


@final
@dataclass(frozen=True, slots=True)
class Move:
    """An access or a store: the word of its address, and its steps along the domain."""

    word: int
    steps: Steps
    inner: Inner
    itemsize: int


@final
@dataclass(frozen=True, slots=True)
class Follow:
    """A nest on operands of certain dims."""

    nest: Nest
    moves: tuple[Move, ...]
    full: Dims
    shapes: tuple[Dims, ...]
    """Of the results."""

    @property
    def work(self) -> int:
        return math.prod(self.full) * len(self.nest.code)

    @property
    def scratch(self) -> int:
        """Bytes of the nest's own scratch rows."""
        return 8 * len(vector_schedule(self.nest).scratch) * self.full[-1]

    def places(self, sums: Place, middle: Place | None) -> Mapping[str, Place]:
        """Return the place of each move, by name.

        Args:
            sums: Where the product's sums are.
            middle: Where the result is to be written, if not where the caller wants it.
        """
        stores = len(self.nest.accesses)
        found: dict[str, Place] = {}
        for number, move in enumerate(self.moves):
            own = Place(move.word, 0, move.steps[:-1])
            given = sums if move.word == _SUMS else middle if number >= stores else None
            found[f"move{number}"] = given or own
        return found


def moves_of(nest: Nest, shapes: Sequence[Dims], full: Dims, params: int) -> Follow | None:
    """Return how ``nest`` reads operands of these dims, that lie in order; ``None`` if it cannot.

    Args:
        nest: What follows; its input number ``params`` is the product.
        shapes: Of what each access reads.
        full: The dims of the product.
        params: The parameters of the function.
    """
    moves: list[Move] = []
    for access, shape in zip(nest.accesses, shapes, strict=True):
        itemsize = to_numpy(access.dtype).itemsize
        steps = _steps(shape, itemsize, access.view, len(full))
        word = _SUMS if access.input == params else access.input
        moves.append(Move(word, steps, access.inner, itemsize))
    results = tuple(tuple(1 if a is None else full[a] for a in s.view) for s in nest.stores)
    for store, shape in zip(nest.stores, results, strict=True):
        itemsize = to_numpy(store.dtype).itemsize
        steps = _steps(shape, itemsize, store.view, len(full))
        moves.append(Move(params + store.output, steps, store.inner, itemsize))
    if not all(_fits(m, full[-1]) for m in moves):
        return None
    return Follow(nest, tuple(moves), full, results)


def _steps(shape: Dims, itemsize: int, view: View, rank: int) -> Steps:
    steps = [0] * rank
    for size, step, axis in zip(shape, in_order(shape, itemsize), view, strict=True):
        if axis is not None and size != 1:
            steps[axis] = step
    return tuple(steps)


def _fits(move: Move, columns: int) -> bool:
    """Whether an operand can be read as the nest's innermost loop reads it."""
    return move.inner is not Inner.UNIT or columns == 1 or move.steps[-1] == move.itemsize


def follow_words(follow: Follow, entry: int, grid: Grid, stride: int) -> dict[str, int]:
    """Return the words of the product's block that say what follows.

    Args:
        follow: The nest.
        entry: The address of its code.
        grid: The loops, with all places.
        stride: The bytes from row to row of what is in memory of our own.
    """
    place = layout(follow.nest)
    template = [0] * place.words
    template[place.rounds : place.rounds + place.loops] = [1] * place.loops
    template[place.rounds + place.loops - 1] = follow.full[-1]
    for number, move in enumerate(follow.moves):
        found = grid.places[f"move{number}"]
        ours = found.word in (PRODUCT.workspace, PRODUCT.position("scratch"))
        template[place.distance(number, 0)] = stride if ours else found.steps[-1]
        template[place.distance(number, place.loops - 1)] = _inner_step(move)
    words = {f"template{i}": value for i, value in enumerate(template)}
    words |= {"follow": entry, "follow.moves": place.moves, "follow.words": place.words}
    return words


def _inner_step(move: Move) -> int:
    return {Inner.ZERO: 0, Inner.UNIT: move.itemsize, Inner.STRIDED: move.steps[-1]}[move.inner]
