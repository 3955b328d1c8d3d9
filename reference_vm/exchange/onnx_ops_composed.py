"""ONNX operators that are several of ours, by index arithmetic done beforehand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from reference_vm.exchange.node import OnnxNode, RuleTable, versions
from reference_vm.exchange.onnx_ops_casts import cast, dtype_attribute
from reference_vm.ir.nodes import Var
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import F32


def _window_lists(node: OnnxNode, rank: int) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """Return strides, dilations and pads, ones and zeros where they are left out."""
    strides, dilations = (
        node.integers(name) if node.has(name) else (1,) * rank for name in ("strides", "dilations")
    )
    pads = node.integers("pads") if node.has("pads") else (0,) * (2 * rank)
    if len(strides) != rank or len(dilations) != rank or len(pads) != 2 * rank:
        raise node.invalid(f"strides, dilations or pads do not fit {rank} axes")
    return strides, dilations, pads


def _col2im(node: OnnxNode) -> Var:
    """Add the blocks to an image of zeros, each element at the place that it came from."""
    build = node.build
    image, block = node.static_ints(1, "image_shape"), node.static_ints(2, "block_shape")
    strides, dilations, pads = _window_lists(node, len(image))
    rank = len(image)
    full = [n + pads[i] + pads[i + rank] for i, n in enumerate(image)]
    places = _block_places(full, block, strides, dilations)
    x = node.input(0)
    flat = build.call("reshape", x, build.ints((0, -1, places.size)))
    flat = build.call("permute_dims", flat, axes=(2, 0, 1))
    images = build.call("shape_of", flat, start=1)
    whole = build.content(images)
    if whole is None:
        raise node.unsupported("the shape of the operand must be known before the run")
    zeros = build.call(
        "full", build.shape((math.prod(full), *whole)), build.constant(0, node.dtype())
    )
    indices = build.constant(places.reshape(-1, 1))
    result = build.call("scatter_nd", zeros, indices, flat, reduction="add")
    result = build.call("permute_dims", result, axes=(1, 2, 0))
    result = build.call("reshape", result, build.shape((*whole, *full)))
    starts, ends = pads[:rank], [pads[i] + n for i, n in enumerate(image)]
    axes = build.ints(range(2, 2 + rank))
    return build.call("slice", result, build.ints(starts), build.ints(ends), axes)


def _block_places(
    full: Sequence[int], block: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> npt.NDArray[np.int64]:
    """Return where in the padded image the elements of all blocks lie, block element first."""
    found: npt.NDArray[Any] = np.zeros((1, 1), np.int64)
    for size, width, stride, dilation in zip(full, block, strides, dilations, strict=True):
        count = (size - dilation * (width - 1) - 1) // stride + 1
        own = np.arange(width)[:, None] * dilation + np.arange(max(0, count)) * stride
        grid = found[:, None, :, None] * size + own[None, :, None, :]
        found = grid.reshape(found.shape[0] * width, -1)
    return found.astype(np.int64)


def _tensor_scatter(node: OnnxNode) -> Var:
    """Write an update into a cache along one axis, for each item of the batch from its place."""
    build, axis = node.build, node.axis()
    mode = node.text("mode")
    if mode not in ("linear", "circular"):
        raise node.invalid(f"mode is {mode!r}, expected 'linear' or 'circular'")
    rank = node.rank(0)
    if axis == 0:
        raise node.invalid("axis is 0, which is that of the batch")
    sizes = [build.call("shape_of", node.input(i), start=axis, end=axis + 1) for i in (0, 1)]
    length, steps = (
        build.call("reshape", build.call("shape_to_tensor", s), build.shape(())) for s in sizes
    )
    zero, one = build.constant(0), build.constant(1)
    along = build.call("arange", zero, steps, one)
    along = build.call("reshape", along, build.ints((-1, *(1,) * (rank - 1 - axis))))
    if node.given(2):
        start = build.call("reshape", node.input(2), build.ints((-1, *(1,) * (rank - 1))))
        along = build.call("add", start, along)
    if mode == "circular":
        along = build.call("remainder", along, length)
    shape = build.call("shape_of", node.input(1))
    indices = build.call("broadcast_to", along, shape)
    return build.call("scatter_elements", node.input(0), indices, node.input(1), axis=axis)


def _mel_weight_matrix(node: OnnxNode) -> Var:
    """A constant, since all that it is made of must be known."""
    bins, length, rate = (
        node.static_ints(i, name)[0]
        for i, name in enumerate(("num_mel_bins", "dft_length", "sample_rate"))
    )
    edges = [node.build.scalar(node.input(i)) for i in (3, 4)]
    low, high = edges
    if low is None or high is None:
        raise node.unsupported("the edges must be known before the run")
    first, last = (2595 * math.log10(1 + edge / 700) for edge in (low, high))
    points = first + np.arange(bins + 2) * ((last - first) / (bins + 2))
    hertz = 700 * (10 ** (points / 2595) - 1)
    places = np.floor((length + 1) * hertz / rate).astype(np.int64)
    weights = np.zeros((length // 2 + 1, bins))
    for column, (left, centre, right) in enumerate(
        zip(places, places[1:], places[2:], strict=False)
    ):
        for row in range(left, centre):
            weights[row, column] = (row - left) / (centre - left)
        weights[centre, column] = 1
        for row in range(centre, right):
            weights[row, column] = (right - row) / (right - centre)
    return node.build.constant(weights.astype(to_numpy(dtype_attribute(node, "output_datatype"))))


def _deform_conv(node: OnnxNode) -> Var:
    """Sample the image where each tap is moved to, then multiply by the weights."""
    build, rank = node.build, 2
    x, weights, offset = (node.type(i).shape or () for i in range(3))
    if len(x) != 4 or not all(isinstance(d, int) for d in (*x[1:], *weights, *offset[1:])):
        raise node.unsupported("operands of four known dims but the first alone are translated")
    channels, height, width = (int(str(d)) for d in x[1:])
    filters, per_group, *kernel = (int(str(d)) for d in weights)
    strides, dilations, pads = _window_lists(node, rank)
    groups, parts = node.integer("group"), node.integer("offset_group")
    taps, (rows, columns) = math.prod(kernel), (int(str(d)) for d in offset[2:])
    if min(height, width) < 2 or channels % parts or per_group * groups != channels:
        raise node.unsupported("images of one row or column are not translated")
    grid = _moved_grid(node, kernel, (rows, columns), (strides, dilations, pads), (height, width))
    image = build.call("reshape", node.input(0), build.ints((-1, channels // parts, height, width)))
    seen = build.call("grid_sample", image, grid, mode="linear", align_corners=True)
    seen = build.call(
        "reshape", seen, build.ints((-1, parts, channels // parts, taps, rows * columns))
    )
    if node.given(4):
        mask = build.call(
            "reshape", node.input(4), build.ints((-1, parts, 1, taps, rows * columns))
        )
        seen = build.call("multiply", seen, mask)
    flat = build.call("reshape", seen, build.ints((-1, groups, per_group * taps, rows * columns)))
    matrix = build.ints((groups, filters // groups, per_group * taps))
    result = build.call("matmul", build.call("reshape", node.input(1), matrix), flat)
    result = build.call("reshape", result, build.ints((-1, filters, rows, columns)))
    if not node.given(3):
        return result
    return build.call("add", result, build.call("reshape", node.input(3), build.ints((-1, 1, 1))))


def _moved_grid(
    node: OnnxNode,
    kernel: Sequence[int],
    result: tuple[int, int],
    windows: tuple[Sequence[int], Sequence[int], Sequence[int]],
    image: tuple[int, int],
) -> Var:
    """Return the places of all taps of all results, last axis first, in ``grid_sample``'s units."""
    build, (strides, dilations, pads) = node.build, windows
    taps = np.array(list(itertools.product(*map(range, kernel))))
    base = [
        taps[:, axis, None, None] * dilations[axis]
        + np.arange(result[axis]).reshape((-1, 1) if axis == 0 else (1, -1)) * strides[axis]
        - pads[axis]
        for axis in (0, 1)
    ]
    stacked = np.stack(np.broadcast_arrays(*base), axis=1).astype(np.float32)
    moved = build.call("reshape", node.input(2), build.ints((-1, len(taps), 2, *result)))
    places = build.call("add", cast(node, moved, F32), build.constant(stacked))
    scale = np.array([2 / (n - 1) for n in image], np.float32).reshape(2, 1, 1)
    places = build.call("multiply", places, build.constant(scale))
    places = build.call("subtract", places, build.constant(np.float32(1)))
    places = build.call("permute_dims", places, axes=(0, 1, 3, 4, 2))
    places = build.call("flip", places, axes=(4,))
    places = build.call("reshape", places, build.ints((-1, len(taps), math.prod(result), 2)))
    return cast(node, places, node.dtype())


RULES: Final[RuleTable] = {
    "Col2Im": versions(_col2im, 18),
    "TensorScatter": versions(_tensor_scatter, 24),
    "MelWeightMatrix": versions(_mel_weight_matrix, 17),
    "DeformConv": versions(_deform_conv, 19, 22),
}


__all__ = ["RULES"]
