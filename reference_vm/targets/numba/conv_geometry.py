"""Where the elements of a convolution lie, for known dims: planes, offsets of taps, sizes.

Everything is brought to three spatial axes, depth, height and width; leading ones of size 1 are
added. What is a plain product, a kernel of one element with stride 1, becomes one long row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, final

import numpy as np

from reference_vm.ops.definition import DataError
from reference_vm.ops.windows import Windows, run_outputs

Three: TypeAlias = tuple[int, int, int]
"""One number each for depth, height and width."""


@final
@dataclass(frozen=True)
class Geometry:
    """One convolution."""

    images: int
    groups: int
    channels: int
    """Of a group."""

    features: int
    """Of a group."""

    sizes: Three
    kernel: Three
    strides: Three
    dilations: Three
    pads: Three
    """In front of each axis."""

    outputs: Three

    @property
    def depth(self) -> int:
        """Taps of one result element."""
        return self.channels * math.prod(self.kernel)

    @property
    def multiplications(self) -> int:
        return self.images * self.groups * self.features * math.prod(self.outputs) * self.depth

    @cached_property
    def phases(self) -> tuple[tuple[int, ...], ...]:
        """The remainders by the stride that taps have, on each axis."""
        axes = zip(self.kernel, self.dilations, self.strides, strict=True)
        return tuple(tuple(sorted({i * d % s for i in range(k)})) for k, d, s in axes)

    @cached_property
    def plane(self) -> Three:
        """The sizes of one plane: all that taps of one phase read."""
        axes = zip(self.outputs, self.kernel, self.dilations, self.strides, strict=True)
        d, h, w = (max(o, 1) + (k - 1) * g // s for o, k, g, s in axes)
        return d, h, w

    @property
    def planes(self) -> int:
        """How many there are of one channel."""
        return math.prod(len(p) for p in self.phases)

    @property
    def spanned(self) -> int:
        """Places from the first result element to the last, counted along padded rows."""
        d, h, w = self.outputs
        _, high, wide = self.plane
        return ((d - 1) * high + h - 1) * wide + w if d and h and w else 0

    @property
    def in_place(self) -> bool:
        """Whether the operand itself is the planes."""
        return self.plane == self.sizes and self.planes == 1 and not any(self.pads)

    @property
    def are_rows(self) -> bool:
        """Whether the window of each place is a row of the one padded row that there is."""
        d, h, _ = self.outputs
        return (
            self.channels == self.groups == 1
            and d == h == self.sizes[0] == self.sizes[1] == 1
            and self.pads[0] == self.pads[1] == 0
            and self.dilations[2] == 1
        )

    @property
    def are_inside(self) -> bool:
        """Whether no window reaches beyond the operand."""
        last = (self.outputs[2] - 1) * self.strides[2] + self.kernel[2]
        return not any(self.pads) and last <= self.sizes[2]

    @cached_property
    def unsplit(self) -> Geometry:
        """The convolution of one row with every place as a result, which has one phase."""
        d, h, w = self.outputs
        outputs = (d, h, (w - 1) * self.strides[2] + 1)
        return replace(self, strides=(1, 1, 1), outputs=outputs)

    def starts(self) -> Any:
        """Return where the window of each place begins, in elements from the first one."""
        d, h, w = (np.arange(n, dtype=np.int64) for n in self.outputs)
        _, high, wide = self.plane
        return (((d[:, None] * high + h)[:, :, None] * wide) + w).reshape(-1)

    def offsets(self) -> Any:
        """Return where each tap of a group reads, in elements from the place in the planes."""
        deep, high, wide = self.plane
        each = deep * high * wide
        axes = zip(self.kernel, self.dilations, self.strides, self.phases, strict=True)
        taps = [[(p.index(i * g % s), i * g // s) for i in range(k)] for k, g, s, p in axes]
        phase, step = (
            [np.array([tap[part] for tap in axis], np.int64) for axis in taps] for part in (0, 1)
        )
        split = (phase[0][:, None, None] * len(self.phases[1]) + phase[1][:, None]) * len(
            self.phases[2]
        ) + phase[2]
        shift = (step[0][:, None, None] * high + step[1][:, None]) * wide + step[2]
        first = np.arange(self.channels, dtype=np.int64)[:, None] * (self.planes * each)
        return (first + (split * each + shift).reshape(1, -1)).reshape(-1)


def geometry(x: Sequence[int], w: Sequence[int], windows: Windows, groups: int) -> Geometry:
    """Return the convolution of ``x[N, C, …]`` by ``w[M, C/groups, …]``.

    Raises:
        DataError: The channels do not fit, or a kernel is larger than the padded operand.
    """
    if x[1] != w[1] * groups or w[0] % groups:
        raise DataError(
            "shape-mismatch", f"{x[1]} channels do not fit weights of shape {w} in {groups} groups"
        )
    outputs = run_outputs(windows, x[2:])
    pads = [before for before, _ in windows.padding(x[2:])]
    found = Geometry(
        images=x[0],
        groups=groups,
        channels=w[1],
        features=w[0] // groups,
        sizes=_three(x[2:], 1),
        kernel=_three(w[2:], 1),
        strides=_three(windows.strides, 1),
        dilations=_three(windows.dilations, 1),
        pads=_three(pads, 0),
        outputs=_three(outputs, 1),
    )
    return _flattened(found) if _is_pointwise(found) else found


def _three(values: Sequence[int], fill: int) -> Three:
    d, h, w = (*(fill,) * (3 - len(values)), *values)
    return d, h, w


def _is_pointwise(g: Geometry) -> bool:
    return math.prod(g.kernel) == math.prod(g.strides) == 1 and g.outputs == g.sizes


def _flattened(g: Geometry) -> Geometry:
    size = math.prod(g.sizes)
    ones = (1, 1, 1)
    row = (1, 1, size)
    return Geometry(
        g.images, g.groups, g.channels, g.features, row, ones, ones, ones, (0, 0, 0), row
    )


__all__ = ["Geometry", "Three", "geometry"]
