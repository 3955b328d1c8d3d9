"""``x[key]``: integers, slices, ``...`` and ``None``, or one array of integers along axis 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from reference_vm.arrays.array import DeviceArray
    from reference_vm.arrays.namespace import Namespace


def item(xp: Namespace, x: DeviceArray, key: Any) -> DeviceArray:
    """Return the part of ``x``, in memory of its own.

    Raises:
        IndexError: There is no such place, or there are too many indices.
        TypeError: The key is of another kind.
    """
    if hasattr(key, "namespace"):
        if key.dtype.kind != "i":
            raise TypeError(f"found an index of {key.dtype}, expected integers; or use xp.where")
        return xp.take(x, key, axis=0)
    keys = _whole(x, key if isinstance(key, tuple) else (key,))
    starts, ends, steps, shape, axis = [], [], [], [], 0
    for each in keys:
        if each is None:
            shape.append(1)
            continue
        start, end, step, size = _bounds(each, x.shape[axis], axis)
        starts.append(start)
        ends.append(end)
        steps.append(step)
        if isinstance(each, slice):
            shape.append(size)
        axis += 1
    part = xp.place(x)
    if axis:
        bounds = (starts, ends, list(range(axis)), steps)
        part = xp.call("slice", part, *(np.array(b, np.int64) for b in bounds))
    return part if part.shape == tuple(shape) else xp.reshape(part, shape)


def _whole(x: DeviceArray, keys: tuple[Any, ...]) -> list[Any]:
    """Return a key for each axis, with ``None`` for new ones."""
    for each in keys:
        if not (each is None or each is Ellipsis or isinstance(each, int | slice)):
            raise TypeError(f"found the index {each!r}, expected integers, slices, ... or None")
    used = sum(isinstance(each, int | slice) for each in keys)
    if used > x.ndim:
        raise IndexError(f"found {used} indices of an array of rank {x.ndim}")
    rest = [slice(None)] * (x.ndim - used)
    if Ellipsis not in keys:
        return [*keys, *rest]
    place = keys.index(Ellipsis)
    return [*keys[:place], *rest, *keys[place + 1 :]]


def _bounds(key: int | slice, size: int, axis: int) -> tuple[int, int, int, int]:
    """Return start, end and step as the operator ``slice`` reads them, and how many there are."""
    if isinstance(key, int):
        if not -size <= key < size:
            raise IndexError(f"found index {key} of axis {axis}, which has {size}")
        place = key % size
        return place, place + 1, 1, 1
    start, end, step = key.indices(size)
    count = len(range(start, end, step))
    if step < 0 and end < 0:
        end = -size - 1  # before the first one
    return start, end, step, count
