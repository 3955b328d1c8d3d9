"""What moving elements means: shapes, slices, joins, pads. Errors move with their elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np

from reference_vm.diagnostics import DataError
from reference_vm.oracle.definition import Meaning, Operands, does_not_fit, moved, zero_step
from reference_vm.oracle.estimate import Estimate, Result, Wide
from reference_vm.types.dtype import I64


def target_shape(old: tuple[int, ...], wanted: Sequence[int], allow_zero: bool) -> tuple[int, ...]:
    """Return ONNX's reading of a reshape target: 0 keeps a dim, one -1 takes the rest.

    The rest is what the dims that are not kept leave, so it is known beside an empty dim as well.
    """
    kept = [] if allow_zero else [i for i, d in enumerate(wanted) if d == 0]
    dims = [old[i] if i in kept else d for i, d in enumerate(wanted)]
    if -1 in dims:
        known = math.prod(d for i, d in enumerate(dims) if d != -1 and i not in kept)
        rest = math.prod(d for i, d in enumerate(old) if i not in kept)
        dims[dims.index(-1)] = rest // known if known else 0
    if math.prod(dims) != math.prod(old) or min(dims, default=0) < 0:
        raise does_not_fit("reshape", f"{list(wanted)} for a tensor of {list(old)}")
    return tuple(dims)


def _reshape(call: Operands) -> Estimate:
    wanted = call.integers(1)
    assert wanted is not None
    literal = isinstance(call.args[1], tuple) or bool(call.attrs["allow_zero"])
    shape = target_shape(call[0].value.shape, wanted, literal)
    return moved(call, lambda a: a.reshape(shape))


def _permute(call: Operands) -> Estimate:
    return moved(call, lambda a: np.transpose(a, call.attrs["axes"]))


def _expand_dims(call: Operands) -> Estimate:
    return moved(call, lambda a: np.expand_dims(a, tuple(call.attrs["axes"])))


def _squeeze(call: Operands) -> Estimate:
    axes = call.attrs["axes"]
    return moved(call, lambda a: np.squeeze(a) if axes is None else np.squeeze(a, tuple(axes)))


def _flatten(call: Operands) -> Estimate:
    shape = call[0].value.shape
    axis = int(call.attrs["axis"])
    axis = axis + len(shape) if axis < 0 else axis
    rows, columns = math.prod(shape[:axis]), math.prod(shape[axis:])
    return moved(call, lambda a: a.reshape(rows, columns))


def _broadcast_to(call: Operands) -> Estimate:
    shape = call.integers(1)
    assert shape is not None
    if _broadcast(call, shape) != shape:
        raise does_not_fit("broadcast_to", f"{list(shape)} is less than the operand's shape")
    return moved(call, lambda a: np.array(np.broadcast_to(a, shape)))


def _broadcast(call: Operands, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that the first operand's and ``shape`` broadcast to."""
    try:
        return np.broadcast_shapes(call[0].value.shape, shape)
    except ValueError as error:
        raise does_not_fit("broadcast", error) from error


def _expand(call: Operands) -> Estimate:
    wanted = call.integers(1)
    assert wanted is not None
    shape = _broadcast(call, wanted)
    return moved(call, lambda a: np.array(np.broadcast_to(a, shape)))


def _concat(call: Operands) -> Estimate:
    parts = call.tensors()
    axis = int(call.attrs["axis"])
    value = np.concatenate([p.value for p in parts], axis)
    error: Wide | None = None
    if any(p.error is not None for p in parts):
        error = np.concatenate([p.errors for p in parts], axis)
    return call.rounding.exact(value, error, parts[0].dtype)


