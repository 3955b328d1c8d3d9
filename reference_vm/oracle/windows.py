"""What convolutions and pools mean: an operator on windows of the padded operand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, final

import numpy as np

from reference_vm.oracle.definition import Meaning, Operands
from reference_vm.oracle.estimate import Estimate, Result, Wide, unit
from reference_vm.oracle.linalg import product
from reference_vm.oracle.quantization import integer_product, less_zero
from reference_vm.types import Attrs
from reference_vm.types.dtype import I64


@final
@dataclass(frozen=True)
class Geometry:
    """Where the windows of one call lie, for each spatial axis."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    """With ``ceil_mode`` this may reach further than the padding that was asked for."""

    asked_after: tuple[int, ...]

    @classmethod
    def of(cls, attrs: Attrs, sizes: tuple[int, ...], kernel: tuple[int, ...]) -> Geometry:
        rank = len(sizes)
        strides = tuple(attrs["strides"] or (1,) * rank)
        dilations = tuple(attrs["dilations"] or (1,) * rank)
        spans = tuple(d * (k - 1) + 1 for d, k in zip(dilations, kernel, strict=True))
        pads = tuple(attrs["pads"] or (0,) * (2 * rank))
        before, after = list(pads[:rank]), list(pads[rank:])
        auto = str(attrs["auto_pad"])
        if auto == "VALID":
            before, after = [0] * rank, [0] * rank
        if auto.startswith("SAME"):
            for i, (size, stride, span) in enumerate(zip(sizes, strides, spans, strict=True)):
                total = max(0, (-(-size // stride) - 1) * stride + span - size)
                less, more = total // 2, total - total // 2
                before[i], after[i] = (less, more) if auto == "SAME_UPPER" else (more, less)
        asked = tuple(after)
        if "ceil_mode" in attrs and attrs["ceil_mode"] and not auto.startswith("SAME"):
            for i, (size, stride, span) in enumerate(zip(sizes, strides, spans, strict=True)):
                room = size + before[i] + after[i] - span
                count = -(-room // stride) + 1
                if (count - 1) * stride >= size + before[i]:
                    count -= 1
                after[i] = (count - 1) * stride + span - size - before[i]
        return cls(kernel, strides, dilations, tuple(before), tuple(after), asked)

    def windows(self, values: Wide, fill: float) -> Wide:
        """Return ``[batch, channel, *outputs, *kernel]``, padded with ``fill``."""
        rank = len(self.kernel)
        padded = self._padded(values, fill)
        spans = tuple(d * (k - 1) + 1 for d, k in zip(self.dilations, self.kernel, strict=True))
        axes = tuple(range(2, 2 + rank))
        short = [max(0, s - n) for s, n in zip(spans, padded.shape[2:], strict=True)]
        padded = np.pad(padded, [(0, 0), (0, 0), *((0, n) for n in short)])
        view = np.lib.stride_tricks.sliding_window_view(padded, spans, axis=axes)
        view = view[(slice(None), slice(None), *(slice(0 if n else None) for n in short))]
        steps = tuple(slice(None, None, s) for s in self.strides)
        gaps = tuple(slice(None, None, d) for d in self.dilations)
        return np.asarray(view[(slice(None), slice(None), *steps, *gaps)])

    def _padded(self, values: Wide, fill: float) -> Wide:
        cut = tuple(
            slice(max(0, -b), n - max(0, -a))
            for b, a, n in zip(self.before, self.after, values.shape[2:], strict=True)
        )
        widths = [(max(0, b), max(0, a)) for b, a in zip(self.before, self.after, strict=True)]
        inner = values[(slice(None), slice(None), *cut)]
        return np.pad(inner, [(0, 0), (0, 0), *widths], constant_values=fill)


BLOCK: Final = 1 << 21
"""Elements of windows that are laid out at a time: what a processor's cache about holds."""


