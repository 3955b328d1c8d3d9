"""Fourier transforms: stft, dft.

A complex tensor has a last axis of two, real and imaginary part; a real one has a last axis of one,
which stft may do without. Transforms are computed in f64 and rounded once.
"""

from __future__ import annotations

from typing import Final

from reference_vm.ops.checks import agree_on_dtype, tensor_of
from reference_vm.ops.definition import Array, Attr, DataError, Namespace, OpCall, OpDef, Operand
from reference_vm.ops.host_values import integer, known_integer
from reference_vm.ops.operands import agreed, shaped
from reference_vm.types import UNKNOWN, Dim, TensorType, Type
from reference_vm.types import dim as dims
from reference_vm.types.dtype import FLOATS


def _bins(length: Dim, onesided: bool) -> Dim:
    return dims.add(dims.floordiv(length, 2), 1) if onesided else length


def _check_positive(call: OpCall, value: Dim, what: str) -> None:
    if isinstance(value, int) and value < 1:
        raise call.error("attribute-value", f"{what} is {value}, expected at least 1")


def _infer_stft(call: OpCall) -> Type:
    signal = tensor_of(call, 0, FLOATS)
    agree_on_dtype(call, (0, 2))
    if signal.shape is None:
        return TensorType(signal.dtype, (UNKNOWN,) * 3 + (2,))
    if len(signal.shape) not in (2, 3):
        raise call.error("rank-mismatch", f"signal has rank {len(signal.shape)}, expected 2 or 3")
    onesided = call.attrs["onesided"]
    if len(signal.shape) == 3:
        _check_parts(call, signal.shape[2], real=onesided)
    length = _frame_length(call, signal.shape[1])
    step = known_integer(call, 1)
    _check_positive(call, step, "frame_step")
    _check_positive(call, length, "the frame length")
    room = dims.subtract(signal.shape[1], length)
    if isinstance(room, int) and room < 0:
        raise call.error(
            "shape-mismatch", f"a frame of {length} is longer than a signal of {signal.shape[1]}"
        )
    frames = dims.add(dims.floordiv(room, step), 1)
    return TensorType(signal.dtype, (signal.shape[0], frames, _bins(length, onesided), 2))


def _frame_length(call: OpCall, signal: Dim) -> Dim:
    window = shaped(call, 2, 1)[0] if call.present(2) else None
    if not call.present(3):
        return signal if window is None else window
    length = known_integer(call, 3)
    return length if window is None else agreed(call, window, length, "the length of the window")


def _check_parts(call: OpCall, parts: Dim, *, real: bool) -> None:
    if isinstance(parts, int) and (parts not in (1, 2) or (real and parts == 2)):
        expected = "1, as onesided transforms are of real ones" if real else "1 or 2"
        raise call.error("shape-mismatch", f"the last axis has {parts} parts, expected {expected}")


