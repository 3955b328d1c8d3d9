"""grid_sample: read a tensor at positions that another tensor holds."""

from __future__ import annotations

import itertools
from typing import Any, Final

from reference_vm.ops.checks import tensor_of
from reference_vm.ops.definition import Array, Attr, DataError, Namespace, OpCall, OpDef, Operand
from reference_vm.ops.interpolation import interpolated, to_interpolate
from reference_vm.ops.numerics import quiet, widened
from reference_vm.ops.operands import agreed, shaped
from reference_vm.types import TensorType, Type
from reference_vm.types.dtype import COMPUTED, FLOATS

_TAPS: Final = {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}
_CUBIC_A: Final = -0.75


def _infer(call: OpCall) -> Type:
    x, grid = tensor_of(call, 0, COMPUTED), tensor_of(call, 1, FLOATS)
    rank = x.rank if x.rank is not None else grid.rank
    if rank is None:
        return TensorType(x.dtype, None)
    if rank < 3:
        raise call.error("rank-mismatch", f"operand x has rank {rank}, expected 3 or more")
    x_shape, grid_shape = shaped(call, 0, rank), shaped(call, 1, rank)
    images = agreed(call, x_shape[0], grid_shape[0], "the number of images")
    agreed(call, grid_shape[-1], rank - 2, "the last dim of operand grid")
    return TensorType(x.dtype, (images, x_shape[1], *grid_shape[1:-1]))


def _compute(
    xp: Namespace, x: Array, grid: Array, *, mode: str, padding_mode: str, align_corners: bool
) -> Array:
    images, channels, *sizes = x.shape
    if grid.shape[0] != images or grid.shape[-1] != len(sizes):
        raise DataError("shape-mismatch", f"a grid of {grid.shape} does not fit {x.shape}")
    result = (images, channels, *grid.shape[1:-1])
    if 0 in (*result, *sizes):
        return xp.zeros(result, dtype=x.dtype)
    flat = to_interpolate(xp, x) if mode != "nearest" else x
    flat = flat.reshape(images, channels, -1)
    wide: Array = widened(xp, grid)
    places = wide.reshape(images, -1, len(sizes))
    with quiet():
        axes = [
            _taps(xp, places[..., -1 - axis], size, mode, padding_mode, align_corners)
            for axis, size in enumerate(sizes)
        ]
        total = _gathered(xp, flat, axes, sizes)
        if mode != "nearest":
            total = interpolated(xp, total, x.dtype)
    return total.reshape(result)


def _gathered(xp: Namespace, flat: Array, axes: list[Any], sizes: list[int]) -> Array:
    """Return the sum over all combinations of taps of weighted elements."""
    total = None
    for taps in itertools.product(*axes):
        index: Array = 0
        weight: Array = 1
        for (place, share), size in zip(taps, sizes, strict=True):
            index, weight = index * size + place, weight * share
        part = xp.take_along_axis(flat, index[:, None, :], axis=2)
        part = part * weight[:, None, :].astype(flat.dtype)
        total = part if total is None else total + part
    return total


def _taps(
    xp: Namespace, places: Array, size: int, mode: str, padding: str, align_corners: bool
) -> list[tuple[Array, Array]]:
    """Return, for each tap of one axis, the index to read at and its share."""
    low, high = (0, size - 1) if align_corners else (-0.5, size - 0.5)
    x = (places + 1) * ((size - 1) / 2) if align_corners else ((places + 1) * size - 1) / 2
    if mode == "nearest":
        x = xp.rint(x)
    outside = (x < low) | (x > high)
    if padding == "border":
        x = xp.where(outside, xp.clip(x, 0, size - 1), x)
    if padding == "reflection":
        x = xp.where(outside, _reflected(xp, x, low, high), x)
    x = xp.clip(xp.where(xp.isnan(x), -1, x), -3, size + 2)
    below = xp.floor(x)
    shares = _shares(xp, x - below, mode)
    first = below.astype(xp.int64)
    return [
        _padded(xp, first + offset, share, size, padding, (low, high))
        for offset, share in zip(_TAPS[mode], shares, strict=True)
    ]


def _reflected(xp: Namespace, x: Array, low: float, high: float) -> Array:
    """Return ``x`` reflected at ``low`` and ``high`` until it lies between them."""
    span = high - low
    if span == 0:
        return xp.full_like(x, low)
    distance = xp.where(x < low, low - x, x - high)
    turns = xp.floor(distance / span)
    rest = distance - turns * span
    from_low = (x < low) == (turns % 2 == 0)
    return xp.where(from_low, low + rest, high - rest)


def _shares(xp: Namespace, t: Array, mode: str) -> list[Array]:
    if mode == "nearest":
        return [xp.ones_like(t)]
    if mode == "linear":
        return [1 - t, t]
    a = _CUBIC_A
    far = [((a * s - 5 * a) * s + 8 * a) * s - 4 * a for s in (t + 1, 2 - t)]
    near = [((a + 2) * s - (a + 3)) * s * s + 1 for s in (t, 1 - t)]
    return [far[0], *near, far[1]]


def _padded(
    xp: Namespace,
    index: Array,
    share: Array,
    size: int,
    padding: str,
    borders: tuple[float, float],
) -> tuple[Array, Array]:
    """Return index and share with the index inside: padding with zeros takes the share away."""
    inside = (index >= 0) & (index < size)
    if padding == "zeros":
        share = xp.where(inside, share, 0)
    if padding == "reflection":
        mirrored = _reflected(xp, index.astype(xp.float64), *borders).astype(xp.int64)
        index = xp.where(inside, index, mirrored)
    return xp.clip(index, 0, size - 1), share


GRID_SAMPLE: Final = OpDef(
    name="grid_sample",
    summary="Read a tensor, between its elements too, at the positions that a grid holds.",
    operands=(Operand("x"), Operand("grid")),
    infer=_infer,
    compute=_compute,
    attrs={
        "mode": Attr((str,), "linear", tuple(_TAPS)),
        "padding_mode": Attr((str,), "zeros", ("zeros", "border", "reflection")),
        "align_corners": Attr((bool,), False),
    },
    origin="onnx",
)