def convolve(values: Wide, weights: Wide, geometry: Geometry, groups: int) -> Wide:
    """Return the grouped correlation of ``values`` with ``weights``.

    Block by block along the longest axis of the result, windows are laid out as columns, and each
    block is one product of matrices.
    """
    view = geometry.windows(values, 0)
    rank = len(geometry.kernel)
    batch, _, *outputs = view.shape[: 2 + rank]
    filters, taps = weights.shape[0], int(np.prod(weights.shape[1:], dtype=np.int64))
    rows = weights.reshape(groups, filters // groups, taps)
    result = np.zeros((batch, filters, *outputs), np.result_type(values, weights))
    longest = int(np.argmax(outputs))
    slice_size = groups * taps * int(np.prod(outputs, dtype=np.int64)) // max(1, outputs[longest])
    step = max(1, BLOCK // max(1, slice_size))
    for item in range(batch):
        for start in range(0, outputs[longest], step):
            cut: tuple[Any, ...] = (
                item,
                *(slice(None),) * (1 + longest),
                slice(start, start + step),
            )
            seen = view[cut]
            places = seen.shape[1 : 1 + rank]
            columns = np.moveaxis(seen, range(1, 1 + rank), range(-rank, 0))
            # Counted, since -1 cannot tell where there are no taps.
            count = int(np.prod(places, dtype=np.int64))
            product_ = np.matmul(rows, columns.reshape(groups, taps, count))
            result[cut] = product_.reshape(filters, *places)
    return result


def _by_channel(bias: Estimate | None, rank: int) -> Estimate | None:
    """Return a bias so that it broadcasts against a result of this rank."""
    if bias is None:
        return None
    shape = (1, -1) + (1,) * (rank - 2)
    error = None if bias.error is None else bias.error.reshape(shape)
    return Estimate(bias.value.reshape(shape), error, bias.dtype)


def _conv(call: Operands) -> Estimate:
    x, w, bias = call[0], call[1], call.optional(2)
    geometry = Geometry.of(call.attrs, x.value.shape[2:], w.value.shape[2:])
    groups = int(call.attrs["group"])
    terms = int(np.prod(w.value.shape[1:], dtype=np.int64))
    bias = _by_channel(bias, x.value.ndim)
    return product(call, x, w, lambda a, b: convolve(a, b, geometry, groups), terms, added=bias)


def _conv_integer(call: Operands) -> Estimate:
    def by_filter(zero: Wide) -> Wide:
        return zero.reshape((-1,) + (1,) * (rank - 1) if zero.ndim else ())

    rank = call[1].value.ndim
    x = less_zero(call[0], call.optional(2), lambda zero: zero)
    w = less_zero(call[1], call.optional(3), by_filter)
    geometry = Geometry.of(call.attrs, x[0].shape[2:], w[0].shape[2:])
    groups = int(call.attrs["group"])
    return integer_product(call, x, w, lambda a, b: convolve(a, b, geometry, groups))


def _transposed(values: Wide, weights: Wide, call: Operands) -> Wide:
    """Return the sum of each element's scaled filter, placed where the stride says."""
    attrs, sizes, kernel = call.attrs, values.shape[2:], weights.shape[2:]
    rank, groups = len(kernel), int(attrs["group"])
    strides = tuple(attrs["strides"] or (1,) * rank)
    dilations = tuple(attrs["dilations"] or (1,) * rank)
    extra = tuple(attrs["output_padding"] or (0,) * rank)
    spans = tuple(d * (k - 1) + 1 for d, k in zip(dilations, kernel, strict=True))
    full = tuple(
        s * (n - 1) + e + o for s, n, e, o in zip(strides, sizes, spans, extra, strict=True)
    )
    before, wanted = _transposed_place(attrs, full, sizes, strides)
    batch, per_group = values.shape[0], weights.shape[1]
    out = np.zeros((batch, groups * per_group, *full), values.dtype)
    x = values.reshape(batch, groups, values.shape[1] // groups, *sizes)
    w = weights.reshape(groups, -1, per_group, *kernel)
    for tap in np.ndindex(kernel) if values.size else ():
        share = np.stack(
            [np.tensordot(x[:, g], w[(g, ..., *tap)], axes=(1, 0)) for g in range(groups)], 1
        )
        share = np.moveaxis(share, -1, 2).reshape(batch, groups * per_group, *sizes)
        place = tuple(
            slice(t * d, t * d + s * (n - 1) + 1, s)
            for t, d, s, n in zip(tap, dilations, strides, sizes, strict=True)
        )
        out[(slice(None), slice(None), *place)] += share
    return _cropped(out, before, wanted)


def _cropped(out: Wide, before: tuple[int, ...], wanted: tuple[int, ...]) -> Wide:
    result = np.zeros((*out.shape[:2], *wanted), out.dtype)
    source, target = [slice(None)] * 2, [slice(None)] * 2
    for b, n, size in zip(before, wanted, out.shape[2:], strict=True):
        start, stop = max(0, b), min(size, b + n)
        source.append(slice(start, max(start, stop)))
        target.append(slice(start - b, max(start, stop) - b))
    result[tuple(target)] = out[tuple(source)]
    return result


def _transposed_place(
    attrs: Attrs, full: tuple[int, ...], sizes: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    rank, auto = len(full), str(attrs["auto_pad"])
    shape = attrs["output_shape"]
    pads = tuple(attrs["pads"] or (0,) * (2 * rank))
    if shape is None and not auto.startswith("SAME"):
        pads = (0,) * (2 * rank) if auto == "VALID" else pads
        wanted = tuple(f - pads[i] - pads[i + rank] for i, f in enumerate(full))
        return pads[:rank], wanted
    wanted = tuple(shape) if shape else tuple(n * s for n, s in zip(sizes, strides, strict=True))
    wanted = wanted[-rank:]
    totals = tuple(f - w for f, w in zip(full, wanted, strict=True))
    if auto == "SAME_UPPER":
        return tuple(t // 2 for t in totals), wanted
    return tuple(t - t // 2 for t in totals), wanted


def _conv_transpose(call: Operands) -> Estimate:
    x, w, bias = call[0], call[1], call.optional(2)
    groups = int(call.attrs["group"])
    terms = int(np.prod(w.value.shape[2:], dtype=np.int64)) * (x.value.shape[1] // groups)
    bias = _by_channel(bias, x.value.ndim)
    return product(call, x, w, lambda a, b: _transposed(a, b, call), terms, added=bias)


def _pool_geometry(call: Operands) -> Geometry:
    return Geometry.of(call.attrs, call[0].value.shape[2:], tuple(call.attrs["kernel_shape"]))


def _kernel_axes(view: Wide, geometry: Geometry) -> tuple[int, ...]:
    return tuple(range(view.ndim - len(geometry.kernel), view.ndim))


def _lowest(x: Estimate) -> float:
    return -np.inf if x.dtype.is_float else x.dtype.minimum


def _max_pool(call: Operands) -> Estimate:
    x, geometry = call[0], _pool_geometry(call)
    view = geometry.windows(x.value, _lowest(x))
    value = np.max(view, axis=_kernel_axes(view, geometry))
    error: Wide | None = None
    if x.error is not None:
        errors = geometry.windows(x.errors, 0.0)
        error = np.max(errors, axis=_kernel_axes(errors, geometry))
    return call.rounding.exact(value, error, x.dtype)


def _max_pool_with_indices(call: Operands) -> Result:
    x, geometry = call[0], _pool_geometry(call)
    spatial = x.value.shape[2:]
    order = np.arange(x.value.size).reshape(x.value.shape)
    if call.attrs["storage_order"] == 1:
        each = np.arange(int(np.prod(spatial))).reshape(spatial[::-1]).T
        planes = np.arange(x.value.shape[0] * x.value.shape[1]).reshape(*x.value.shape[:2])
        order = planes[(..., *(None,) * len(spatial))] * each.size + each
    view = geometry.windows(x.value, _lowest(x))
    taps = int(np.prod(geometry.kernel))
    flat = view.reshape(*view.shape[: view.ndim - len(geometry.kernel)], taps)
    winner = np.argmax(flat, axis=-1)
    places = geometry.windows(order, -1).reshape(flat.shape)
    own = np.take_along_axis(places, winner[..., None], -1)[..., 0]
    margin: Wide | None = None
    if x.error is not None:
        ranked = np.sort(flat, axis=-1)
        lead = ranked[..., -1] - ranked[..., -2] if flat.shape[-1] > 1 else np.ones(own.shape)
        margin = lead - 2 * float(np.max(x.errors, initial=0.0))
    return (_max_pool(call), call.decide(own.astype(np.int64), margin, I64, part=1))


def _average_pool(call: Operands) -> Estimate:
    x, geometry = call[0], _pool_geometry(call)
    shape = (1, 1, *x.value.shape[2:])
    inside = geometry.windows(np.ones(shape), 0.0)
    if call.attrs["count_include_pad"]:
        asked = Geometry(
            geometry.kernel,
            geometry.strides,
            geometry.dilations,
            (0,) * len(geometry.kernel),
            tuple(a - b for a, b in zip(geometry.after, geometry.asked_after, strict=True)),
            geometry.asked_after,
        )
        padded = [
            n + b + a
            for n, b, a in zip(shape[2:], geometry.before, geometry.asked_after, strict=True)
        ]
        inside = asked.windows(np.ones((1, 1, *padded)), 0.0)
    counts = np.sum(inside, axis=_kernel_axes(inside, geometry))
    return _windowed_sum(call, x, geometry, lambda v: v, counts)


def _windowed_sum(
    call: Operands, x: Estimate, geometry: Geometry, shape: Callable[[Wide], Wide], counts: Wide
) -> Estimate:
    taps = int(np.prod(geometry.kernel))

    def total(values: Wide) -> Wide:
        view = geometry.windows(values, 0.0)
        with np.errstate(all="ignore"):
            return np.asarray(np.sum(view, axis=_kernel_axes(view, geometry)) / counts)

    value = total(shape(x.value))
    own = total(np.abs(shape(x.value))) * (unit(x.dtype) * (taps + 1))
    moves = (lambda: total(x.errors)) if x.error is not None else None
    return call.rounding.result(value, x.dtype, own=own, propagated=moves)


def _lp_pool(call: Operands) -> Estimate:
    x, geometry, p = call[0], _pool_geometry(call), int(call.attrs["p"])
    view = geometry.windows(np.abs(x.value), 0.0)
    axes = _kernel_axes(view, geometry)
    with np.errstate(all="ignore"):
        value = np.asarray(np.sum(view**p, axis=axes) ** (1.0 / p))
    own = value * (unit(x.dtype) * (int(np.prod(geometry.kernel)) + 8))
    moves: Callable[[], Wide] | None = None
    if x.error is not None:
        errors = geometry.windows(x.errors, 0.0)
        moves = lambda: np.asarray(np.sum(errors, axis=axes))  # noqa: E731 - see `result`
    return call.rounding.result(value, x.dtype, own=own, propagated=moves)


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType(
    {
        "conv": _conv,
        "conv_integer": _conv_integer,
        "conv_transpose": _conv_transpose,
        "max_pool": _max_pool,
        "max_pool_with_indices": _max_pool_with_indices,
        "average_pool": _average_pool,
        "lp_pool": _lp_pool,
    }
)