def _compute_stft(
    xp: Namespace,
    signal: Array,
    frame_step: Array,
    window: Array | None = None,
    frame_length: Array | None = None,
    *,
    onesided: bool,
) -> Array:
    step = integer(frame_step)
    if frame_length is not None:
        length = integer(frame_length)
    else:
        length = signal.shape[1] if window is None else window.shape[0]
    check_frames(signal.shape[1], length, step, None if window is None else window.shape[0])
    values = _as_numbers(xp, signal if signal.ndim == 3 else signal[:, :, None])
    strides = (values.strides[0], step * values.strides[1], values.strides[1])
    shape = (values.shape[0], (values.shape[1] - length) // step + 1, length)
    frames = xp.lib.stride_tricks.as_strided(values, shape, strides)
    if window is not None:
        frames = frames * window.astype(xp.float64)
    spectrum = _forward(xp, frames, length, 2, onesided)
    return _as_parts(xp, spectrum, signal.dtype)


def check_frames(size: int, length: int, step: int, window: int | None) -> None:
    """Check that frames fit a signal, and the window, if there is one, a frame.

    Raises:
        DataError: They do not.
    """
    if step < 1 or not 1 <= length <= size:
        raise DataError(
            "shape-mismatch", f"frames of {length} every {step} do not fit a signal of {size}"
        )
    if window is not None and window != length:
        raise DataError("shape-mismatch", f"a window of {window} does not fit frames of {length}")


def _as_numbers(xp: Namespace, x: Array) -> Array:
    """Return ``x`` without its last axis, real or complex, in double precision."""
    if x.shape[-1] not in (1, 2):
        raise DataError("shape-mismatch", f"the last axis has {x.shape[-1]} parts, expected 1 or 2")
    wide = x.astype(xp.float64)
    return wide[..., 0] if x.shape[-1] == 1 else wide[..., 0] + 1j * wide[..., 1]


def _as_parts(xp: Namespace, x: Array, dtype: object) -> Array:
    """Return complex ``x`` as real and imaginary part in a last axis."""
    return xp.stack([x.real, x.imag], axis=-1).astype(dtype)


def _forward(xp: Namespace, x: Array, length: int, axis: int, onesided: bool) -> Array:
    if onesided:
        _check_real(xp, x)
        return xp.fft.rfft(x, length, axis=axis)
    return xp.fft.fft(x, length, axis=axis)


def _check_real(xp: Namespace, x: Array) -> None:
    if xp.iscomplexobj(x):
        raise DataError("shape-mismatch", "a onesided transform is of a real tensor, found complex")


def _infer_dft(call: OpCall) -> Type:
    x = tensor_of(call, 0, FLOATS)
    onesided, inverse = call.attrs["onesided"], call.attrs["inverse"]
    if x.shape is None:
        return TensorType(x.dtype, None)
    if len(x.shape) < 2:
        raise call.error("rank-mismatch", f"x has rank {len(x.shape)}, expected at least 2")
    _check_parts(call, x.shape[-1], real=onesided and not inverse)
    if onesided and inverse and x.shape[-1] == 1:
        raise call.error("shape-mismatch", "a onesided inverse is of a complex tensor, found real")
    parts = 1 if onesided and inverse else 2
    axis = known_integer(call, 2) if call.present(2) else -2
    if not isinstance(axis, int):
        return TensorType(x.dtype, (*(UNKNOWN,) * (len(x.shape) - 1), parts))
    axis = _signal_axis(call, axis, len(x.shape))
    length = known_integer(call, 1) if call.present(1) else _default_length(call, x.shape[axis])
    _check_positive(call, length, "the length")
    size = _bins(length, onesided and not inverse)
    return TensorType(x.dtype, (*x.shape[:axis], size, *x.shape[axis + 1 : -1], parts))


def _signal_axis(call: OpCall, axis: int, rank: int) -> int:
    if not (-rank <= axis <= -2 or 0 <= axis <= rank - 2):
        raise call.error(
            "axis-out-of-range", f"axis {axis} of a tensor of rank {rank}, its last axis aside"
        )
    return axis % rank


def _default_length(call: OpCall, size: Dim) -> Dim:
    if call.attrs["onesided"] and call.attrs["inverse"]:
        return dims.multiply(2, dims.subtract(size, 1))
    return size


def _compute_dft(
    xp: Namespace,
    x: Array,
    length: Array | None = None,
    axis: Array | None = None,
    *,
    inverse: bool,
    onesided: bool,
) -> Array:
    along = -2 if axis is None else integer(axis)
    if not (-x.ndim <= along <= -2 or 0 <= along <= x.ndim - 2):
        raise DataError("axis-out-of-range", f"axis {along} of a tensor of rank {x.ndim}")
    along %= x.ndim
    values, size = _as_numbers(xp, x), x.shape[along]
    both = onesided and inverse
    points = integer(length) if length is not None else 2 * (size - 1) if both else size
    if points < 1:
        raise DataError("shape-mismatch", f"a transform of length {points}, expected at least 1")
    if both:
        return xp.fft.irfft(values, points, axis=along)[..., None].astype(x.dtype)
    if inverse:
        return _as_parts(xp, xp.fft.ifft(values, points, axis=along), x.dtype)
    return _as_parts(xp, _forward(xp, values, points, along, onesided), x.dtype)


STFT: Final = OpDef(
    name="stft",
    summary="Transform each windowed frame of a signal, a step apart, into its spectrum.",
    operands=(
        Operand("signal"),
        Operand("frame_step", host=True),
        Operand("window", optional=True),
        Operand("frame_length", optional=True, host=True),
    ),
    infer=_infer_stft,
    compute=_compute_stft,
    attrs={"onesided": Attr((bool,), True)},
    origin="onnx",
)

DFT: Final = OpDef(
    name="dft",
    summary="Take the discrete Fourier transform along an axis, or its inverse.",
    operands=(
        Operand("x"),
        Operand("length", optional=True, host=True),
        Operand("axis", optional=True, host=True),
    ),
    infer=_infer_dft,
    compute=_compute_dft,
    attrs={"inverse": Attr((bool,), False), "onesided": Attr((bool,), False)},
    origin="onnx",
)

OPS: Final = (STFT, DFT)
