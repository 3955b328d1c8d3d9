"""Correlation with kernels as matrix products, block by block.

The windows under a block of results become the columns of a matrix that fits the processor's own
cache, and one product of it and the weights is the block. Threads take the blocks in turn.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from reference_vm.ops.definition import Array, DataError, Namespace
from reference_vm.ops.sharing import ALONE, is_worth_sharing, share
from reference_vm.ops.windows import Windows, padded, run_outputs, window_view

BLOCK_BYTES: Final = 1 << 21
"""How much memory the columns and results of one block take, about."""

LEAST_PLACES: Final = 128
"""Columns that a block has at least, if there are so many: fewer waste the way of the weights."""

_STORING: Final = 16
"""Multiplications that take as long as it takes to write an element of the result."""

LONG_RUN: Final = 8
"""Kernel elements in a row from which on strided windows are gathered window by window."""


def correlate(
    xp: Namespace,
    x: Array,
    w: Array,
    windows: Windows,
    group: int,
    bias: Array | None = None,
    out: Array | None = None,
) -> Array:
    """Return ``x`` correlated with the kernels ``w``, and ``bias`` added, in the dtype of all.

    The result is in ``out`` if that is given and fits.

    ``x`` is ``[N, C, spatial…]``, ``w`` is ``[M, C/group, kernel…]``, ``bias`` is ``[M]``, the
    result ``[N, M, …]``.

    Raises:
        DataError: The channels do not fit, or a kernel is larger than the padded ``x``.
    """
    if x.shape[1] != w.shape[1] * group or w.shape[0] % group:
        raise DataError(
            "shape-mismatch",
            f"{x.shape[1]} channels do not fit weights of shape {w.shape} in {group} groups",
        )
    outputs = run_outputs(windows, x.shape[2:])
    weights = w.reshape(group, w.shape[0] // group, math.prod(w.shape[1:]))
    shape = (x.shape[0], w.shape[0], *outputs)
    if out is None or out.shape != shape or not out.flags.c_contiguous:
        out = xp.empty(shape, dtype=x.dtype)
    result = out.reshape(x.shape[0], *weights.shape[:2], math.prod(outputs))
    added = None if bias is None else bias.reshape(*weights.shape[:2], 1)
    if result.size and w.size:
        view = window_view(xp, padded(xp, x, windows, 0), windows, outputs)
        blocks = _Blocks(
            xp, _by_group(xp, view, group), weights, added, result, _is_strided(windows)
        )
        blocks.fill()
    else:
        result[...] = 0 if added is None else added
    return out


def _by_group(xp: Namespace, view: Array, group: int) -> Array:
    """Return windows ``[N, C, …]`` as ``[N, group, C/group, …]``, without a copy."""
    shape = (view.shape[0], group, view.shape[1] // group, *view.shape[2:])
    strides = (view.strides[0], view.strides[1] * shape[2], *view.strides[1:])
    return xp.lib.stride_tricks.as_strided(view, shape, strides)


def _is_strided(windows: Windows) -> bool:
    """Whether elements of one window lie in longer runs than elements of neighbouring ones."""
    long = windows.kernel[-1]
    assert isinstance(long, int)
    return windows.strides[-1] > 1 and windows.dilations[-1] == 1 and long >= LONG_RUN


@final
@dataclass(frozen=True, slots=True)
class _Block:
    images: slice
    lead: tuple[int, ...]
    """The places along the first output axes; on the next one, it is a range."""

    rows: slice
    places: slice
    """Of all output axes as one."""


@final
@dataclass(frozen=True, slots=True)
class _Blocks:
    """A result that is filled block by block."""

    xp: Namespace
    view: Array
    """The windows: ``[N, group, C/group, kernel…, outputs…]``."""

    weights: Array
    """``[group, M/group, depth]``."""

    bias: Array | None
    """``[group, M/group, 1]``."""

    result: Array
    """``[N, group, M/group, places]``."""

    by_window: bool
    """Whether the matrix is gathered with a window to a row, and multiplied transposed."""

    def fill(self) -> None:
        blocks = list(self._cut())
        multiplications = self.result.size * (self.weights.shape[2] + _STORING)
        if self.xp is np and is_worth_sharing(multiplications):
            share(blocks, self._fill)
            return
        with ALONE:
            self._fill(iter(blocks))

    @property
    def _outputs(self) -> tuple[int, ...]:
        rank = (self.view.ndim - 3) // 2
        return tuple(self.view.shape[-rank:])

    def _cut(self) -> Iterator[_Block]:
        """Yield the blocks: some images whole, or a range of places of one."""
        outputs = self._outputs
        group, features, depth = self.weights.shape
        each = group * (depth + features) * self.result.dtype.itemsize
        fit = max(BLOCK_BYTES // each, LEAST_PLACES)
        inner = [math.prod(outputs[axis + 1 :]) for axis in range(len(outputs))]
        axis = next(a for a, size in enumerate(inner) if size <= fit)
        images = max(1, fit // math.prod(outputs))
        rows = max(1, fit // inner[axis])
        for image in range(0, self.result.shape[0], images):
            for lead in itertools.product(*map(range, outputs[:axis])):
                start = sum(i * s for i, s in zip(lead, inner, strict=False))
                for row in range(0, outputs[axis], rows):
                    stop = min(row + rows, outputs[axis])
                    places = slice(start + row * inner[axis], start + stop * inner[axis])
                    yield _Block(slice(image, image + images), lead, slice(row, stop), places)

    def _fill(self, blocks: Iterator[_Block]) -> None:
        xp = self.xp
        memory: Array = None
        for block in blocks:
            windows = self._windows(block)
            if memory is None or memory.size < windows.size:
                memory = xp.empty(windows.size, dtype=windows.dtype)
            columns = self._gathered(windows, memory)
            out = self.result[block.images, :, :, block.places]
            xp.matmul(self.weights, columns, out=out)
            if self.bias is not None:
                out += self.bias

    def _windows(self, block: _Block) -> Array:
        """Return the windows of a block: ``[N, group, C/group, kernel…, rows…]``."""
        rank = len(self._outputs)
        kept = (slice(None),) * (2 + rank)
        return self.view[(block.images, *kept, *block.lead, block.rows)]

    def _gathered(self, windows: Array, memory: Array) -> Array:
        """Return the windows as ``[N, group, depth, places]``, in ``memory`` unless they lie so."""
        depth = self.weights.shape[2]
        split = 3 + len(self._outputs)
        inside, across = windows.shape[2:split], windows.shape[split:]
        lead = windows.shape[:2]
        if depth == windows.shape[2]:
            return windows.reshape(*lead, depth, -1)
        if not self.by_window:
            filled = memory[: windows.size].reshape(windows.shape)
            filled[...] = windows
            return filled.reshape(*lead, depth, -1)
        axes = (0, 1, *range(split, windows.ndim), *range(2, split))
        filled = memory[: windows.size].reshape(*lead, *across, *inside)
        filled[...] = windows.transpose(axes)
        return filled.reshape(*lead, -1, depth).swapaxes(-1, -2)


__all__ = ["correlate"]
