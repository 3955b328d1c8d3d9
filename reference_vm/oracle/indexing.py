"""What looking up by index means.

Indices lie in [-size, size - 1]; anything else is a `DataError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from reference_vm.oracle.arithmetic import may_be_zero
from reference_vm.oracle.definition import (
    Meaning,
    Operands,
    does_not_fit,
    index_out_of_range,
    moved,
)
from reference_vm.oracle.estimate import Estimate, Wide
from reference_vm.types.dtype import I64


def normal(name: str, indices: Wide, size: int) -> Wide:
    """Return ``indices`` with negative ones counted from the end, as int64.

    Raises:
        DataError: One is out of range.
    """
    whole = indices.astype(np.int64)
    bad = (whole < -size) | (whole >= size)
    if np.any(bad):
        raise index_out_of_range(name, int(whole[bad].ravel()[0]), size)
    return np.where(whole < 0, whole + size, whole)


def _picked(call: Operands, pick: Callable[[Wide], Wide], doubt: Wide | None) -> Estimate:
    """Return elements of the first operand; open where it is in doubt which they are."""
    x = call[0]
    if doubt is None or not np.any(doubt):
        return moved(call, pick)
    value = pick(x.value)
    error = np.where(np.broadcast_to(doubt, value.shape), np.inf, pick(x.errors))
    return call.rounding.exact(value, error, x.dtype, x.limits and x.span)


def _doubt(indices: Estimate) -> Wide | None:
    """Return which indices may be others."""
    return None if indices.error is None else indices.error > 0


def _take(call: Operands) -> Estimate:
    axis = int(call.attrs["axis"]) % call[0].value.ndim
    places = normal("take", call[1].value, call[0].value.shape[axis])
    doubt = _doubt(call[1])
    if doubt is not None:
        doubt = doubt.reshape(doubt.shape + (1,) * (call[0].value.ndim - 1 - axis))
    return _picked(call, lambda a: np.take(a, places, axis), doubt)


def _take_along_axis(call: Operands) -> Estimate:
    axis = int(call.attrs["axis"]) % call[0].value.ndim
    places = normal("take_along_axis", call[1].value, call[0].value.shape[axis])
    grid: list[Wide] = list(np.indices(places.shape, sparse=True))
    grid[axis] = places
    return _picked(call, lambda a: a[tuple(grid)], _doubt(call[1]))


def nd_index(name: str, indices: Wide, shape: tuple[int, ...], batch: int) -> tuple[Wide, ...]:
    parts = [normal(name, indices[..., i], shape[batch + i]) for i in range(indices.shape[-1])]
    leading = np.indices(indices.shape[:-1], sparse=True)[:batch] if batch else ()
    return (*leading, *parts)


def _gather_nd(call: Operands) -> Estimate:
    batch = int(call.attrs["batch_dims"])
    place = nd_index("gather_nd", call[1].value, call[0].value.shape, batch)
    doubt = _doubt(call[1])
    if doubt is not None:
        kept = call[0].value.ndim - batch - call[1].value.shape[-1]
        doubt = np.any(doubt, axis=-1).reshape(doubt.shape[:-1] + (1,) * kept)
    return _picked(call, lambda a: np.array(a[place]), doubt)


def _one_hot(call: Operands) -> Estimate:
    depth = call.integers(1)
    assert depth is not None
    if depth[0] < 1:
        raise does_not_fit("one_hot", f"depth is {depth[0]}, expected 1 or more")
    off, on = call[2].value[0], call[2].value[1]
    indices = call[0].value.astype(np.int64)
    whole = np.where(indices < 0, indices + depth[0], indices)
    axis = int(call.attrs["axis"])
    hot = np.expand_dims(whole, axis) == np.expand_dims(
        np.arange(depth[0]), tuple(i for i in range(whole.ndim + 1) if i != axis % (whole.ndim + 1))
    )
    doubt = np.expand_dims(call[0].errors > 0, axis)
    ends = call[2].errors
    error = np.where(doubt, np.inf, np.where(hot, ends[1], ends[0])) if call.has_errors else None
    return call.rounding.exact(np.where(hot, on, off), error, call[2].dtype)


def _compress(call: Operands) -> Estimate:
    keep = np.flatnonzero(call[1].value)
    axis = call.attrs["axis"]
    size = call[0].value.size if axis is None else call[0].value.shape[int(axis)]
    if np.any(keep >= size):
        raise index_out_of_range("compress", int(keep[-1]), size)
    doubt = None if call[1].error is None else np.asarray(np.any(call[1].error > 0))
    if axis is None:
        return _picked(call, lambda a: a.ravel()[keep], doubt)
    return _picked(call, lambda a: np.take(a, keep, int(axis)), doubt)


def _nonzero(call: Operands) -> Estimate:
    """A run that shows its places is followed: how many there are may hang on a rounding."""
    x = call[0]
    own = np.stack(np.nonzero(np.atleast_1d(x.value)))
    if x.value.ndim == 0:
        own = own[:0]
    doubt = x.error is not None and bool(np.any((x.errors > 0) & may_be_zero(x)))
    seen = call.shown()
    if doubt and seen is not None and seen.shape[:1] == own.shape[:1]:
        return Estimate(seen.astype(np.int64), None, I64)
    margin = np.full(own.shape, -1.0 if doubt else 1.0) if x.error is not None else None
    return call.decide(own.astype(np.int64), margin, I64)


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType(
    {
        "take": _take,
        "take_along_axis": _take_along_axis,
        "gather_nd": _gather_nd,
        "one_hot": _one_hot,
        "compress": _compress,
        "nonzero": _nonzero,
    }
)
