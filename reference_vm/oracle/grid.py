"""What sampling at the points of a grid means.

A point is a place in [-1, 1] on each axis, last axis first. Its neighbours' shares are products of
one weight an axis; what lies outside is read as the padding mode says.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from reference_vm.oracle.definition import Meaning, Operands
from reference_vm.oracle.estimate import Estimate, Wide, unit


def _places(grid: Wide, size: int, align: bool) -> Wide:
    if align:
        return np.asarray((grid + 1) / 2 * (size - 1))
    return np.asarray(((grid + 1) * size - 1) / 2)


def _ends(size: int, align: bool) -> tuple[float, float]:
    """Return the places of -1 and 1 on an axis."""
    return (0.0, size - 1.0) if align else (-0.5, size - 0.5)


def _reflected(places: Wide, size: int, align: bool) -> Wide:
    low, high = _ends(size, align)
    span = high - low
    if span == 0:
        return np.zeros(places.shape)
    offset = np.abs(places - low)
    rest, flips = np.mod(offset, span), np.floor(offset / span)
    return np.where(flips % 2 == 0, low + rest, high - rest)


def _brought_in(places: Wide, size: int, align: bool, padding: str) -> Wide:
    """Return the places, those beyond the grid's own ends moved as the padding mode says.

    Between its outermost element and its end a place stays: only its neighbours are padded.
    """
    low, high = _ends(size, align)
    outside = (places < low) | (places > high)
    if padding == "border":
        return np.where(outside, np.clip(places, 0, size - 1), places)
    if padding == "reflection":
        return np.where(outside, _reflected(places, size, align), places)
    return places


def _cubic(distance: Wide) -> Wide:
    a, t = -0.75, np.abs(distance)
    near = (a + 2) * t**3 - (a + 3) * t**2 + 1
    far = a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0.0))


def _taps(places: Wide, mode: str) -> list[tuple[Wide, Wide]]:
    """Return the neighbours that count, each with its weight."""
    if mode == "nearest":
        return [(places, np.ones(places.shape))]
    base = np.floor(places)
    if mode == "linear":
        return [(base, base + 1 - places), (base + 1, places - base)]
    return [(base + k, _cubic(places - base - k)) for k in (-1, 0, 1, 2)]


def _grid_sample(call: Operands) -> Estimate:
    x, grid = call[0], call[1]
    mode, padding = str(call.attrs["mode"]), str(call.attrs["padding_mode"])
    align = bool(call.attrs["align_corners"])
    sizes = x.value.shape[2:]
    if not x.value.size:
        shape = (*x.value.shape[:2], *grid.value.shape[1:-1])
        return Estimate(np.zeros(shape, x.value.dtype), None, x.dtype)
    taps = []
    for axis, size in enumerate(sizes):
        places = _places(grid.value[..., len(sizes) - 1 - axis], size, align)
        if mode == "nearest":
            places = np.rint(places)
        taps.append(_taps(_brought_in(places, size, align, padding), mode))
    batch, channels, points = x.value.shape[0], x.value.shape[1], grid.value.shape[1:-1]
    shape = (batch, channels, *points)
    value, size_sum = np.zeros(shape, x.value.dtype), np.zeros(shape)
    carried = np.zeros(shape)
    rows = np.arange(batch).reshape(-1, *(1,) * len(points))
    for choice in itertools.product(*taps):
        picked, weight = _corner(choice, sizes, padding, align)
        place: tuple[Any, ...] = (rows, slice(None), *picked)
        found = np.moveaxis(x.value[place], -1, 1)
        value = value + found * weight[:, None]
        size_sum = size_sum + np.abs(found) * np.abs(weight[:, None])
        if x.error is not None:
            carried = carried + np.moveaxis(x.errors[place], -1, 1) * np.abs(weight[:, None])
    reach = 0.0 if mode == "nearest" else x.scale
    slack = unit(x.dtype) * (8 * size_sum + reach * 16 * max(sizes, default=1))
    if grid.error is not None:
        carried = carried + np.broadcast_to(_wandering(x, grid, mode, align)[:, None], shape)
    return call.rounding.result(
        value,
        x.dtype,
        own=np.asarray(slack),
        noise=lambda: np.asarray(slack / 16),
        propagated=(lambda: carried) if call.has_errors else None,
    )


STEEPEST: Final = {"linear": 2.0, "cubic": 8.0}
"""How far a sample moves at most with its place, beside the greatest element."""


def _wandering(x: Estimate, grid: Estimate, mode: str, align: bool) -> Wide:
    """Return what errors of the points do; of the nearest element it is open which one it is."""
    sizes = x.value.shape[2:]
    total = np.zeros(grid.value.shape[:-1])
    for axis, size in enumerate(sizes):
        point, error = (v[..., len(sizes) - 1 - axis] for v in (grid.value, grid.errors))
        off = error * size / 2
        if mode == "nearest":
            low, high = (np.rint(_places(point + way * error, size, align)) for way in (-1, 1))
            total = total + np.where((low != high) & (error > 0), np.inf, 0.0)
        else:
            total = total + np.where(error > 0, off * STEEPEST[mode] * x.scale, 0.0)
    return total


def _corner(
    choice: tuple[tuple[Wide, Wide], ...], sizes: tuple[int, ...], padding: str, align: bool
) -> tuple[list[Wide], Wide]:
    """Return where one combination of neighbours lies, and its share."""
    picked = []
    weight = np.ones(choice[0][0].shape)
    for (place, share), size in zip(choice, sizes, strict=True):
        inside = (place >= 0) & (place < size)
        if padding == "reflection":
            place = _reflected(place, size, align)
            inside = np.ones(place.shape, np.bool_)
        elif padding == "border":
            inside = np.ones(place.shape, np.bool_)
        picked.append(np.nan_to_num(np.clip(place, 0, size - 1)).astype(np.int64))
        weight = weight * share * inside
    return picked, weight


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType({"grid_sample": _grid_sample})
