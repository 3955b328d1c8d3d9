"""PyTorch's operators that move elements, find them, or make tensors of nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from hettest.adapters.torch_operators import Function, HostValue, dtype_of, functional


def _ints(values: Any) -> list[int]:
    """Return the numbers of a host operand: a shape, or an array's."""
    return list(values.numbers if isinstance(values, HostValue) else values)


def _int(value: HostValue) -> int:
    (number,) = value.numbers
    return int(number)


def _permute_dims(torch: Any, x: Any, *, axes: Any) -> Any:
    return torch.permute(x, tuple(reversed(range(x.ndim))) if axes is None else axes)


def _expand_dims(torch: Any, x: Any, *, axes: Sequence[int]) -> Any:
    rank = x.ndim + len(axes)
    for axis in sorted(a % rank for a in axes):
        x = torch.unsqueeze(x, axis)
    return x


def _squeeze(torch: Any, x: Any, *, axes: Any) -> Any:
    return torch.squeeze(x) if axes is None else torch.squeeze(x, tuple(axes))


def _flip(torch: Any, x: Any, *, axes: Sequence[int]) -> Any:
    return torch.flip(x, tuple(axes))


def _flatten(torch: Any, x: Any, *, axis: int) -> Any:
    rows, columns = 1, 1
    at = axis + x.ndim if axis < 0 else axis
    for index, size in enumerate(x.shape):
        rows, columns = (rows * size, columns) if index < at else (rows, columns * size)
    return torch.reshape(x, (rows, columns))


def _reshape(torch: Any, x: Any, shape: Any, *, allow_zero: bool) -> Any:
    wanted = _ints(shape)
    if not allow_zero:
        wanted = [x.shape[i] if size == 0 else size for i, size in enumerate(wanted)]
    return torch.reshape(x, wanted)


def _broadcast_to(torch: Any, x: Any, shape: Any) -> Any:
    return torch.broadcast_to(x, _ints(shape))


def _expand(torch: Any, x: Any, shape: Any) -> Any:
    return torch.broadcast_to(x, torch.broadcast_shapes(tuple(x.shape), tuple(_ints(shape))))


def _concat(torch: Any, *xs: Any, axis: int) -> Any:
    return torch.cat(xs, axis)


