"""Convolutions: conv, conv_transpose, conv_integer.

A convolution gathers its windows into the columns of a matrix, block by block so that memory stays
bounded, and multiplies each block by the weights: one product of the BLAS per group.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from reference_vm.ops.checks import agree_on_dtype, tensor_of
from reference_vm.ops.convolution_transpose import CONV_TRANSPOSE
from reference_vm.ops.definition import (
    Array,
    Attr,
    DataError,
    Namespace,
    OpCall,
    OpDef,
    Operand,
    Trait,
)
from reference_vm.ops.numerics import lifted
from reference_vm.ops.operands import agreed, shaped
from reference_vm.ops.windows import (
    ATTRS,
    Windows,
    check_window_attrs,
    checked_outputs,
    padded,
    run_outputs,
    window_view,
    windows_of,
)
from reference_vm.types import Dim, DType, TensorType, Type
from reference_vm.types import dim as dims
from reference_vm.types.dtype import FLOATS, I8, I32, U8

BLOCK_BYTES: Final = 8 << 20
"""How much memory the columns of one block may take, unless one row of results needs more."""


def infer_windowed(call: OpCall, dtype: DType) -> TensorType:
    """Return the result's type of a convolution of operand 0 by the weights, operand 1."""
    x, w = call.tensor(0), call.tensor(1)
    rank = x.rank if x.rank is not None else w.rank
    if rank is None:
        return TensorType(dtype, None)
    if rank < 3:
        raise call.error("rank-mismatch", f"operand x has rank {rank}, expected 3 or more")
    check_window_attrs(call, rank - 2)
    x_shape, w_shape = shaped(call, 0, rank), shaped(call, 1, rank)
    group = _group(call, w_shape[0])
    agreed(call, x_shape[1], dims.multiply(w_shape[1], group), "the number of channels of x")
    attrs = {name: call.attrs[name] for name in ATTRS}
    outputs = checked_outputs(call, windows_of(w_shape[2:], **attrs), x_shape[2:])
    return TensorType(dtype, (x_shape[0], w_shape[0], *outputs))


def _group(call: OpCall, features: Dim) -> int:
    group: int = call.attrs["group"]
    if group < 1:
        raise call.error("attribute-value", f"attribute group is {group}, expected at least 1")
    if isinstance(features, int) and features % group:
        raise call.error(
            "shape-mismatch", f"{features} feature maps do not divide into {group} groups"
        )
    return group


def _infer_conv(call: OpCall) -> Type:
    dtype = tensor_of(call, 0, FLOATS).dtype
    agree_on_dtype(call, (0, 1, 2))
    result = infer_windowed(call, dtype)
    if call.present(2) and result.shape is not None:
        (bias,) = shaped(call, 2, 1)
        agreed(call, bias, result.shape[1], "the length of the bias")
    return result


def _infer_conv_integer(call: OpCall) -> Type:
    tensor_of(call, 0, (U8, I8))
    tensor_of(call, 1, (U8, I8))
    agree_on_dtype(call, (0, 2))
    agree_on_dtype(call, (1, 3))
    return infer_windowed(call, I32)


@lifted
def _compute_conv(
    xp: Namespace, x: Array, w: Array, b: Array | None = None, *, group: int, **attrs: Any
) -> Array:
    result = correlate(xp, x, w, windows_of(w.shape[2:], **attrs), group)
    if b is not None:
        result += b.reshape(-1, *(1,) * (x.ndim - 2))
    return result


def _compute_conv_integer(
    xp: Namespace,
    x: Array,
    w: Array,
    x_zero_point: Array | None = None,
    w_zero_point: Array | None = None,
    *,
    group: int,
    **attrs: Any,
) -> Array:
    # Products of bytes add up exactly in f64, which the BLAS multiplies; integers it does not.
    x_wide, w_wide = x.astype(xp.float64), w.astype(xp.float64)
    if x_zero_point is not None:
        x_wide -= x_zero_point.astype(xp.float64).reshape(())
    if w_zero_point is not None:
        w_wide -= w_zero_point.astype(xp.float64).reshape(-1, *(1,) * (w.ndim - 1))
    exact = correlate(xp, x_wide, w_wide, windows_of(w.shape[2:], **attrs), group)
    return exact.astype(xp.int64).astype(xp.int32)


