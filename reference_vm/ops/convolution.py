"""Convolutions: conv, conv_transpose, conv_integer."""

from __future__ import annotations

from typing import Any, Final

from reference_vm.loops.kernel import Correlation
from reference_vm.ops.checks import agree_on_dtype, expect_rank, tensor_of
from reference_vm.ops.convolution_transpose import CONV_TRANSPOSE
from reference_vm.ops.correlation import correlate
from reference_vm.ops.definition import (
    Array,
    Attr,
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
    check_window_attrs,
    checked_outputs,
    windows_of,
)
from reference_vm.types import UNKNOWN, Dim, DType, TensorType, Type
from reference_vm.types import dim as dims
from reference_vm.types.dtype import FLOATS, I8, I32, U8


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
    result = infer_windowed(call, I32)
    _check_zero_point(call, 2, 1)
    _check_zero_point(call, 3, UNKNOWN if result.shape is None else result.shape[1])
    return result


def _check_zero_point(call: OpCall, index: int, count: Dim) -> None:
    """Check that a zero point is one number, or a vector of so many."""
    if not call.present(index):
        return
    expect_rank(call, index, (0, 1))
    shape = call.tensor(index).shape
    if shape and shape[0] != 1:
        name = call.op.operand(index).name
        agreed(call, shape[0], count, f"the length of operand {name}")


@lifted
def _compute_conv(
    xp: Namespace,
    x: Array,
    w: Array,
    b: Array | None = None,
    *,
    group: int,
    out: Array | None = None,
    **attrs: Any,
) -> Array:
    return correlate(xp, x, w, windows_of(w.shape[2:], **attrs), group, b, out)


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


_ATTRS: Final = {**ATTRS, "group": Attr((int,), 1)}

CONV: Final = OpDef(
    name="conv",
    summary="Correlate the spatial axes with kernels, summing over the channels of a group.",
    operands=(Operand("x"), Operand("w"), Operand("b", optional=True)),
    infer=_infer_conv,
    compute=_compute_conv,
    attrs=_ATTRS,
    loops=Correlation(),
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
