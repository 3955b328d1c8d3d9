"""What quantizing means: round half to even after a division, saturate, and integer products."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from reference_vm.oracle.definition import Meaning, Operands
from reference_vm.oracle.estimate import Estimate, Result, Wide, unit
from reference_vm.types import DType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import F32, I32, U8


def _along(call: Operands, parameter: Wide, shape: tuple[int, ...]) -> Wide:
    """Return a scale or zero point so that it broadcasts against the quantized operand."""
    if parameter.ndim == 0 or parameter.size == 1:
        return parameter.reshape(())
    axis = int(call.attrs["axis"]) % len(shape)
    block = int(call.attrs["block_size"]) if "block_size" in call.attrs else 0
    if block:
        repeated = np.repeat(parameter, block, axis)
        return np.take(repeated, range(shape[axis]), axis)
    return parameter.reshape([-1 if i == axis else 1 for i in range(len(shape))])


def _zero(call: Operands, index: int, shape: tuple[int, ...]) -> Wide:
    zero = call.optional(index)
    if zero is None:
        return np.zeros(())
    return _along(call, zero.value.astype(np.float64), shape)


def _saturated(values: Wide, target: DType) -> Wide:
    clipped = np.clip(np.nan_to_num(values, nan=0.0), target.minimum, target.maximum)
    return np.asarray(clipped.astype(to_numpy(target)))


def _quantize_linear(call: Operands) -> Estimate:
    x, scale, zero = call[0], call[1], call.optional(2)
    shape = x.value.shape
    named = call.attrs.get("output_dtype")
    target = zero.dtype if zero is not None else (named if isinstance(named, DType) else U8)
    with np.errstate(all="ignore"):
        ratio = x.value / _along(call, scale.value, shape)
        offset = _zero(call, 2, shape)
        own = _saturated(np.rint(ratio) + offset, target)
        loose = np.abs(_along(call, scale.errors, shape) / _along(call, scale.value, shape))
        slack = np.abs(ratio) * (4 * F32.unit_roundoff + loose) + x.errors
        tie = np.abs(np.abs(ratio - np.floor(ratio)) - 0.5)
    tied_exactly = (tie == 0) & (x.errors == 0) & (loose == 0)
    margin = np.where(tied_exactly, 1.0, tie - slack)
    return call.decide(own, margin, target)


def _dequantize_linear(call: Operands) -> Estimate:
    x, scale = call[0], call[1]
    shape = x.value.shape
    value = (x.value.astype(np.float64) - _zero(call, 2, shape)) * _along(call, scale.value, shape)
    own = np.abs(value) * unit(scale.dtype)
    wanted = call.attrs["output_dtype"]
    dtype = wanted if isinstance(wanted, DType) else scale.dtype
    return call.rounding.result(np.asarray(value), dtype, own=np.asarray(own))


def _dynamic_quantize_linear(call: Operands) -> Result:
    x = call[0]
    low = min(0.0, float(np.min(x.value, initial=0.0)))
    high = max(0.0, float(np.max(x.value, initial=0.0)))
    scale = np.float64(np.float32((np.float32(high) - np.float32(low)) / np.float32(255)))
    zero = np.rint(np.clip(-low / scale, 0, 255)) if scale else np.float64(0)
    ratio = x.value / scale if scale else np.zeros(x.value.shape)
    own = np.clip(np.rint(ratio) + zero, 0, 255).astype(np.uint8)
    tie = np.abs(np.abs(ratio - np.floor(ratio)) - 0.5)
    margin = tie - np.abs(ratio) * (8 * F32.unit_roundoff) - x.errors
    return (
        call.decide(own, margin, U8),
        call.rounding.result(np.asarray(scale), F32, own=np.asarray(scale * 2.0**-22)),
        Estimate(np.asarray(zero, np.uint8), None, U8),
    )


def _matmul_integer(call: Operands) -> Estimate:
    a, b = call[0].value.astype(np.int64), call[1].value.astype(np.int64)
    a_zero, b_zero = call.optional(2), call.optional(3)
    if a_zero is not None:
        zero = a_zero.value.astype(np.int64)
        a = a - (zero[..., None] if zero.ndim == 1 and zero.size > 1 else zero)
    if b_zero is not None:
        zero = b_zero.value.astype(np.int64)
        b = b - zero
    return Estimate(np.matmul(a, b).astype(np.int32), None, I32)


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType(
    {
        "quantize_linear": _quantize_linear,
        "dequantize_linear": _dequantize_linear,
        "dynamic_quantize_linear": _dynamic_quantize_linear,
        "matmul_integer": _matmul_integer,
    }
)