def correlate(xp: Namespace, x: Array, w: Array, windows: Windows, group: int) -> Array:
    """Return ``x`` correlated with the kernels ``w``, in the dtype of both.

    ``x`` is ``[N, C, spatial…]``, ``w`` is ``[M, C/group, kernel…]``, the result ``[N, M, …]``.

    Raises:
        DataError: The channels do not fit, or a kernel is larger than the padded ``x``.
    """
    if x.shape[1] != w.shape[1] * group or w.shape[0] % group:
        raise DataError(
            "shape-mismatch",
            f"{x.shape[1]} channels do not fit weights of shape {w.shape} in {group} groups",
        )
    outputs = run_outputs(windows, x.shape[2:])
    result = xp.zeros((x.shape[0], group, w.shape[0] // group, *outputs), dtype=x.dtype)
    if result.size and w.size:
        view = window_view(xp, padded(xp, x, windows, 0), windows, outputs)
        _fill(xp, result, view, w.reshape(group, w.shape[0] // group, -1))
    return result.reshape(x.shape[0], w.shape[0], *outputs)


def _fill(xp: Namespace, result: Array, view: Array, weights: Array) -> None:
    """Write ``weights`` times the windows of ``view`` into ``result``, block by block."""
    group, features, depth = weights.shape
    rank = result.ndim - 3
    for images, axis, rows in _blocks(result.shape, group * depth * result.dtype.itemsize):
        within = (slice(None),) * axis + (rows,)
        block = view[(images, *(slice(None),) * (1 + rank), *within)]
        columns = block.reshape(block.shape[0], group, depth, -1)
        product = xp.matmul(weights, columns)
        shape = (-1, group, features, *block.shape[-rank:])
        result[(images, slice(None), slice(None), *within)] = product.reshape(shape)


def _blocks(shape: tuple[int, ...], bytes_each: int) -> Iterator[tuple[slice, int, slice]]:
    """Yield blocks of images, and of places along the longest output axis, small enough."""
    outputs = shape[3:]
    places = 1
    for size in outputs:
        places *= size
    axis = max(range(len(outputs)), key=lambda i: outputs[i])
    fit = max(1, BLOCK_BYTES // max(1, bytes_each))
    images = max(1, min(shape[0], fit // places))
    rows = max(1, min(outputs[axis], fit * outputs[axis] // places))
    for image in range(0, shape[0], images):
        for row in range(0, outputs[axis], rows):
            yield slice(image, image + images), axis, slice(row, row + rows)


_ATTRS: Final = {**ATTRS, "group": Attr((int,), 1)}

CONV: Final = OpDef(
    name="conv",
    summary="Correlate the spatial axes with kernels, summing over the channels of a group.",
    operands=(Operand("x"), Operand("w"), Operand("b", optional=True)),
    infer=_infer_conv,
    compute=_compute_conv,
    attrs=_ATTRS,
    origin="onnx",
)

CONV_INTEGER: Final = OpDef(
    name="conv_integer",
    summary="Correlate bytes, less their zero points, with kernels of bytes; exact, into i32.",
    operands=(
        Operand("x"),
        Operand("w"),
        Operand("x_zero_point", optional=True),
        Operand("w_zero_point", optional=True),
    ),
    infer=_infer_conv_integer,
    compute=_compute_conv_integer,
    attrs=_ATTRS,
    traits=frozenset({Trait.EXACT}),
    origin="onnx",
)

OPS: Final = (CONV, CONV_TRANSPOSE, CONV_INTEGER)