def _split(torch: Any, x: Any, sizes: Any = None, *, axis: int, num_outputs: int) -> Any:
    if sizes is not None:
        return torch.split(x, _ints(sizes), axis)
    chunk, size = -(-x.shape[axis] // num_outputs), x.shape[axis]
    starts = [min(chunk * i, size) for i in range(num_outputs + 1)]
    starts[-1] = size
    return torch.split(x, [b - a for a, b in pairwise(starts)], axis)


def _slice(torch: Any, x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    """PyTorch's slices go forwards only; backwards the elements are picked one by one."""
    along = range(len(_ints(starts))) if axes is None else [a % x.ndim for a in _ints(axes)]
    strides = [1] * len(_ints(starts)) if steps is None else _ints(steps)
    for axis, start, end, step in zip(along, _ints(starts), _ints(ends), strides, strict=True):
        size = x.shape[axis]
        if step > 0:
            x = x[(slice(None),) * axis + (slice(start, end, step),)]
            continue
        last = None if end < -size else end
        places = range(*slice(start, last, step).indices(size))
        x = torch.index_select(x, axis, torch.tensor(places, dtype=torch.int64, device=x.device))
    return x


def _pad(torch: Any, x: Any, pads: Any, value: Any = None, axes: Any = None, *, mode: str) -> Any:
    along = list(range(x.ndim)) if axes is None else [a % x.ndim for a in _ints(axes)]
    before, after = _ints(pads)[: len(along)], _ints(pads)[len(along) :]
    if mode == "constant":
        each = {axis: (b, a) for axis, b, a in zip(along, before, after, strict=True)}
        flat = [n for axis in reversed(range(x.ndim)) for n in each.get(axis, (0, 0))]
        padded = functional(torch).pad(x, flat)
        if value is None:
            return padded
        inside = functional(torch).pad(torch.ones_like(x, dtype=torch.bool), flat)
        return torch.where(inside, padded, value)
    for axis, front, back in zip(along, before, after, strict=True):
        places = [_reflected(i, x.shape[axis], mode) for i in range(-front, x.shape[axis] + back)]
        x = torch.index_select(x, axis, torch.tensor(places, dtype=torch.int64, device=x.device))
    return x


def _reflected(place: int, size: int, mode: str) -> int:
    """Return the element that padding shows at a place outside."""
    if mode == "wrap":
        return place % size
    if mode == "edge":
        return min(max(place, 0), size - 1)
    period = max(2 * (size - 1), 1)
    place %= period
    return min(place, period - place) if size > 1 else 0


def _tile(torch: Any, x: Any, reps: Any) -> Any:
    return torch.tile(x, _ints(reps))


def _triangular(name: str) -> Function:
    return lambda torch, x, k=None: getattr(torch, name)(x, 0 if k is None else _int(k))


def _take(torch: Any, x: Any, indices: Any, *, axis: int) -> Any:
    at = axis % x.ndim
    found = x[(slice(None),) * at + (indices.to(torch.int64).reshape(-1),)]
    return found.reshape((*x.shape[:at], *indices.shape, *x.shape[at + 1 :]))


def _in_range(torch: Any, indices: Any, size: int) -> Any:
    """Return places counted from the front; what is out of range stays so."""
    places = indices.to(torch.int64)
    return torch.where(places < 0, places + size, places)


def _take_along_axis(torch: Any, x: Any, indices: Any, *, axis: int) -> Any:
    return torch.take_along_dim(x, _in_range(torch, indices, x.shape[axis]), axis)


def _gather_nd(torch: Any, x: Any, indices: Any, *, batch_dims: int) -> Any:
    places = [indices[..., i].to(torch.int64) for i in range(indices.shape[-1])]
    rank = indices.ndim - 1
    batch = [
        torch.arange(x.shape[i], device=x.device).reshape(
            [-1 if d == i else 1 for d in range(rank)]
        )
        for i in range(batch_dims)
    ]
    return x[(*batch, *places)]


_REDUCTIONS: Final = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


def _scatter_elements(
    torch: Any, x: Any, indices: Any, updates: Any, *, axis: int, reduction: str
) -> Any:
    places = _in_range(torch, indices, x.shape[axis])
    if reduction == "none":
        return torch.scatter(x, axis, places, updates)
    return torch.scatter_reduce(x, axis, places, updates, _REDUCTIONS[reduction])


def _scatter_nd(torch: Any, x: Any, indices: Any, updates: Any, *, reduction: str) -> Any:
    """Without a reduction, or adding; the others go through flat places."""
    places = tuple(indices[..., i].to(torch.int64) for i in range(indices.shape[-1]))
    if reduction in ("none", "add"):
        return torch.index_put(x, places, updates, accumulate=reduction == "add")
    flat = torch.arange(x.numel(), device=x.device).reshape(x.shape)[places].reshape(-1)
    found = torch.scatter_reduce(
        x.reshape(-1), 0, flat, updates.reshape(-1), _REDUCTIONS[reduction]
    )
    return found.reshape(x.shape)


def _one_hot(torch: Any, indices: Any, depth: Any, values: Any, *, axis: int) -> Any:
    size = _int(depth)
    places = indices.to(torch.int64)
    at = axis % (indices.ndim + 1)
    places = torch.where((places < 0) & (places >= -size), places + size, places)
    levels = torch.arange(size, device=indices.device)
    levels = levels.reshape([-1 if i == at else 1 for i in range(indices.ndim + 1)])
    return torch.where(places.unsqueeze(at) == levels, values[1], values[0])


def _compress(torch: Any, x: Any, condition: Any, *, axis: int | None) -> Any:
    flat, along = (x.reshape(-1), 0) if axis is None else (x, axis % x.ndim)
    kept = torch.nonzero(condition).reshape(-1)
    return torch.index_select(flat, along, kept)


def _nonzero(torch: Any, x: Any) -> Any:
    return torch.nonzero(x).T


def _top_k(torch: Any, x: Any, k: Any, *, axis: int, largest: bool, sorted: bool) -> Any:  # noqa: A002 - the operator's own word
    """``torch.topk`` does not say which of equal elements it finds; a stable sort does."""
    found = torch.sort(x, dim=axis, descending=largest, stable=True)
    return tuple(part.narrow(axis, 0, _int(k)) for part in found)


def _reverse_sequence(torch: Any, x: Any, lengths: Any, *, batch_axis: int, time_axis: int) -> Any:
    moved = torch.movedim(x, (batch_axis, time_axis), (0, 1))
    steps = torch.arange(moved.shape[1], device=x.device)[None, :]
    ends = lengths.to(torch.int64)[:, None]
    places = torch.where(steps < ends, ends - 1 - steps, steps)
    rows = torch.arange(moved.shape[0], device=x.device)[:, None]
    return torch.movedim(moved[rows, places], (0, 1), (batch_axis, time_axis))


def _full(torch: Any, shape: Any, value: Any) -> Any:
    return torch.broadcast_to(value, _ints(shape)).clone()


def _arange(torch: Any, start: Any, stop: Any, step: Any) -> Any:
    bounds = [bound.numbers[0] for bound in (start, stop, step)]
    return torch.arange(*bounds, dtype=getattr(torch, start.dtype))


def _eye_like(torch: Any, x: Any, *, k: int, dtype: str | None) -> Any:
    kind = x.dtype if dtype is None else dtype_of(torch, dtype)
    ones = torch.ones(x.shape, dtype=kind, device=x.device)
    return torch.triu(torch.tril(ones, k), k)


def _identity(torch: Any, x: Any) -> Any:
    return x.clone()


MOVEMENT: Final[Mapping[str, Function]] = {
    "permute_dims": _permute_dims,
    "expand_dims": _expand_dims,
    "squeeze": _squeeze,
    "flip": _flip,
    "flatten": _flatten,
    "reshape": _reshape,
    "broadcast_to": _broadcast_to,
    "expand": _expand,
    "concat": _concat,
    "split": _split,
    "slice": _slice,
    "pad": _pad,
    "tile": _tile,
    "tril": _triangular("tril"),
    "triu": _triangular("triu"),
    "take": _take,
    "take_along_axis": _take_along_axis,
    "gather_nd": _gather_nd,
    "scatter_elements": _scatter_elements,
    "scatter_nd": _scatter_nd,
    "one_hot": _one_hot,
    "compress": _compress,
    "nonzero": _nonzero,
    "top_k": _top_k,
    "reverse_sequence": _reverse_sequence,
    "full": _full,
    "arange": _arange,
    "eye_like": _eye_like,
    "identity": _identity,
}
