"""What looking up and storing by index means.

Indices lie in [-size, size - 1]; anything else is a `DataError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from reference_vm.oracle.definition import (
    Meaning,
    Operands,
    does_not_fit,
    index_out_of_range,
    moved,
)
from reference_vm.oracle.estimate import Estimate, Wide, unit
from reference_vm.types.dtype import I64

Place = tuple[int, ...]


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


def _take(call: Operands) -> Estimate:
    axis = int(call.attrs["axis"])
    places = normal("take", call[1].value, call[0].value.shape[axis])
    return moved(call, lambda a: np.take(a, places, axis))


def _take_along_axis(call: Operands) -> Estimate:
    axis = int(call.attrs["axis"]) % call[0].value.ndim
    places = normal("take_along_axis", call[1].value, call[0].value.shape[axis])
    grid: list[Wide] = list(np.indices(places.shape, sparse=True))
    grid[axis] = places
    return moved(call, lambda a: a[tuple(grid)])


def _nd_index(name: str, indices: Wide, shape: tuple[int, ...], batch: int) -> tuple[Wide, ...]:
    parts = [normal(name, indices[..., i], shape[batch + i]) for i in range(indices.shape[-1])]
    leading = np.indices(indices.shape[:-1], sparse=True)[:batch] if batch else ()
    return (*leading, *parts)


def _gather_nd(call: Operands) -> Estimate:
    batch = int(call.attrs["batch_dims"])
    place = _nd_index("gather_nd", call[1].value, call[0].value.shape, batch)
    return moved(call, lambda a: np.array(a[place]))


_COMBINE: Final[Mapping[str, Callable[[Wide, Wide], Wide]]] = MappingProxyType(
    {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
)


def _scatter(call: Operands, places: Callable[[], list[tuple[Place, Place]]]) -> Estimate:
    """Store updates one by one, so that repeated places combine in order."""
    x, updates = call[0], call[2]
    value, error = x.value.copy(), x.errors.copy()
    own = np.zeros(value.shape)
    reduction = str(call.attrs["reduction"])
    with np.errstate(all="ignore"):
        for target, source in places():
            new, new_error = updates.value[source], updates.errors[source]
            if reduction == "none":
                value[target], error[target] = new, new_error
                continue
            old, old_error = value[target].copy(), error[target].copy()
            value[target] = _COMBINE[reduction](old, new)
            error[target] = _combined_error(x, reduction, old, old_error, new, new_error)
            own[target] = _combined_rounding(x, reduction, own[target].copy(), new, value[target])
    if not x.dtype.is_float:
        return Estimate(value, None, x.dtype)
    if reduction not in ("add", "mul"):
        return call.rounding.exact(value, error, x.dtype)
    return call.rounding.result(value, x.dtype, own=own, propagated=lambda: error, rounded=False)


def _combined_error(
    x: Estimate, reduction: str, old: Wide, old_error: Wide, new: Wide, new_error: Wide
) -> Wide:
    """Return what the errors of two combined elements become."""
    if not x.dtype.is_float:
        return np.zeros(np.shape(old))
    if reduction in ("max", "min"):
        return np.maximum(old_error, new_error)
    if reduction == "add":
        return np.asarray(old_error + new_error)
    grown = np.abs(old) * new_error + np.abs(new) * old_error + old_error * new_error
    return np.asarray(grown)


def _combined_rounding(
    x: Estimate, reduction: str, before: Wide, new: Wide, combined: Wide
) -> Wide:
    """Return the rounding errors of combining, each step rounded to the dtype."""
    if not x.dtype.is_float or reduction in ("max", "min"):
        return np.zeros(np.shape(combined))
    kept = before if reduction == "add" else before * np.abs(new)
    step = np.abs(combined) * max(unit(x.dtype), x.dtype.unit_roundoff)
    return np.asarray(kept + np.where(np.isfinite(step), step, 0.0))


def _scatter_elements(call: Operands) -> Estimate:
    x, indices = call[0].value, call[1].value
    axis = int(call.attrs["axis"]) % x.ndim
    rows = normal("scatter_elements", indices, x.shape[axis])

    def places() -> list[tuple[Place, Place]]:
        found: list[tuple[Place, Place]] = []
        for source in np.ndindex(indices.shape):
            target = list(source)
            target[axis] = int(rows[source])
            found.append((tuple(target), source))
        return found

    return _scatter(call, places)


def _scatter_nd(call: Operands) -> Estimate:
    x, indices = call[0].value, call[1].value
    parts = _nd_index("scatter_nd", indices, x.shape, 0)

    def places() -> list[tuple[Place, Place]]:
        return [
            (tuple(int(p[source]) for p in parts), source)
            for source in np.ndindex(indices.shape[:-1])
        ]

    return _scatter(call, places)


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
    return call.rounding.exact(np.where(hot, on, off), None, call[2].dtype)


def _compress(call: Operands) -> Estimate:
    keep = np.flatnonzero(call[1].value)
    axis = call.attrs["axis"]
    size = call[0].value.size if axis is None else call[0].value.shape[int(axis)]
    if np.any(keep >= size):
        raise index_out_of_range("compress", int(keep[-1]), size)
    if axis is None:
        return moved(call, lambda a: a.ravel()[keep])
    return moved(call, lambda a: np.take(a, keep, int(axis)))


def _nonzero(call: Operands) -> Estimate:
    own = np.stack(np.nonzero(np.atleast_1d(call[0].value)))
    if call[0].value.ndim == 0:
        own = own[:0]
    return call.decide(own.astype(np.int64), None, I64)


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType(
    {
        "take": _take,
        "take_along_axis": _take_along_axis,
        "gather_nd": _gather_nd,
        "scatter_elements": _scatter_elements,
        "scatter_nd": _scatter_nd,
        "one_hot": _one_hot,
        "compress": _compress,
        "nonzero": _nonzero,
    }
)
