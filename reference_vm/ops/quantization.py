"""Operators between floats and small integers, and products of small integers.

quantize_linear, dequantize_linear, dynamic_quantize_linear, matmul_integer.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from reference_vm.ops.checks import agree_on_dtype, tensor_of
from reference_vm.ops.definition import Array, Attr, Namespace, OpCall, OpDef, Operand, Trait
from reference_vm.ops.numerics import does_not_fit, quiet, widened
from reference_vm.ops.operands import agreed
from reference_vm.ops.products import product
from reference_vm.ops.quantization_types import (
    QUANTIZED,
    infer_dequantize,
    infer_quantize,
)
from reference_vm.ops.shapes import broadcast
from reference_vm.types import DType, Shape, TensorType, TupleType, Type
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import F32, I32, U8


def _spread(
    xp: Namespace, values: Array, shape: tuple[int, ...], axis: int, block_size: int
) -> Array:
    """Return scales or zero points shaped to broadcast with an operand of ``shape``.

    They are one for all, one for each place on ``axis``, or one for each block of places on it.
    """
    if values.size == 1 and not block_size:
        return values.reshape(())
    if not block_size:
        return values.reshape(-1, *(1,) * (len(shape) - 1 - axis % len(shape)))
    repeated = xp.repeat(values, block_size, axis=axis)
    return repeated[(slice(None),) * (axis % len(shape)) + (slice(shape[axis]),)]


def _compute_quantize(
    xp: Namespace,
    x: Array,
    scale: Array,
    zero_point: Array | None = None,
    *,
    axis: int,
    block_size: int,
    output_dtype: DType | None,
) -> Array:
    target = zero_point.dtype if zero_point is not None else to_numpy(output_dtype or U8)
    wide = x.astype(xp.float32, copy=False)
    divisor = _spread(xp, widened(xp, scale), x.shape, axis, block_size)
    zero: Any = 0
    if zero_point is not None:
        zero = _spread(xp, zero_point.astype(xp.float32), x.shape, axis, block_size)
    with quiet():
        try:
            return _saturated(xp, xp.rint(wide / divisor) + zero, target)
        except ValueError as error:
            raise does_not_fit(error) from error


def _saturated(xp: Namespace, values: Array, target: Any) -> Array:
    """Return ``values``, which are whole, in an integer dtype: saturated, and NaN as 0."""
    bounds = np.iinfo(target)
    inside = xp.clip(values, bounds.min, bounds.max)
    return xp.asarray(xp.where(xp.isnan(inside), 0, inside)).astype(target)


def _compute_dequantize(
    xp: Namespace,
    x: Array,
    scale: Array,
    zero_point: Array | None = None,
    *,
    axis: int,
    block_size: int,
    output_dtype: DType | None,
) -> Array:
    target = scale.dtype if output_dtype is None else to_numpy(output_dtype)
    whole = x.astype(xp.int64)
    try:
        if zero_point is not None:
            whole = whole - _spread(xp, zero_point.astype(xp.int64), x.shape, axis, block_size)
        factor = _spread(xp, widened(xp, scale), x.shape, axis, block_size)
        with quiet():
            return xp.asarray(whole.astype(factor.dtype) * factor).astype(target)
    except ValueError as error:
        raise does_not_fit(error) from error


def _infer_dynamic(call: OpCall) -> Type:
    x = tensor_of(call, 0, (F32,))
    return TupleType((TensorType(U8, x.shape), TensorType(F32, ()), TensorType(U8, ())))


def _compute_dynamic(xp: Namespace, x: Array) -> tuple[Array, Array, Array]:
    """Of zeros alone the scale is 0, as ONNX's formula says; they are quantized to 0."""
    with quiet():
        zero = xp.zeros((1,), dtype=x.dtype)
        flat = xp.concatenate([zero, x.reshape(-1)])
        low, high = xp.min(flat), xp.max(flat)
        scale = xp.asarray((high - low) / x.dtype.type(255))
        zero_point = _saturated(xp, xp.rint(xp.clip(-low / scale, 0, 255)), np.dtype(np.uint8))
        shifted = xp.rint(x / scale) + zero_point.astype(x.dtype)
        return _saturated(xp, shifted, np.dtype(np.uint8)), scale, zero_point