def _split(call: Operands) -> Result:
    axis = int(call.attrs["axis"])
    size = call[0].value.shape[axis]
    sizes = call.integers(1)
    if sizes is None:
        count = int(call.attrs["num_outputs"])
        part = -(-size // count)
        sizes = tuple(max(0, min(part, size - part * i)) for i in range(count))
    if sum(sizes) != size or min(sizes, default=0) < 0:
        raise does_not_fit("split", f"sizes {list(sizes)} of {size} elements")
    ends = np.cumsum(sizes)
    index = [slice(None)] * call[0].value.ndim
    parts: list[Estimate] = []
    for start, end in zip(ends - np.asarray(sizes), ends, strict=True):
        index[axis] = slice(int(start), int(end))
        place = tuple(index)
        parts.append(moved(call, lambda a, place=place: a[place]))  # type: ignore[misc]
    return tuple(parts)


def _slice(call: Operands) -> Estimate:
    starts, ends, axes, steps = (call.integers(i) for i in range(1, 5))
    assert starts is not None
    assert ends is not None
    shape = call[0].value.shape
    places = [slice(None)] * len(shape)
    axes = axes if axes is not None else tuple(range(len(starts)))
    steps = steps if steps is not None else (1,) * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step == 0:
            raise zero_step("slice")
        size = shape[axis]
        first = start + size if start < 0 else start
        last = end + size if end < 0 else end
        if step > 0:
            places[axis] = slice(min(max(first, 0), size), min(max(last, 0), size), step)
        else:
            first, last = min(max(first, -1), size - 1), min(max(last, -1), size - 1)
            places[axis] = (
                slice(first, None if last < 0 else last, step) if first >= 0 else slice(0)
            )
    return moved(call, lambda a: a[tuple(places)])


def _pad(call: Operands) -> Estimate:
    x, pads, fill, axes = call[0], call.integers(1), call.optional(2), call.integers(3)
    assert pads is not None
    rank = x.value.ndim
    axes = tuple(range(rank)) if axes is None else tuple(a % rank for a in axes)
    before, after = [0] * rank, [0] * rank
    for i, axis in enumerate(axes):
        before[axis], after[axis] = pads[i], pads[i + len(axes)]
    widths = [(max(0, b), max(0, a)) for b, a in zip(before, after, strict=True)]
    cut = tuple(
        slice(max(0, -b), sum(width) + n - max(0, -a))
        for b, a, n, width in zip(before, after, x.value.shape, widths, strict=True)
    )
    sizes = [n + b + a for n, b, a in zip(x.value.shape, before, after, strict=True)]
    if min(sizes, default=0) < 0:
        raise does_not_fit("pad", f"{list(pads)} would leave {sizes}")
    empty = any(b + a and not n for b, a, n in zip(before, after, x.value.shape, strict=True))
    if empty and call.attrs["mode"] != "constant":
        raise does_not_fit("pad", "an empty axis has nothing to be padded with")
    filling = fill.value.ravel()[0] if fill is not None and fill.value.size else 0

    def pad(array: Wide, constant: object) -> Wide:
        mode = str(call.attrs["mode"])
        if mode == "constant":
            return np.pad(array, widths, constant_values=constant)[cut]  # type: ignore[call-overload,no-any-return]
        return np.pad(array, widths, mode=mode)[cut]  # type: ignore[call-overload,no-any-return]

    off = fill.errors.ravel()[0] if fill is not None and fill.value.size else 0.0
    error = pad(x.errors, off) if call.has_errors else None
    return call.rounding.exact(pad(x.value, filling), error, x.dtype)


def _tile(call: Operands) -> Estimate:
    reps = call.integers(1)
    assert reps is not None
    if len(reps) != call[0].value.ndim:
        raise DataError("rank-mismatch", f"tile: {len(reps)} reps for rank {call[0].value.ndim}")
    return moved(call, lambda a: np.tile(a, reps))


def _flip(call: Operands) -> Estimate:
    return moved(call, lambda a: np.flip(a, tuple(call.attrs["axes"])))


def _triangle(function: Callable[[Wide, int], Wide]) -> Meaning:
    def meaning(call: Operands) -> Estimate:
        given = call.integers(1)
        return moved(call, lambda a: function(a, given[0] if given else 0))

    return meaning


def _reverse_sequence(call: Operands) -> Estimate:
    lengths = call.integers(1)
    assert lengths is not None
    batch, time = int(call.attrs["batch_axis"]), int(call.attrs["time_axis"])
    steps = call[0].value.shape[time]
    if any(not 0 <= length <= steps for length in lengths):
        raise DataError("index-out-of-range", f"reverse_sequence: a length is not in 0..{steps}")

    def reverse(array: Wide) -> Wide:
        front = np.moveaxis(array, (batch, time), (0, 1)).copy()
        for row, length in enumerate(lengths):
            front[row, :length] = front[row, :length][::-1]
        return np.moveaxis(front, (0, 1), (batch, time))

    return moved(call, reverse)


def _shape_of(call: Operands) -> Result:
    shape = call[0].value.shape
    end = call.attrs["end"]
    return tuple(shape[int(call.attrs["start"]) : None if end is None else int(end)])


def _size_of(call: Operands) -> Estimate:
    return Estimate(np.asarray(call[0].value.size, np.int64), None, I64)


def _shape_to_tensor(call: Operands) -> Estimate:
    return Estimate(np.asarray(call.integers(0), np.int64).reshape(-1), None, I64)


def _tensor_to_shape(call: Operands) -> Result:
    dims = call.integers(0)
    assert dims is not None
    if min(dims, default=0) < 0:
        raise does_not_fit("tensor_to_shape", f"{list(dims)} has a negative size")
    return dims


def _full(call: Operands) -> Estimate:
    shape = call.integers(0)
    assert shape is not None
    return moved(call, lambda a: np.full(shape, a.reshape(())), operand=1)


def _arange(call: Operands) -> Estimate:
    start, stop, step = call[0], call[1], call[2]
    first, last, by = (v.value.reshape(()) for v in (start, stop, step))
    if by == 0:
        raise zero_step("arange")
    if not start.dtype.is_float:
        values = np.arange(int(first), int(last), int(by)).astype(start.value.dtype)
        return Estimate(values, None, start.dtype)
    count = max(0, math.ceil((float(last) - float(first)) / float(by)))
    values = np.asarray(first + np.arange(count) * by, start.value.dtype)
    steps = np.arange(count) * np.abs(values) * start.dtype.unit_roundoff
    off = start.errors.reshape(()) + np.arange(count) * step.errors.reshape(())
    return call.rounding.result(
        values,
        start.dtype,
        own=steps + np.abs(values) * 2.0**-53,
        propagated=(lambda: off) if call.has_errors else None,
    )


def _eye_like(call: Operands) -> Estimate:
    dtype = call.attrs["dtype"] or call.dtype
    rows, columns = call[0].value.shape
    eye = np.eye(rows, columns, int(call.attrs["k"]))
    return Estimate.exact(eye, dtype)


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType(
    {
        "reshape": _reshape,
        "permute_dims": _permute,
        "expand_dims": _expand_dims,
        "squeeze": _squeeze,
        "flatten": _flatten,
        "broadcast_to": _broadcast_to,
        "expand": _expand,
        "concat": _concat,
        "split": _split,
        "slice": _slice,
        "pad": _pad,
        "tile": _tile,
        "flip": _flip,
        "tril": _triangle(np.tril),
        "triu": _triangle(np.triu),
        "reverse_sequence": _reverse_sequence,
        "shape_of": _shape_of,
        "size_of": _size_of,
        "shape_to_tensor": _shape_to_tensor,
        "tensor_to_shape": _tensor_to_shape,
        "full": _full,
        "arange": _arange,
        "eye_like": _eye_like,
    }
    | {name: (lambda call: call[0]) for name in ("device_copy", "to_vdevice", "hint_on_device")}
    | {"match_cast": lambda call: call[0]}
)
