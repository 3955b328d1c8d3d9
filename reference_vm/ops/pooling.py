"""Pools: max_pool, max_pool_with_indices, average_pool, lp_pool.

A window is a box, so maxima and sums fold one axis after the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from reference_vm.ops.checks import tensor_of
from reference_vm.ops.definition import Array, Attr, Namespace, OpCall, OpDef, Operand, Trait
from reference_vm.ops.numerics import is_float, lifted, quiet, widened
from reference_vm.ops.windows import (
    ATTRS,
    Windows,
    check_vector,
    check_window_attrs,
    checked_outputs,
    padded,
    run_outputs,
    windows_of,
)
from reference_vm.types import DType, TensorType, TupleType, Type
from reference_vm.types.dtype import FLOATS, I64, NUMERIC

_NAMES: Final = (*ATTRS, "ceil_mode")


def _infer(call: OpCall, dtypes: tuple[DType, ...]) -> TensorType:
    x = tensor_of(call, 0, dtypes)
    kernel = call.attrs["kernel_shape"]
    check_vector(call, "kernel_shape", len(kernel), 1)
    check_window_attrs(call, len(kernel))
    if x.shape is None:
        return x.on(None)
    if len(x.shape) != len(kernel) + 2:
        raise call.error(
            "rank-mismatch",
            f"operand x has rank {len(x.shape)}, expected {len(kernel) + 2} for {len(kernel)} "
            "kernel axes",
        )
    windows = windows_of(kernel, **{name: call.attrs[name] for name in _NAMES})
    return TensorType(x.dtype, (*x.shape[:2], *checked_outputs(call, windows, x.shape[2:])))


def _infer_float(call: OpCall) -> Type:
    return _infer(call, FLOATS)


def _infer_max(call: OpCall) -> Type:
    return _infer(call, NUMERIC)


def _infer_max_with_indices(call: OpCall) -> Type:
    values = _infer(call, NUMERIC)
    return TupleType((values, TensorType(I64, values.shape)))


def _fold(
    xp: Namespace, function: Callable[[Array, Array], Array], x: Array, windows: Windows, fill: Any
) -> Array:
    """Return ``function`` folded over each window; ``fill`` stands in the padding."""
    outputs = run_outputs(windows, x.shape[2:])
    x = padded(xp, x, windows, fill)
    for axis, count in enumerate(outputs):
        step, gap = windows.strides[axis], windows.dilations[axis]
        starts = range(0, int(windows.kernel[axis]) * gap, gap)  # type: ignore[arg-type]
        lead = (slice(None),) * (axis + 2)
        parts = (x[(*lead, slice(s, s + (count - 1) * step + 1, step))] for s in starts)
        x = _folded(function, parts) if count else x[(*lead, slice(0, 0))]
    return x


def _folded(function: Callable[..., Array], parts: Any) -> Array:
    result = next(parts).copy()
    for part in parts:
        function(result, part, out=result)
    return result


def _least(x: Array) -> Any:
    """Return what no element of ``x``'s dtype is below."""
    return np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf


@lifted
def _compute_max(xp: Namespace, x: Array, *, kernel_shape: tuple[int, ...], **attrs: Any) -> Array:
    attrs.pop("storage_order")
    return _fold(xp, xp.maximum, x, windows_of(kernel_shape, **attrs), _least(x))


def _compute_max_with_indices(
    xp: Namespace, x: Array, *, kernel_shape: tuple[int, ...], storage_order: int, **attrs: Any
) -> tuple[Array, Array]:
    windows = windows_of(kernel_shape, **attrs)
    wide: Array = widened(xp, x)
    outputs = run_outputs(windows, x.shape[2:])
    values = padded(xp, wide, windows, _least(wide))
    places = padded(xp, _places(xp, x.shape, storage_order), windows, -1)
    shape = (*x.shape[:2], *outputs)
    best = xp.full(shape, _least(wide), dtype=wide.dtype)
    index = xp.full(shape, -1, dtype=xp.int64)
    for offset in itertools.product(*map(range, kernel_shape)):
        at = (slice(None), slice(None), *_shifted(windows, offset, outputs))
        value, place = values[at], places[at]
        with quiet():
            better = (value > best) | ((index < 0) & (place >= 0))
            if is_float(value):
                better |= xp.isnan(value) & ~xp.isnan(best)
        xp.copyto(best, value, where=better)
        xp.copyto(index, place, where=better)
    return best.astype(x.dtype, copy=False), index


