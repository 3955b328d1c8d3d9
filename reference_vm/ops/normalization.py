"""Operators that scale elements by what their neighbours are: softmax and the normalizations.

softmax, log_softmax, layer_norm, batch_norm, instance_norm, lrn.
"""

from __future__ import annotations

from typing import Any, Final

from reference_vm.ops.checks import agree_on_dtype, tensor_of
from reference_vm.ops.definition import Array, Attr, Namespace, OpCall, OpDef, Operand
from reference_vm.ops.numerics import lifted
from reference_vm.ops.operands import agreed, shaped
from reference_vm.ops.row_rules import LAYER_NORM_ROWS, LOG_SOFTMAX_ROWS, SOFTMAX_ROWS
from reference_vm.ops.shapes import broadcast, normalize_axis
from reference_vm.types import TensorType, Type
from reference_vm.types.dtype import FLOATS


def _infer_along_axis(call: OpCall) -> Type:
    x = tensor_of(call, 0, FLOATS)
    if x.shape is not None:
        normalize_axis(call, call.attrs["axis"], len(x.shape))
    return TensorType(x.dtype, x.shape)


@lifted
def _compute_softmax(xp: Namespace, x: Array, *, axis: int) -> Array:
    if not x.size:
        return x.copy()
    powers = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    powers /= xp.sum(powers, axis=axis, keepdims=True)
    return powers


@lifted
def _compute_log_softmax(xp: Namespace, x: Array, *, axis: int) -> Array:
    if not x.size:
        return x.copy()
    shifted = x - xp.max(x, axis=axis, keepdims=True)
    shifted -= xp.log(xp.sum(xp.exp(shifted), axis=axis, keepdims=True))
    return shifted


def _infer_layer_norm(call: OpCall) -> Type:
    x = tensor_of(call, 0, FLOATS)
    agree_on_dtype(call, (0, 1, 2))
    if x.shape is None:
        return TensorType(x.dtype, None)
    normalize_axis(call, call.attrs["axis"], len(x.shape))
    for index in (1, 2):
        if call.present(index):
            _check_broadcast_to_x(call, x, index)
    return TensorType(x.dtype, x.shape)


def _check_broadcast_to_x(call: OpCall, x: TensorType, index: int) -> None:
    together = broadcast(call, (x.shape, call.tensor(index).shape))
    if together is None or x.shape is None:
        return
    name = call.op.operand(index).name
    if len(together) != len(x.shape):
        raise call.error("shape-mismatch", f"operand {name} has a greater rank than x")
    for axis, (found, expected) in enumerate(zip(together, x.shape, strict=True)):
        agreed(call, found, expected, f"axis {axis} of x, broadcast with {name},")


@lifted
def _compute_layer_norm(
    xp: Namespace, x: Array, scale: Array, bias: Array | None = None, *, axis: int, epsilon: float
) -> Array:
    result = _standardized(xp, x, tuple(range(axis % x.ndim, x.ndim)), epsilon)
    result *= scale
    if bias is not None:
        result += bias
    return result


