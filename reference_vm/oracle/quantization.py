"""What quantizing means: round half to even after a division, saturate, and integer products.

A rounding is a decision: where an operand's error reaches over a tie, the result may be off by what
lies between the two ends, and what is computed from it may be off accordingly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from reference_vm.oracle.definition import Meaning, Operands, exactly
from reference_vm.oracle.estimate import NOT_NEGATIVE, Estimate, Result, Wide, unit
from reference_vm.oracle.linalg import times
from reference_vm.types import DType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import F32, I32, U8

DIVISION: Final = 4 * F32.unit_roundoff
"""What the division by a scale may be off, as a part of the quotient."""


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


def _zero(call: Operands, index: int, shape: tuple[int, ...]) -> tuple[Wide, Wide]:
    """Return a zero point and what it may be off, as they broadcast against the operand."""
    zero = call.optional(index)
    if zero is None:
        return np.zeros(()), np.zeros(())
    return _along(call, zero.value.astype(np.float64), shape), _along(call, zero.errors, shape)


def _saturated(values: Wide, target: DType) -> Wide:
    clipped = np.clip(np.nan_to_num(values, nan=0.0), target.minimum, target.maximum)
    return np.asarray(clipped.astype(to_numpy(target)))


def _quotients(x: Wide, error: Wide, scale: Wide, loose: Wide) -> tuple[Wide, Wide, Wide]:
    """Return ``x / scale``, and the least and the greatest that a run may make of it.

    Infinite errors, and a scale that may be 0, leave everything open.
    """
    with np.errstate(all="ignore"):
        ratio = np.asarray(x / scale)
        size = np.abs(scale)
        least = size - loose
        off = (error + np.abs(ratio) * loose) / np.where(least > 0, least, np.nan)
        off = np.nan_to_num(off, nan=np.inf) + np.abs(ratio) * DIVISION
        off = np.where(np.isfinite(ratio) | (error > 0) | (loose > 0), off, 0.0)
        open_ = np.isinf(off)
        return ratio, np.where(open_, -np.inf, ratio - off), np.where(open_, np.inf, ratio + off)


def _whole(ratio: Wide, low: Wide, high: Wide, exact: Wide) -> tuple[Wide, Wide, Wide]:
    """Return the quotients rounded; an exact tie is no matter of rounding where all is exact."""
    own = np.rint(ratio)
    with np.errstate(all="ignore"):
        tied = exact & (np.abs(ratio - np.floor(ratio)) == 0.5)
    least, most = np.rint(low), np.rint(high)
    return own, np.where(tied, own, least), np.where(tied, own, most)


def _quantize_linear(call: Operands) -> Estimate:
    x, scale, zero = call[0], call[1], call.optional(2)
    shape = x.value.shape
    named = call.attrs.get("output_dtype")
    target = zero.dtype if zero is not None else (named if isinstance(named, DType) else U8)
    factor, loose = _along(call, scale.value, shape), _along(call, scale.errors, shape)
    offset, shift = _zero(call, 2, shape)
    with np.errstate(all="ignore"):
        ratio, low, high = _quotients(x.value, x.errors, factor, loose)
        exact = np.broadcast_to((x.errors == 0) & (loose == 0), shape)
        own, low, high = _whole(ratio, low, high, exact)
        ends = _saturated(low + offset - shift, target), _saturated(high + offset + shift, target)
        return call.decide_between(_saturated(own + offset, target), *ends, target)


def _dequantize_linear(call: Operands) -> Estimate:
    x, scale = call[0], call[1]
    shape = x.value.shape
    factor, loose = _along(call, scale.value, shape), _along(call, scale.errors, shape)
    offset, shift = _zero(call, 2, shape)
    whole = x.value.astype(np.float64) - offset
    value = np.asarray(whole * factor)
    own = np.abs(value) * unit(scale.dtype)
    wanted = call.attrs["output_dtype"]
    dtype = wanted if isinstance(wanted, DType) else scale.dtype

    def propagated() -> Wide:
        off = x.errors + shift
        return np.asarray(off * np.abs(factor) + (np.abs(whole) + off) * loose)

    moves = propagated if call.has_errors else None
    return call.rounding.result(value, dtype, own=np.asarray(own), propagated=moves)


def _dynamic_quantize_linear(call: Operands) -> Result:
    """The scale is off as the extremes are, and the zero point and the elements as it is."""
    x = call[0]
    low, high = (float(f(x.value, initial=0.0)) for f in (np.min, np.max))
    off = float(np.max(x.errors, initial=0.0))
    ends = off if _extreme(x, -1) + off > 0 else 0.0, off if _extreme(x, 1) + off > 0 else 0.0
    scale = np.float64(np.float32((np.float32(high) - np.float32(low)) / np.float32(255)))
    loose = float(sum(ends)) / 255 + float(scale) * 2.0**-22
    scales = np.asarray(scale), np.asarray(loose)
    zero, zero_low, zero_high = _zero_point(low, off, scale, loose)
    ratio, ratio_low, ratio_high = _quotients(x.value, x.errors, *scales)
    if not scale:
        ratio = np.zeros(x.value.shape)
    own, least, most = _whole(ratio, ratio_low, ratio_high, np.zeros(x.value.shape, np.bool_))
    if not scale and not off:
        least = most = own
    elements = call.decide_between(
        _saturated(own + zero, U8),
        _saturated(least + zero_low, U8),
        _saturated(most + zero_high, U8),
        U8,
    )
    made = call.rounding.result(
        scales[0],
        F32,
        own=np.asarray(scale * 2.0**-22),
        propagated=lambda: np.asarray(float(sum(ends)) / 255),
        limits=NOT_NEGATIVE,
    )
    point, least, most = (_saturated(np.asarray(p), U8) for p in (zero, zero_low, zero_high))
    return elements, made, call.decide_between(point, least, most, U8, part=2)


def _extreme(x: Estimate, sign: int) -> float:
    """Return the greatest element, or with ``sign`` -1 the greatest of the negated ones."""
    return float(np.max(sign * x.value, initial=-np.inf))


def _zero_point(low: float, off: float, scale: float, loose: float) -> tuple[float, float, float]:
    """Return the zero point, and the least and the greatest that it may be."""
    if not scale:
        return (0.0, 0.0, 0.0) if not off else (0.0, 0.0, 255.0)
    bound = np.asarray(-low)
    ratio, least, most = _quotients(bound, np.asarray(off), np.asarray(scale), np.asarray(loose))
    return tuple(float(np.rint(np.clip(v, 0, 255))) for v in (ratio, least, most))  # type: ignore[return-value]


def integer_product(
    call: Operands,
    x: tuple[Wide, Wide],
    y: tuple[Wide, Wide],
    multiply: Callable[[Wide, Wide], Wide],
) -> Estimate:
    """Return a product of small integers less their zero points, exact in i32.

    Args:
        call: The call.
        x: The left operand less its zero point, and what it may be off.
        y: The right one.
        multiply: The bilinear operation.
    """
    # Sums of products of bytes are exact in f64.
    value = np.asarray(multiply(x[0], y[0])).astype(np.int64).astype(np.int32)
    if not call.has_errors or call.rounding.is_random:
        return Estimate(value, None, I32)
    (left, left_error), (right, right_error) = x, y
    error = times(multiply, left_error, np.abs(right) + right_error)
    error = error + times(multiply, np.abs(left), right_error)
    return exactly(call, value, error, I32)


def less_zero(
    x: Estimate, zero: Estimate | None, shape: Callable[[Wide], Wide]
) -> tuple[Wide, Wide]:
    """Return an operand less its zero point, which ``shape`` makes broadcast, and its error."""
    value, error = x.value.astype(np.float64), x.errors
    if zero is None:
        return value, error
    return value - shape(zero.value.astype(np.float64)), error + shape(zero.errors)


def _matmul_integer(call: Operands) -> Estimate:
    def by_row(zero: Wide) -> Wide:
        return zero[..., None] if zero.ndim == 1 and zero.size > 1 else zero

    a = less_zero(call[0], call.optional(2), by_row)
    b = less_zero(call[1], call.optional(3), lambda zero: zero)
    return integer_product(call, a, b, np.matmul)


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType(
    {
        "quantize_linear": _quantize_linear,
        "dequantize_linear": _dequantize_linear,
        "dynamic_quantize_linear": _dynamic_quantize_linear,
        "matmul_integer": _matmul_integer,
    }
)
