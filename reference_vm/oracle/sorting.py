"""What choosing the greatest and the distinct elements means. NaN is the greatest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from reference_vm.oracle.definition import Meaning, Operands, does_not_fit
from reference_vm.oracle.estimate import Estimate, Result, Wide
from reference_vm.types.dtype import I64


def _order(values: Wide, largest: bool) -> list[int]:
    """Return positions, best first; equal elements in the order they stand."""

    def key(place: int) -> tuple[Any, ...]:
        value = values[place]
        is_nan = bool(value != value)
        number = 0 if is_nan else value
        return (not is_nan, -number) if largest else (is_nan, number)

    whole = values.astype(object)
    values = whole
    return sorted(range(len(whole)), key=key)


def _top_k(call: Operands) -> Result:
    x, count = call[0], call.integers(1)
    assert count is not None
    axis = int(call.attrs["axis"]) % x.value.ndim
    largest = bool(call.attrs["largest"])
    if not 0 <= count[0] <= x.value.shape[axis]:
        raise does_not_fit("top_k", f"the first {count[0]} of {x.value.shape[axis]} elements")
    front = np.moveaxis(x.value, axis, -1)
    rows = front.reshape(math.prod(front.shape[:-1]), front.shape[-1])
    ordered = [_order(row, largest) for row in rows]
    picked = np.array([row[: count[0]] for row in ordered], np.int64)
    places = np.moveaxis(picked.reshape(*front.shape[:-1], count[0]), -1, axis)
    margin: Wide | None = None
    if x.error is not None:
        margin = _margins(x, front, ordered, count[0], axis)
    indices = call.decide(places, margin, I64)
    chosen = indices.value
    value = np.take_along_axis(x.value, chosen, axis)
    error = None if x.error is None else np.take_along_axis(x.errors, chosen, axis)
    return (call.rounding.exact(value, error, x.dtype), indices)


def _margins(x: Estimate, front: Wide, ordered: list[list[int]], count: int, axis: int) -> Wide:
    """Return for each place by how much its neighbours in the order are apart, less the error."""
    rows = front.reshape(math.prod(front.shape[:-1]), front.shape[-1])
    margins = np.ones((len(rows), count))
    worst = 2 * float(np.max(x.errors, initial=0.0))
    for number, (row, order) in enumerate(zip(rows, ordered, strict=True)):
        sequence = row[order].astype(np.float64)
        gaps = np.abs(np.diff(sequence))
        for place in range(count):
            near = gaps[max(0, place - 1) : place + 1]
            margins[number, place] = (np.min(near) if near.size else 1.0) - worst
    return np.moveaxis(margins.reshape(*front.shape[:-1], count), -1, axis)


def _identity(item: Wide) -> tuple[Any, ...]:
    """Return what makes an item distinct: zeros of either sign are equal, and so are all NaN."""
    return tuple(None if v != v else v + 0 for v in np.ravel(item).tolist())


def _unique(call: Operands) -> Result:
    x, axis = call[0], call.attrs["axis"]
    items = (
        list(np.ravel(x.value))
        if axis is None
        else [np.take(x.value, i, int(axis)) for i in range(x.value.shape[int(axis)])]
    )
    keys = [_identity(np.asarray(item)) for item in items]
    first: dict[tuple[Any, ...], int] = {}
    for place, key in enumerate(keys):
        first.setdefault(key, place)
    order = list(first)
    if call.attrs["sorted"]:
        order.sort(key=lambda k: tuple((v is None, 0 if v is None else v) for v in k))
    index = np.asarray([first[k] for k in order], np.int64)
    inverse = np.asarray([order.index(k) for k in keys], np.int64)
    counts = np.asarray([keys.count(k) for k in order], np.int64)
    flat = np.ravel(x.value) if axis is None else x.value
    values = np.take(flat, index, 0 if axis is None else int(axis))
    return (
        call.rounding.exact(values, None, x.dtype),
        *(Estimate(a, None, I64) for a in (index, inverse, counts)),
    )


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType({"top_k": _top_k, "unique": _unique})