def _places(xp: Namespace, shape: tuple[int, ...], storage_order: int) -> Array:
    """Return the flat index of each element, its spatial axes counted by row or by column."""
    if not storage_order:
        return xp.arange(int(np.prod(shape)), dtype=xp.int64).reshape(shape)
    lead, spatial = shape[:2], shape[2:]
    backward = xp.arange(int(np.prod(shape)), dtype=xp.int64).reshape(*lead, *spatial[::-1])
    return backward.transpose(0, 1, *range(len(shape) - 1, 1, -1))


def _shifted(
    windows: Windows, offset: tuple[int, ...], outputs: tuple[int, ...]
) -> tuple[slice, ...]:
    """Return where one element of every window stands, on each axis."""
    axes = zip(offset, windows.dilations, windows.strides, outputs, strict=True)
    return tuple(slice(o * d, o * d + (n - 1) * s + 1 if n else 0, s) for o, d, s, n in axes)


@lifted
def _compute_average(
    xp: Namespace,
    x: Array,
    *,
    kernel_shape: tuple[int, ...],
    count_include_pad: bool,
    **attrs: Any,
) -> Array:
    windows = windows_of(kernel_shape, **attrs)
    total = _fold(xp, xp.add, x, windows, 0)
    for axis, size in enumerate(x.shape[2:]):
        counts = window_counts(windows, axis, size, count_include_pad)
        total /= xp.asarray(counts, dtype=total.dtype).reshape(-1, *(1,) * (x.ndim - 3 - axis))
    return total


def window_counts(windows: Windows, axis: int, size: int, include_pad: bool) -> list[int]:
    """Return how many elements of each window count, on one axis."""
    sizes = (size,) * len(windows.kernel)
    before, after = windows.padding(sizes)[axis]
    first, end = (0, before + size + after) if include_pad else (before, before + size)
    kernel, gap, step = windows.kernel[axis], windows.dilations[axis], windows.strides[axis]
    count = windows.outputs(sizes)[axis]
    assert isinstance(kernel, int)
    assert isinstance(count, int)
    starts = range(0, count * step, step)
    return [sum(first <= s + gap * k < end for k in range(kernel)) for s in starts]


@lifted
def _compute_lp(
    xp: Namespace, x: Array, *, kernel_shape: tuple[int, ...], p: int, **attrs: Any
) -> Array:
    total = _fold(xp, xp.add, xp.abs(x) ** p, windows_of(kernel_shape, **attrs), 0)
    return total ** (1.0 / p)


_ATTRS: Final = {"kernel_shape": Attr((tuple,)), **ATTRS, "ceil_mode": Attr((bool,), False)}
_MAX_ATTRS: Final = {**_ATTRS, "storage_order": Attr((int,), 0)}
_EXACT: Final = frozenset({Trait.EXACT})

MAX_POOL: Final = OpDef(
    name="max_pool",
    summary="Take the greatest element of each window, padding aside; NaN propagates.",
    operands=(Operand("x"),),
    infer=_infer_max,
    compute=_compute_max,
    attrs=_MAX_ATTRS,
    traits=_EXACT,
    origin="onnx",
)

MAX_POOL_WITH_INDICES: Final = OpDef(
    name="max_pool_with_indices",
    summary="Take the greatest element of each window, and its flat index in the operand.",
    operands=(Operand("x"),),
    infer=_infer_max_with_indices,
    compute=_compute_max_with_indices,
    attrs=_MAX_ATTRS,
    traits=_EXACT,
    origin="onnx",
)

AVERAGE_POOL: Final = OpDef(
    name="average_pool",
    summary="Average each window, with its padding or without.",
    operands=(Operand("x"),),
    infer=_infer_float,
    compute=_compute_average,
    attrs={**_ATTRS, "count_include_pad": Attr((bool,), False)},
    origin="onnx",
)

LP_POOL: Final = OpDef(
    name="lp_pool",
    summary="Take the p-norm of each window.",
    operands=(Operand("x"),),
    infer=_infer_float,
    compute=_compute_lp,
    attrs={**_ATTRS, "p": Attr((int,), 2)},
    origin="onnx",
)

OPS: Final = (MAX_POOL, MAX_POOL_WITH_INDICES, AVERAGE_POOL, LP_POOL)
