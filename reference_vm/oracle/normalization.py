"""What softmax and the normalizations mean, with how their errors add up."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from reference_vm.oracle.definition import Meaning, Operands
from reference_vm.oracle.estimate import FRACTION, Estimate, Wide, unit


def _softmax(call: Operands) -> Estimate:
    x, axis = call[0], int(call.attrs["axis"])
    count = x.value.shape[axis] if x.value.ndim else 1
    with np.errstate(all="ignore"):
        top = np.max(x.value, axis=axis, keepdims=True, initial=-np.inf)
        powers = np.exp(x.value - top)
        value = powers / np.sum(powers, axis=axis, keepdims=True)
        reach = np.nan_to_num(np.abs(x.value - top), posinf=0.0)
        own = value * (unit(x.dtype) * (reach + count + 8))

        def propagated() -> Wide:
            worst = np.max(x.errors, axis=axis, keepdims=True, initial=0.0)
            grown = value * np.expm1(np.minimum(x.errors + worst, 50.0))
            return np.where(np.isinf(worst), np.inf, grown)

        moves = propagated if x.error is not None else None
        typical = value * (unit(x.dtype) * (reach + count**0.5 + 4))
        return call.rounding.result(
            value,
            x.dtype,
            own=own,
            noise=lambda: np.asarray(typical),
            propagated=moves,
            limits=FRACTION,
        )


def _log_softmax(call: Operands) -> Estimate:
    x, axis = call[0], int(call.attrs["axis"])
    count = x.value.shape[axis] if x.value.ndim else 1
    with np.errstate(all="ignore"):
        top = np.max(x.value, axis=axis, keepdims=True, initial=-np.inf)
        shifted = x.value - top
        total = np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))
        value = np.asarray(shifted - total)
        own = (np.abs(shifted) + np.abs(total) + np.abs(value) + count + 8) * unit(x.dtype)

        def propagated() -> Wide:
            worst = np.max(x.errors, axis=axis, keepdims=True, initial=0.0)
            return np.asarray(x.errors + worst)

        moves = propagated if x.error is not None else None
        return call.rounding.result(value, x.dtype, own=np.asarray(own), propagated=moves)


def _standardize(
    call: Operands,
    axes: tuple[int, ...],
    scale: Wide,
    bias: Wide | None,
    parameter_errors: tuple[Wide, Wide],
) -> Estimate:
    """Return ``(x - mean) / sqrt(variance + epsilon) * scale + bias`` over ``axes``."""
    x = call[0]
    if not x.value.size:
        return Estimate(x.value, None, x.dtype)
    count = int(np.prod([x.value.shape[a] for a in axes], dtype=np.int64))
    epsilon = float(call.attrs["epsilon"])
    u = unit(x.dtype)
    with np.errstate(all="ignore"):
        mean = np.mean(x.value, axis=axes, keepdims=True)
        centred = x.value - mean
        variance = np.mean(np.square(centred), axis=axes, keepdims=True)
        root = np.sqrt(variance + epsilon)
        unitary = centred / root
        value = unitary * scale + (0 if bias is None else bias)

        def finished(centred_error: Wide, terms: float) -> Wide:
            """Carry errors of the centred operand through variance, root, scale and bias."""
            spread = np.mean(np.abs(centred) * centred_error, axis=axes, keepdims=True) * 2
            spread = spread + np.mean(np.square(centred_error), axis=axes, keepdims=True)
            part = (spread + variance * (u * terms)) / (root * root)
            grown = np.where(part < 1, 1 / np.sqrt(1 - np.minimum(part, 1)), np.inf)
            root_error = grown - 1 + 2 * u
            unitary_error = centred_error * grown / root + np.abs(unitary) * (root_error + 2 * u)
            most = np.abs(unitary) + count**0.5  # no element is further out, whatever the root
            reach = np.max(centred_error, axis=axes, keepdims=True)
            unitary_error = np.where(np.isinf(reach), np.inf, np.fmin(unitary_error, most))
            total = unitary_error * np.abs(scale) + np.abs(unitary * scale) * u + np.abs(value) * u
            return np.asarray(total)

        size = np.mean(np.abs(x.value), axis=axes, keepdims=True)
        mean_error = size * (u * (count + 1))
        own = finished(mean_error + np.abs(centred) * u, count + 2)
        typical_mean = size * (u * count**0.5)

        def propagated() -> Wide:
            shift = np.mean(x.errors, axis=axes, keepdims=True)
            grown = finished(x.errors + shift, 0.0)
            return np.asarray(grown + np.abs(unitary) * parameter_errors[0] + parameter_errors[1])

        def noise() -> Wide:
            return finished(typical_mean + np.abs(centred) * u, count**0.5 + 2)

        def over() -> Wide:
            """Return where a variance with nothing added to it may be 0."""
            shift = x.errors + np.mean(x.errors, axis=axes, keepdims=True)
            level = np.all(np.abs(centred) <= shift, axis=axes, keepdims=True)
            return call.open_where(np.broadcast_to(level & np.any(shift > 0), value.shape))

        return call.rounding.result(
            np.asarray(value),
            x.dtype,
            own=own,
            noise=noise,
            propagated=propagated,
            open_at=over if x.error is not None and epsilon == 0 else None,
        )


def _layer_norm(call: Operands) -> Estimate:
    x, scale, bias = call[0], call[1], call.optional(2)
    first = int(call.attrs["axis"]) % x.value.ndim
    errors = (scale.errors, np.zeros(()) if bias is None else bias.errors)
    axes = tuple(range(first, x.value.ndim))
    return _standardize(call, axes, scale.value, None if bias is None else bias.value, errors)


def _per_channel(x: Estimate, parameter: Wide) -> Wide:
    return parameter.reshape((1, -1) + (1,) * (x.value.ndim - 2))


def _instance_norm(call: Operands) -> Estimate:
    x, scale, bias = call[0], call[1], call[2]
    axes = tuple(range(2, x.value.ndim))
    errors = (_per_channel(x, scale.errors), _per_channel(x, bias.errors))
    return _standardize(
        call, axes, _per_channel(x, scale.value), _per_channel(x, bias.value), errors
    )


def _batch_norm(call: Operands) -> Estimate:
    x = call[0]
    scale, bias, mean, variance = (_per_channel(x, call[i].value) for i in range(1, 5))
    u, epsilon = unit(x.dtype), float(call.attrs["epsilon"])
    with np.errstate(all="ignore"):
        root = np.sqrt(variance + epsilon)
        centred = x.value - mean
        factor = scale / root
        value = np.asarray(centred * factor + bias)
        sizes = (np.abs(x.value) + np.abs(mean)) * np.abs(factor)
        own = sizes * (8 * u) + (np.abs(value) + np.abs(bias)) * (2 * u)

        def propagated() -> Wide:
            errors = [_per_channel(x, call[i].errors) for i in range(1, 5)]
            part = errors[3] / (variance + epsilon)
            grown = np.where(part < 1, 1 / np.sqrt(1 - np.minimum(part, 1)), np.inf)
            off = np.abs(factor) * (grown - 1) + errors[0] / root * grown
            shifted = (x.errors + errors[2]) * (np.abs(factor) + off)
            return np.asarray(shifted + np.abs(centred) * off + errors[1])

        def over() -> Wide:
            low, high = (_per_channel(x, end) + epsilon for end in call[4].ends())
            outside = (_per_channel(x, call[4].errors) > 0) & (low <= 0) & (high >= 0)
            return call.open_where(np.broadcast_to(outside, value.shape))

        return call.rounding.result(
            value,
            x.dtype,
            own=np.asarray(own),
            propagated=propagated if call.has_errors else None,
            open_at=over if call[4].error is not None else None,
        )


def _lrn(call: Operands) -> Estimate:
    x = call[0]
    size, alpha = int(call.attrs["size"]), float(call.attrs["alpha"])
    beta, bias = float(call.attrs["beta"]), float(call.attrs["bias"])
    before = (size - 1) // 2
    widths = [(0, 0)] * x.value.ndim
    widths[1] = (before, size - 1 - before)

    def windows(values: Wide) -> Wide:
        padded = np.pad(values, widths)
        view = np.lib.stride_tricks.sliding_window_view(padded, size, axis=1)
        return np.asarray(np.sum(view, axis=-1))

    with np.errstate(all="ignore"):
        base = bias + alpha / size * windows(np.square(x.value))
        value = np.asarray(x.value / base**beta)
        own = np.abs(value) * (unit(x.dtype) * (8 + size + 4 * abs(beta)))

        def propagated() -> Wide:
            inner = alpha / size * windows(2 * np.abs(x.value) * x.errors + np.square(x.errors))
            powers = base**-beta
            ends = [np.maximum(base - inner, 0.0) ** -beta, (base + inner) ** -beta]
            moved = np.maximum(*(np.abs(end - powers) for end in ends))
            return np.asarray(x.errors * np.maximum(*ends) + np.abs(x.value) * moved)

        moves = propagated if x.error is not None else None
        return call.rounding.result(value, x.dtype, own=np.asarray(own), propagated=moves)


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType(
    {
        "softmax": _softmax,
        "log_softmax": _log_softmax,
        "layer_norm": _layer_norm,
        "batch_norm": _batch_norm,
        "instance_norm": _instance_norm,
        "lrn": _lrn,
    }
)