def _standardized(xp: Namespace, x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    """Return ``x`` with mean 0 and variance 1 over ``axes``, in fresh memory."""
    if not x.size:
        return x.copy()
    centred = x - xp.mean(x, axis=axes, keepdims=True)
    variance = xp.mean(centred * centred, axis=axes, keepdims=True)
    centred /= xp.sqrt(variance + x.dtype.type(epsilon))
    return centred


def _infer_per_channel(call: OpCall) -> Type:
    x = tensor_of(call, 0, FLOATS)
    given = range(1, len(call.op.operands))
    channels = x.shape[1] if x.shape is not None and len(x.shape) > 1 else None
    if x.shape is not None and not x.shape:
        raise call.error("rank-mismatch", "operand x has rank 0, expected at least 1")
    for index in given:
        tensor_of(call, index, FLOATS)
        (found,) = shaped(call, index, 1)
        expected = 1 if channels is None and x.shape is not None else channels
        if expected is not None:
            agreed(call, found, expected, f"the length of operand {call.op.operand(index).name}")
    return TensorType(x.dtype, x.shape)


def _infer_instance_norm(call: OpCall) -> Type:
    agree_on_dtype(call, (0, 1, 2))
    x = call.tensor(0)
    if x.shape is not None and len(x.shape) < 3:
        raise call.error("rank-mismatch", f"operand x has rank {len(x.shape)}, expected 3 or more")
    return _infer_per_channel(call)


def _along_channels(values: Array, rank: int) -> Array:
    """Return a vector of one value a channel, shaped to broadcast with a tensor of ``rank``."""
    return values.reshape(-1, *(1,) * (rank - 2))


def _compute_batch_norm(xp: Namespace, x: Array, *given: Array, **attrs: Any) -> Array:
    return _batch_norm(xp, x, *given, **attrs).astype(x.dtype, copy=False)


@lifted
def _batch_norm(
    xp: Namespace,
    x: Array,
    scale: Array,
    bias: Array,
    mean: Array,
    variance: Array,
    *,
    epsilon: float,
) -> Array:
    deviation = xp.sqrt(variance + variance.dtype.type(epsilon))
    result = x - _along_channels(mean, x.ndim)
    result = result / _along_channels(deviation, x.ndim)
    result = result * _along_channels(scale, x.ndim)
    return result + _along_channels(bias, x.ndim)


@lifted
def _compute_instance_norm(
    xp: Namespace, x: Array, scale: Array, bias: Array, *, epsilon: float
) -> Array:
    result = _standardized(xp, x, tuple(range(2, x.ndim)), epsilon)
    result *= _along_channels(scale, x.ndim)
    result += _along_channels(bias, x.ndim)
    return result


def _infer_lrn(call: OpCall) -> Type:
    x = tensor_of(call, 0, FLOATS)
    if x.shape is not None and len(x.shape) < 2:
        raise call.error("rank-mismatch", f"operand x has rank {len(x.shape)}, expected 2 or more")
    if call.attrs["size"] < 1:
        raise call.error("attribute-value", f"size is {call.attrs['size']}, expected at least 1")
    return TensorType(x.dtype, x.shape)


@lifted
def _compute_lrn(
    xp: Namespace, x: Array, *, alpha: float, beta: float, bias: float, size: int
) -> Array:
    channels = x.shape[1]
    squares = x * x
    total = xp.zeros_like(squares)
    before = (size - 1) // 2
    for offset in range(-before, size - before):
        first, end = max(0, -offset), min(channels, channels - offset)
        if first < end:
            total[:, first:end] += squares[:, first + offset : end + offset]
    return x / (bias + alpha / size * total) ** beta


_EPSILON: Final = {"epsilon": Attr((float,), 1e-5)}

SOFTMAX: Final = OpDef(
    name="softmax",
    summary="Divide the exponentials along an axis by their sum; a row of minus infinity is NaN.",
    operands=(Operand("x"),),
    infer=_infer_along_axis,
    compute=_compute_softmax,
    attrs={"axis": Attr((int,), -1)},
    loops=SOFTMAX_ROWS,
    origin="onnx",
)

LOG_SOFTMAX: Final = OpDef(
    name="log_softmax",
    summary="Take the logarithm of softmax, without underflow.",
    operands=(Operand("x"),),
    infer=_infer_along_axis,
    compute=_compute_log_softmax,
    attrs={"axis": Attr((int,), -1)},
    loops=LOG_SOFTMAX_ROWS,
    origin="onnx",
)

LAYER_NORM: Final = OpDef(
    name="layer_norm",
    summary="Bring the axes from one on to mean 0 and variance 1, then scale and shift.",
    operands=(Operand("x"), Operand("scale"), Operand("bias", optional=True)),
    infer=_infer_layer_norm,
    compute=_compute_layer_norm,
    attrs={"axis": Attr((int,), -1), **_EPSILON},
    loops=LAYER_NORM_ROWS,
    origin="onnx",
)

BATCH_NORM: Final = OpDef(
    name="batch_norm",
    summary="Normalize each channel by a given mean and variance, then scale and shift.",
    operands=(
        Operand("x"),
        Operand("scale"),
        Operand("bias"),
        Operand("mean"),
        Operand("variance"),
    ),
    infer=_infer_per_channel,
    compute=_compute_batch_norm,
    attrs=_EPSILON,
    origin="onnx",
)

INSTANCE_NORM: Final = OpDef(
    name="instance_norm",
    summary="Bring each channel of each image to mean 0 and variance 1, then scale and shift.",
    operands=(Operand("x"), Operand("scale"), Operand("bias")),
    infer=_infer_instance_norm,
    compute=_compute_instance_norm,
    attrs=_EPSILON,
    origin="onnx",
)

LRN: Final = OpDef(
    name="lrn",
    summary="Divide by a power of the sum of squares over neighbouring channels.",
    operands=(Operand("x"),),
    infer=_infer_lrn,
    compute=_compute_lrn,
    attrs={
        "alpha": Attr((float,), 0.0001),
        "beta": Attr((float,), 0.75),
        "bias": Attr((float,), 1.0),
        "size": Attr((int,)),
    },
    origin="onnx",
)

OPS: Final = (SOFTMAX, LOG_SOFTMAX, LAYER_NORM, BATCH_NORM, INSTANCE_NORM, LRN)