def _infer_matmul_integer(call: OpCall) -> Type:
    a, b = tensor_of(call, 0, QUANTIZED[:2]), tensor_of(call, 1, QUANTIZED[:2])
    agree_on_dtype(call, (0, 2))
    agree_on_dtype(call, (1, 3))
    for index, operand in ((2, a), (3, b)):
        if call.present(index):
            _check_zero_point(call, index, operand.shape)
    return TensorType(I32, _product_shape(call, a.shape, b.shape))


def _check_zero_point(call: OpCall, index: int, operand: Shape | None) -> None:
    """Check that a zero point is one number, or one for each row of ``a`` or column of ``b``."""
    found = call.tensor(index).shape
    if found is None or operand is None or not found:
        return
    name = call.op.operand(index).name
    if len(found) > len(operand):
        limit = f"expected at most {len(operand)}"
        raise call.error("rank-mismatch", f"operand {name} has rank {len(found)}, {limit}")
    per_row = index == 2 and len(found) == 1 and len(operand) > 1
    fitted = operand[-2:-1] if per_row else operand[len(operand) - len(found) :]
    for size, expected in zip(found, fitted, strict=True):
        if size != 1:
            agreed(call, size, expected, f"a dim of operand {name}")


def _product_shape(call: OpCall, a: Shape | None, b: Shape | None) -> Shape | None:
    if a is None or b is None:
        return None
    if not a or not b:
        raise call.error("rank-mismatch", "a product of matrices takes operands of rank 1 or more")
    rows, inner = (1, a[0]) if len(a) == 1 else a[-2:]
    other, columns = (b[0], 1) if len(b) == 1 else b[-2:]
    agreed(call, other, inner, "the number of rows of operand b")
    lead = broadcast(call, (a[:-2], b[:-2]))
    if lead is None:
        return None
    kept = ((rows,) if len(a) > 1 else ()) + ((columns,) if len(b) > 1 else ())
    return lead + kept


def _compute_matmul_integer(
    xp: Namespace,
    a: Array,
    b: Array,
    a_zero_point: Array | None = None,
    b_zero_point: Array | None = None,
) -> Array:
    # Products of bytes add up exactly in f64, which the BLAS multiplies; integers it does not.
    left, right = a.astype(xp.float64), b.astype(xp.float64)
    try:
        if a_zero_point is not None:
            per_row = a_zero_point.ndim == 1 and a_zero_point.size != 1
            left = left - (a_zero_point[:, None] if per_row else a_zero_point).astype(xp.float64)
        if b_zero_point is not None:
            right = right - b_zero_point.astype(xp.float64)
        return xp.asarray(product(xp, left, right)).astype(xp.int64).astype(xp.int32)
    except ValueError as error:
        raise does_not_fit(error) from error


_ATTRS: Final = {
    "axis": Attr((int,), 1),
    "block_size": Attr((int,), 0),
    "output_dtype": Attr((DType, type(None)), None),
}

QUANTIZE_LINEAR: Final = OpDef(
    name="quantize_linear",
    summary="Divide by a scale, round half to even, add a zero point and saturate.",
    operands=(Operand("x"), Operand("scale"), Operand("zero_point", optional=True)),
    infer=infer_quantize,
    compute=_compute_quantize,
    attrs=_ATTRS,
    origin="onnx",
)

DEQUANTIZE_LINEAR: Final = OpDef(
    name="dequantize_linear",
    summary="Subtract a zero point and multiply by a scale.",
    operands=(Operand("x"), Operand("scale"), Operand("zero_point", optional=True)),
    infer=infer_dequantize,
    compute=_compute_dequantize,
    attrs=_ATTRS,
    origin="onnx",
)

DYNAMIC_QUANTIZE_LINEAR: Final = OpDef(
    name="dynamic_quantize_linear",
    summary="Quantize to u8 by the operand's own range; also the scale and the zero point.",
    operands=(Operand("x"),),
    infer=_infer_dynamic,
    compute=_compute_dynamic,
    origin="onnx",
)

MATMUL_INTEGER: Final = OpDef(
    name="matmul_integer",
    summary="Multiply matrices of bytes, less their zero points; exact, into i32.",
    operands=(
        Operand("a"),
        Operand("b"),
        Operand("a_zero_point", optional=True),
        Operand("b_zero_point", optional=True),
    ),
    infer=_infer_matmul_integer,
    compute=_compute_matmul_integer,
    traits=frozenset({Trait.EXACT}),
    origin="onnx",
)

OPS: Final = (QUANTIZE_LINEAR, DEQUANTIZE_LINEAR, DYNAMIC_QUANTIZE_LINEAR, MATMUL_INTEGER)
