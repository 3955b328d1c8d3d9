"""From the dims of a product's operands to its stages: what is packed, how work is divided.

A product of many rows is divided into blocks of rows; what follows is done on each block while it
is in the cache. One of few rows is divided into panels of columns, so that each thread reads its
own part of the right factor; what follows is then a stage of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from reference_vm.bytecode.kernel import Dims, NativeCall, Stage
from reference_vm.diagnostics import DataError
from reference_vm.targets.numba.plan import domain_sizes
from reference_vm.targets.numba.product_follow import Follow, follow_words, moves_of
from reference_vm.targets.numba.product_form import Factor, ProductForm
from reference_vm.targets.numba.product_grid import Grid, Place, Steps, in_order, joined
from reference_vm.targets.numba.product_words import BATCH, COLUMNS, LATER, PACK, PRODUCT, ROWS

_FEW_ROWS: Final = 64
"""Products of fewer rows in all are divided by columns."""

_BLOCK: Final = 32
"""Rows of a block at most."""

_BLOCK_BYTES: Final = 1 << 19
"""Bytes of the sums of a block at most, if it still has as many rows as a tile."""

_PER_STEP: Final = 6
"""Multiplications and additions that take as long as an instruction on a single element."""

_LINE: Final = 64


@final
@dataclass(frozen=True, slots=True)
class Code:
    """The machine code of products of one pair of dtypes."""

    product: int
    pack: int
    width: int
    """Columns of a panel."""

    height: int
    """Rows of the largest tile."""

    follow: int
    """Of the loop nest that follows; 0 if none does."""

    owner: object


@final
@dataclass(frozen=True, slots=True)
class Planner:
    """Makes the stages of one function."""

    form: ProductForm
    code: Code
    params: int
    threads: int

    def __call__(self, inputs: Sequence[Any]) -> NativeCall | None:
        """Return the stages for operands of these dims; ``None`` where the library multiplies.

        Raises:
            DataError: The dims do not fit one another.
        """
        return _Planning(self.form, self.code, self.params, self.threads, inputs).run()


@final
@dataclass(frozen=True, slots=True)
class _Matrix:
    """An operand as matrices, and where its elements are, in bytes along each axis."""

    param: int
    shape: Dims
    steps: Steps

    @property
    def lead(self) -> Dims:
        return self.shape[:-2]

    def along(self, lead: Dims) -> Steps:
        """Return the steps along the dims that it is broadcast to."""
        return _broadcast(self.shape[:-2], self.steps[:-2], lead)


def _broadcast(own: Dims, steps: Sequence[int], lead: Dims) -> Steps:
    moving = [0 if size == 1 else step for size, step in zip(own, steps, strict=True)]
    return (*(0,) * (len(lead) - len(own)), *moving)


@final
class _Planning:
    """The stages for operands of certain dims."""

    def __init__(
        self, form: ProductForm, code: Code, params: int, threads: int, inputs: Sequence[Any]
    ) -> None:
        self.form, self.code, self.params, self.threads = form, code, params, threads
        self.inputs = [tuple(x) for x in inputs]
        self.size = form.sums.itemsize
        self.left, self.right = self._matrix(form.left, False), self._matrix(form.right, True)
        self.workspace = 0
        self.stages: list[Stage] = []

    def run(self) -> NativeCall | None:
        left, right = self.left, self.right
        if left.shape[-1] != right.shape[-2]:
            raise _misfit(left.shape[-1], right.shape[-2])
        self.lead = _lead(left.lead, right.lead)
        self.full = (*self.lead, left.shape[-2], right.shape[-1])
        places = {"left": self._left_place(), "right": self._right_place("right", self.form.right)}
        follow = self._followed()
        if follow is None and self.form.follow is not None:
            return None
        done = self._then(places) if self.form.then is not None else self._shapes(follow)
        if done is None or not self._divide(places, follow):
            return None
        inputs = tuple(range(self.params))
        stages, owner = tuple(self.stages), self.code.owner
        return NativeCall(inputs, done, stages, self.workspace, owner)

    # Operands.

    def _matrix(self, factor: Factor, is_right: bool) -> _Matrix:
        given = self.inputs[factor.param]
        along = in_order(given, self.form.dtype.itemsize)
        shape = tuple(given[a] for a in factor.axes)
        steps = tuple(along[a] for a in factor.axes)
        if len(shape) == 1 and is_right:
            return _Matrix(factor.param, (*shape, 1), (*steps, self.form.dtype.itemsize))
        if len(shape) == 1:
            return _Matrix(factor.param, (1, *shape), (0, *steps))
        return _Matrix(factor.param, shape, steps)

    def _left_place(self) -> Place:
        left = self.left
        return Place(left.param, 0, (*left.along(self.lead), left.steps[-2]))

    def _right_place(self, name: str, factor: Factor) -> Place:
        """Return where a right factor's panels are, after a stage that makes them if need be."""
        matrix = self.right if name == "right" else self._matrix(factor, True)
        if factor.packed:
            return Place(matrix.param, 0, (0,) * (len(self.lead) + 1))
        depth, columns = matrix.shape[-2:]
        each = depth * self.code.width * self.form.dtype.itemsize
        panels = -(-columns // self.code.width)
        steps = in_order(matrix.lead, panels * each)
        at = self._reserve(math.prod(matrix.lead) * panels * each)
        self._pack(matrix, Place(PRODUCT.workspace, at, (*steps, each)), panels)
        return Place(PRODUCT.workspace, at, (*_broadcast(matrix.lead, steps, self.lead), 0))

    def _reserve(self, nbytes: int) -> int:
        at = self.workspace
        self.workspace += -(-nbytes // _LINE) * _LINE
        return at

    def _pack(self, matrix: _Matrix, to: Place, panels: int) -> None:
        """Add the stage that puts a factor into panels."""
        depth, columns = matrix.shape[-2:]
        origin = Place(matrix.param, 0, (*matrix.steps[:-2], 0))
        each = to.steps[-1]
        target = Place(to.word, to.at, (*to.steps[:-1], 0))
        grid = joined((*matrix.lead, 1), {"from": origin, "to": target}, ("from", "to"))
        words = dict(grid.words())
        words |= {"from.row": matrix.steps[-2], "from.column": matrix.steps[-1], "to.row": each}
        words |= {"panels": max(panels, 1), "depth": depth, "columns": columns}
        rounds = math.prod(matrix.lead) * panels
        work = rounds * depth * self.code.width // 4
        block = PACK.block(**words)
        stage = Stage(self.code.pack, block, 0, rounds, work, workspace_word=PACK.workspace)
        self.stages.append(stage)

    # Results.

    def _followed(self) -> Follow | None:
        nest = self.form.follow
        if nest is None:
            return None
        shapes = [(*self.inputs, self.full)[a.input] for a in nest.accesses]
        if domain_sizes(nest, shapes) != self.full:
            return None
        return moves_of(nest, shapes, self.full, self.params)

    def _shapes(self, follow: Follow | None) -> tuple[Dims, ...]:
        if follow is not None:
            return follow.shapes
        return (self._result_shape(self.full, self.form.left, self.form.right),)

    def _result_shape(self, full: Dims, left: Factor, right: Factor) -> Dims:
        kept = [*full[:-2], *full[-2:-1] * (len(left.axes) > 1), *full[-1:] * (len(right.axes) > 1)]
        assert self.form.axes is not None
        return tuple(kept[a] for a in self.form.axes)

    def _result_place(self, shape: Dims, is_row: bool) -> Place:
        """Return the place of the last product's result, in the function's only one."""
        assert self.form.axes is not None
        along = dict(zip(self.form.axes, in_order(shape, self.size), strict=True))
        steps = [along[axis] for axis in range(len(along))]
        count = len(self.lead)
        return Place(self.params, 0, (*steps[:count], 0 if is_row else steps[count]))

    def _then(self, places: dict[str, Place]) -> tuple[Dims, ...] | None:
        """Add the places of a second product; return its result's shape."""
        form = self.form
        assert form.then is not None
        then = self._matrix(form.then, True)
        if then.shape[-2] != self.full[-1]:
            raise _misfit(self.full[-1], then.shape[-2])
        if _lead(self.lead, then.lead) != self.lead:
            return None
        places["then.right"] = self._right_place("then.right", form.then)
        shape = self._result_shape((*self.full[:-1], then.shape[-1]), form.left, form.then)
        places["result"] = self._result_place(shape, False)
        self.then = then
        return (shape,)

    # The division of work.

    def _divide(self, places: dict[str, Place], follow: Follow | None) -> bool:
        """Add the stages that multiply; say whether there is a kernel for so many loops."""
        form, rows = self.form, math.prod(self.full[:-1])
        by_columns = form.then is None and rows < _FEW_ROWS and self.full[-1] > self.code.width
        stride = self._stride()
        if form.axes is not None and form.then is None:
            shape = self._result_shape(self.full, form.left, form.right)
            places["sums"] = self._result_place(shape, len(form.left.axes) == 1)
            stride = places["sums"].steps[-1]
        elif by_columns:
            size = math.prod(self.full[:-1]) * stride
            steps = in_order(self.full[:-1], stride)
            places["sums"] = Place(PRODUCT.workspace, self._reserve(size), steps)
        else:
            none = (0,) * (len(self.lead) + 1)
            places["sums"] = Place(PRODUCT.position("scratch"), 0, none)
        if follow is not None:
            middle = places["sums"] if form.then is not None else None
            places |= follow.places(places["sums"], middle)
        fixed = ("right", "then.right") if form.then is not None else ("right",)
        grid = joined((*self.lead, self.full[-2]), places, fixed)
        if len(grid.sizes) > BATCH + 1:
            return False
        if form.axes is not None and form.then is None and follow is None:
            stride = grid.places["sums"].steps[-1]
        self._stages(grid, follow, stride, by_columns)
        return True

    def _stride(self) -> int:
        """Return the bytes from row to row of sums that lie in memory of our own."""
        return self.full[-1] * self.size

    def _stages(self, grid: Grid, follow: Follow | None, stride: int, by_columns: bool) -> None:
        steps = math.prod(self.full) * self.left.shape[-1]
        panels = -(-self.full[-1] // self.code.width)
        if by_columns:
            words = self._words(grid, None, stride, COLUMNS, panels, 1)
            self._add(words, grid.batch * panels, steps // _PER_STEP, 0)
            if follow is None:
                return
            block = max(1, -(-grid.rows // (2 * self.threads)))
            mode, steps = LATER, 0
        else:
            block = self._block(grid)
            mode = ROWS
        parts = -(-grid.rows // block)
        words = self._words(grid, follow, stride, mode, parts, block)
        work = steps // _PER_STEP + (0 if follow is None else follow.work)
        if self.form.then is not None:
            work += math.prod(self.full) * self.then.shape[-1] // _PER_STEP
        self._add(words, grid.batch * parts, work, self._scratch(follow, block, stride))

    def _block(self, grid: Grid) -> int:
        """Return how many rows a block has: several blocks for each thread, if there are enough."""
        height = self.code.height
        each = max(1, self.full[-1] * self.size)
        most = max(height, min(_BLOCK, _BLOCK_BYTES // each // height * height))
        wanted = -(-grid.rows * grid.batch // (4 * self.threads))
        return min(most, max(min(2 * height, most), -(-wanted // height) * height))

    def _words(
        self,
        grid: Grid,
        follow: Follow | None,
        stride: int,
        mode: int,
        parts: int,
        block: int,
    ) -> dict[str, int]:
        words = dict.fromkeys(PRODUCT.names, 0) | dict(grid.words())
        words |= {"mode": mode, "parts": max(parts, 1), "block": block, "rows": grid.rows}
        words |= {"depth": self.left.shape[-1], "columns": self.full[-1]}
        words |= {"left.step": self.left.steps[-1], "sums.step": stride}
        if follow is None:
            return words
        words |= follow_words(follow, self.code.follow, grid, stride)
        words["follow.scratch"] = self._after_sums(block, stride)
        if self.form.then is not None:
            at, stored = block * stride, len(follow.nest.accesses)
            words |= dict(Place(PRODUCT.position("scratch"), at, (stride,)).words("middle"))
            words |= {f"move{stored}.at": at, "then": 1, "then.depth": self.full[-1]}
            words["then.columns"] = self.then.shape[-1]
        return words

    def _after_sums(self, block: int, stride: int) -> int:
        used = block * stride * (2 if self.form.then is not None else 1)
        return -(-used // _LINE) * _LINE

    def _scratch(self, follow: Follow | None, block: int, stride: int) -> int:
        return 0 if follow is None else self._after_sums(block, stride) + follow.scratch

    def _add(self, words: dict[str, int], rounds: int, work: int, scratch: int) -> None:
        rounds = rounds if math.prod(self.full[:-1]) else 0
        used = PRODUCT.position("template0") + words["follow.words"]
        self.stages.append(
            Stage(
                self.code.product,
                PRODUCT.block(**words)[:used],
                0,
                rounds,
                work,
                scratch=scratch,
                scratch_word=PRODUCT.position("scratch"),
                workspace_word=PRODUCT.workspace,
            )
        )


def _lead(left: Dims, right: Dims) -> Dims:
    """Return the dims of the batch.

    Raises:
        DataError: They do not broadcast.
    """
    try:
        return np.broadcast_shapes(left, right)
    except ValueError:
        raise DataError(
            "shape-mismatch", f"batches of {list(left)} and {list(right)} do not broadcast"
        ) from None


def _misfit(left: int, right: int) -> DataError:
    return DataError(
        "shape-mismatch", f"a product of {left} columns and {right} rows, expected as many"
    )


__all__ = ["Code", "Planner"]
