"""What Fourier transforms mean: a product with the DFT matrix, in higher precision."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from reference_vm.oracle.definition import Meaning, Operands
from reference_vm.oracle.estimate import Estimate, Wide, unit

Complex = Wide


def _complex(x: Wide) -> Complex:
    """Return an array with a trailing dim of 1 or 2 as complex numbers."""
    if x.shape[-1] == 2:
        return np.asarray(x[..., 0] + 1j * x[..., 1])
    return np.asarray(x[..., 0] + 0j)


def _pairs(z: Complex, dtype: np.dtype[np.generic]) -> Wide:
    return np.stack([z.real, z.imag], -1).astype(dtype)


def _matrix(size: int, inverse: bool) -> Complex:
    """Return the DFT matrix; the phase is reduced in integers, so large sizes stay exact."""
    order = np.arange(size)
    phase = (np.outer(order, order) % size) * (2 * np.pi / size)
    return np.asarray(np.exp(1j * phase) / size if inverse else np.exp(-1j * phase))


def _transform(call: Operands, z: Complex, sizes: Complex, matrix: Complex, kept: int) -> Estimate:
    """Return ``z @ matrix`` over the last axis, the first ``kept`` frequencies, as pairs."""
    x, length = call[0], z.shape[-1]
    kind = x.value.dtype
    value = _pairs(z @ matrix[:, :kept], kind)
    weight = float(np.abs(matrix[0, 0]))
    total = np.sum(np.abs(z), axis=-1, keepdims=True) * weight
    known = np.isfinite(total)  # what infinity times 0 does is left open
    value, total = np.where(known[..., None], value, 0.0), np.where(known, total, np.inf)
    own = np.broadcast_to(total[..., None] * (unit(x.dtype) * (length + 8)), value.shape)
    typical = np.sqrt(np.sum(np.square(np.abs(z)), axis=-1, keepdims=True)) * weight
    noise = np.broadcast_to(typical[..., None] * (unit(x.dtype) * length**0.5), value.shape)

    def propagated() -> Wide:
        grown = np.sum(sizes, axis=-1, keepdims=True) * weight
        return np.asarray(np.broadcast_to(grown[..., None].real, value.shape))

    moves = propagated if call.has_errors else None
    return call.rounding.result(
        value, x.dtype, own=np.asarray(own), noise=lambda: np.asarray(noise), propagated=moves
    )


def _resized(values: Complex, length: int) -> Complex:
    """Return ``values`` cut or padded with zeros to ``length`` on the last axis."""
    if values.shape[-1] >= length:
        return values[..., :length]
    widths = [(0, 0)] * (values.ndim - 1) + [(0, length - values.shape[-1])]
    return np.pad(values, widths)


def _dft(call: Operands) -> Estimate:
    x = call[0]
    given = call.integers(2)
    axis = given[0] if given else -2
    axis = axis % x.value.ndim
    wanted = call.integers(1)
    inverse, onesided = bool(call.attrs["inverse"]), bool(call.attrs["onesided"])
    z = np.moveaxis(_complex(x.value), axis, -1)
    errors = np.moveaxis(np.sum(x.errors, axis=-1), axis, -1)
    if inverse and onesided:
        return _inverse_real(call, z, errors, axis, wanted)
    length = wanted[0] if wanted else z.shape[-1]
    z, errors = _resized(z, length), _resized(errors, length)
    kept = length // 2 + 1 if onesided else length
    result = _transform(call, z, errors, _matrix(length, inverse), kept)
    error = None if result.error is None else np.moveaxis(result.error, -2, axis)
    return Estimate(np.moveaxis(result.value, -2, axis), error, x.dtype)


def _inverse_real(
    call: Operands, z: Complex, errors: Wide, axis: int, wanted: tuple[int, ...] | None
) -> Estimate:
    """Return the real signal whose lower half of frequencies is ``z``."""
    length = wanted[0] if wanted else 2 * (z.shape[-1] - 1)
    half = _resized(z, length // 2 + 1)
    tail = np.conj(half[..., 1 : (length + 1) // 2][..., ::-1])
    full = np.concatenate([half, tail], -1)
    spread = _resized(np.concatenate([errors, errors], -1), length)
    result = _transform(call, full, spread, _matrix(length, inverse=True), length)
    value = np.moveaxis(result.value[..., :1], -2, axis)
    error = None if result.error is None else np.moveaxis(result.error[..., :1], -2, axis)
    return Estimate(value, error, call.dtype)


def _stft(call: Operands) -> Estimate:
    signal, window = call[0], call.optional(2)
    steps = call.integers(1)
    assert steps is not None
    given = call.integers(3)
    length = given[0] if given else (window.value.shape[0] if window is not None else None)
    assert length is not None, "stft: neither window nor frame_length is given"
    values, errors = signal.value, signal.errors
    if values.ndim == 2:
        values, errors = values[..., None], errors[..., None]
    z, sizes = _complex(values), np.sum(errors, axis=-1)
    count = 1 + (z.shape[1] - length) // steps[0]
    view = np.lib.stride_tricks.sliding_window_view
    frames = view(z, length, axis=1)[:, :: steps[0]][:, :count]
    spread = view(sizes, length, axis=1)[:, :: steps[0]][:, :count]
    if window is not None:
        spread = spread * (np.abs(window.value) + window.errors)
        spread = spread + np.abs(frames) * window.errors
        frames = frames * window.value
    kept = length // 2 + 1 if call.attrs["onesided"] else length
    return _transform(call, np.asarray(frames), np.asarray(spread), _matrix(length, False), kept)


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType({"dft": _dft, "stft": _stft})
