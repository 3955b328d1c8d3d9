"""The type rules of quantize_linear and dequantize_linear: one scale, one an axis, or in blocks."""

from __future__ import annotations

from typing import Final

from reference_vm.ops.checks import agree_on_dtype, tensor_of
from reference_vm.ops.definition import OpCall
from reference_vm.ops.operands import agreed
from reference_vm.ops.shapes import normalize_axis
from reference_vm.types import DType, Shape, TensorType, Type
from reference_vm.types.dim import ceildiv
from reference_vm.types.dtype import BF16, F16, F32, I8, I16, I32, U8, U16, U32

QUANTIZED: Final = (U8, I8, U16, I16)
"""What floats are quantized to."""

DEQUANTIZED: Final = (*QUANTIZED, I32, U32)

SCALES: Final = (F32, F16, BF16)


def infer_quantize(call: OpCall) -> Type:
    x, _ = tensor_of(call, 0, (*SCALES, I32)), tensor_of(call, 1, SCALES)
    target: DType = call.attrs["output_dtype"] or U8
    if call.present(2):
        target = tensor_of(call, 2, QUANTIZED).dtype
    named = call.attrs["output_dtype"]
    if named is not None and named != target:
        raise call.error("dtype-mismatch", f"output_dtype is {named}, but zero_point is {target}")
    if target not in QUANTIZED:
        listed = ", ".join(map(str, QUANTIZED))
        raise call.error("attribute-value", f"output_dtype is {target}, expected one of {listed}")
    _check_granularity(call, x)
    return TensorType(target, x.shape)


def infer_dequantize(call: OpCall) -> Type:
    x, scale = tensor_of(call, 0, DEQUANTIZED), tensor_of(call, 1, SCALES)
    agree_on_dtype(call, (0, 2))
    named = call.attrs["output_dtype"]
    if named is not None and named not in SCALES:
        listed = ", ".join(map(str, SCALES))
        raise call.error("attribute-value", f"output_dtype is {named}, expected one of {listed}")
    _check_granularity(call, x)
    return TensorType(named or scale.dtype, x.shape)


def _check_granularity(call: OpCall, x: TensorType) -> None:
    scale, block = call.tensor(1).shape, call.attrs["block_size"]
    if block < 0:
        raise call.error("attribute-value", f"block_size is {block}, expected at least 0")
    if call.present(2):
        _check_same(call, call.tensor(2).shape, scale)
    if x.shape is None or scale is None or (not block and scale in ((), (1,))):
        return
    axis = normalize_axis(call, call.attrs["axis"], len(x.shape))
    if not block:
        _check_per_axis(call, scale, x.shape, axis)
        return
    if len(scale) != len(x.shape):
        raise call.error("rank-mismatch", f"a blocked scale has rank {len(x.shape)}, as x")
    for index, (found, size) in enumerate(zip(scale, x.shape, strict=True)):
        expected = ceildiv(size, block) if index == axis else size
        agreed(call, found, expected, f"axis {index} of operand scale")


def _check_per_axis(call: OpCall, scale: Shape, x: Shape, axis: int) -> None:
    if len(scale) != 1:
        raise call.error(
            "rank-mismatch",
            f"operand scale has rank {len(scale)}, expected 0 or 1",
            "a scale of the rank of x goes with block_size",
        )
    agreed(call, scale[0], x[axis], "the length of operand scale")


def _check_same(call: OpCall, found: Shape | None, scale: Shape | None) -> None:
    if found is None or scale is None:
        return
    if len(found) != len(scale):
        raise call.error(
            "rank-mismatch", f"operand zero_point has rank {len(found)}, but scale {len(scale)}"
        )
    for left, right in zip(found, scale, strict=True):
        agreed(call, left, right, "a dim of operand zero_point")


__all__ = ["DEQUANTIZED", "QUANTIZED", "infer_dequantize", "infer_quantize"]
