"""What resizing means: one matrix an axis, its coordinates worked out in exact rationals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Final, final

import numpy as np

from reference_vm.diagnostics import DataError
from reference_vm.oracle.definition import Meaning, Operands, exactly
from reference_vm.oracle.estimate import Estimate, Wide, unit
from reference_vm.types import Attrs


@final
@dataclass(frozen=True)
class _Axis:
    """How one axis is resized."""

    size: int
    output: int
    scale: Fraction
    start: Fraction
    end: Fraction
    """The region of interest, for ``tf_crop_and_resize``."""

    def coordinate(self, mode: str, index: int) -> Fraction:
        """Return where output element ``index`` lies on the operand's axis."""
        half = Fraction(1, 2)
        match mode:
            case "asymmetric":
                return index / self.scale
            case "align_corners":
                length = self.scale * self.size
                return index * (self.size - 1) / (length - 1) if length > 1 else Fraction(0)
            case "pytorch_half_pixel" if self.output <= 1:
                return Fraction(0)
            case "half_pixel_symmetric":
                exact = self.scale * self.size
                centre, adjustment = Fraction(self.size, 2), Fraction(self.output) / exact
                return centre * (1 - adjustment) + (index + half) / self.scale - half
            case "tf_crop_and_resize":
                last = self.size - 1
                if self.output > 1:
                    step = (self.end - self.start) * last / (self.output - 1)
                    return self.start * last + index * step
                return (self.start + self.end) * last / 2
            case _:
                return (index + half) / self.scale - half


def _nearest(x: Fraction, mode: str) -> int:
    match mode:
        case "round_prefer_floor":
            return math.ceil(x - Fraction(1, 2))
        case "round_prefer_ceil":
            return math.floor(x + Fraction(1, 2))
        case "floor":
            return math.floor(x)
        case _:
            return math.ceil(x)


def _hat(x: Fraction) -> Fraction:
    return max(Fraction(0), 1 - abs(x))


def _cubic(x: Fraction, a: Fraction) -> Fraction:
    t = abs(x)
    if t <= 1:
        return (a + 2) * t**3 - (a + 3) * t**2 + 1
    if t < 2:
        return a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a
    return Fraction(0)


def _weights(axis: _Axis, x: Fraction, attrs: Attrs) -> dict[int, Fraction]:
    """Return the share of each operand element, clamped to the border, in one output element.

    Elements just out of reach are there too, with a share of 0.
    """
    mode = str(attrs["mode"])
    if mode == "nearest":
        place = _nearest(x, str(attrs["nearest_mode"]))
        return {min(max(place, 0), axis.size - 1): Fraction(1)}
    reach = 1 if mode == "linear" else 2
    shrink = min(Fraction(1), axis.scale) if attrs["antialias"] else Fraction(1)
    a = Fraction(float(attrs["cubic_coeff_a"]))
    first, last = math.floor(x - reach / shrink), math.ceil(x + reach / shrink)
    found: dict[int, Fraction] = {}
    for place in range(first, last + 1):
        offset = (place - x) * shrink
        weight = _hat(offset) if mode == "linear" else _cubic(offset, a)
        outside = not 0 <= place < axis.size
        if outside and attrs["exclude_outside"]:
            continue
        inside = min(max(place, 0), axis.size - 1)
        found[inside] = found.get(inside, Fraction(0)) + weight
    total = sum(found.values(), Fraction(0))
    if (attrs["exclude_outside"] or shrink != 1) and total:
        found = {place: weight / total for place, weight in found.items()}
    return found


def _matrix(axis: _Axis, attrs: Attrs) -> tuple[Wide, Wide, Wide, Wide]:
    """Return an axis's weights, how far rounded coordinates move them, and what lies outside.

    The error of a weight is in units of the roundoff; what lies outside is extrapolated. The last
    is which elements are in reach, if only with a weight of 0.
    """
    reach = np.zeros((axis.output, axis.size))
    matrix = np.zeros((axis.output, axis.size))
    wobble = np.zeros((axis.output, axis.size))
    outside = np.zeros(axis.output, np.bool_)
    mode = str(attrs["coordinate_transformation_mode"])
    for index in range(axis.output):
        x = axis.coordinate(mode, index)
        weights = _weights(axis, x, attrs)
        for place, weight in weights.items():
            reach[index, place] = 1.0
            matrix[index, place] = float(weight)
            if weight and str(attrs["mode"]) != "nearest":
                wobble[index, place] = 4.0 * (abs(float(x)) + 1.0)
        outside[index] = mode == "tf_crop_and_resize" and not 0 <= x <= axis.size - 1
    return matrix, wobble, outside, reach


def _axes(call: Operands) -> list[_Axis | None]:
    attrs, shape = call.attrs, call[0].value.shape
    chosen = attrs["axes"]
    axes = [a % len(shape) for a in chosen] if chosen is not None else list(range(len(shape)))
    scales, sizes = call.optional(2), call.integers(3)
    roi = call.optional(1)
    given = [Fraction(float(s)) for s in np.ravel(scales.value)] if scales is not None else []
    if sizes:
        given, outputs = _from_sizes(str(attrs["keep_aspect_ratio_policy"]), sizes, axes, shape)
    else:
        outputs = [math.floor(s * shape[a]) for s, a in zip(given, axes, strict=True)]
    found: list[_Axis | None] = [None] * len(shape)
    for i, axis in enumerate(axes):
        start, end = Fraction(0), Fraction(1)
        if roi is not None and roi.value.size:
            start = Fraction(float(roi.value[i]))
            end = Fraction(float(roi.value[i + len(axes)]))
        entry = _Axis(shape[axis], outputs[i], given[i], start, end)
        unchanged = given[i] == 1 and outputs[i] == shape[axis]
        cropped = attrs["coordinate_transformation_mode"] == "tf_crop_and_resize"
        found[axis] = None if unchanged and not cropped else entry
    return found


def _from_sizes(
    policy: str, sizes: tuple[int, ...], axes: list[int], shape: tuple[int, ...]
) -> tuple[list[Fraction], list[int]]:
    if not all(shape[a] for a in axes):
        raise DataError("shape-mismatch", "resize: an axis without elements is given a size")
    scales = [Fraction(size, shape[a]) for size, a in zip(sizes, axes, strict=True)]
    if policy == "stretch":
        return scales, list(sizes)
    scale = min(scales) if policy == "not_larger" else max(scales)
    outputs = [math.floor(scale * shape[a] + Fraction(1, 2)) for a in axes]
    return [scale] * len(axes), outputs


def _product(weights: Wide, values: Wide) -> Wide:
    """Return ``weights @ values``, where an element of weight 0 adds nothing, NaN or not."""
    total = np.tensordot(weights, np.where(np.isfinite(values), values, 0), axes=(1, 0))
    for place in np.flatnonzero(~np.isfinite(values).all(axis=tuple(range(1, values.ndim)))):
        row = np.where(np.isfinite(values[place]), 0, values[place])
        for output in np.flatnonzero(weights[:, place]):
            total[output] += weights[output, place] * row
    return total


def _resize(call: Operands) -> Estimate:
    x = call[0]
    value, carried, size = x.value, x.errors, np.abs(x.value)
    own = np.zeros(value.shape)
    exact = str(call.attrs["mode"]) == "nearest"
    u = 0.0 if exact else max(unit(x.dtype) if x.dtype.is_float else 2.0**-24, 2.0**-53)
    beyond = np.zeros((), np.bool_)
    endless = np.zeros(value.shape) if exact else 1.0 - np.isfinite(value)
    for number, axis in enumerate(_axes(call)):
        if axis is None:
            continue
        matrix, wobble, outside, reach = _matrix(axis, call.attrs)

        def along(weights: Wide, values: Wide, number: int = number) -> Wide:
            return np.moveaxis(_product(weights, np.moveaxis(values, number, 0)), 0, number)

        if exact:
            place = np.argmax(matrix, axis=1) if matrix.size else np.zeros(len(matrix), np.int64)
            value, carried = np.take(value, place, number), np.take(carried, place, number)
            size, own = np.take(size, place, number), np.take(own, place, number)
        else:
            share, value = np.abs(matrix), along(matrix, value)
            endless = along(reach, endless) if np.any(endless) else np.zeros(value.shape)
            if call.rounding.is_random:
                own = carried = np.zeros(value.shape)
            else:
                carried = along(share, carried) if np.any(carried) else np.zeros(value.shape)
                own = along(share, own) + along(wobble + 8 * share, size) * u
                size = along(share, size)
        line = outside.reshape((-1,) + (1,) * (x.value.ndim - 1 - number))
        beyond = beyond | line
    if not exact:  # an infinity with weights that cancel, or with a rounded 0, is left open
        unknown = (endless > 0) & ~np.isnan(value)
        value, own = np.where(unknown, 0.0, value), np.where(unknown, np.inf, own)
    fill = float(call.attrs["extrapolation_value"])
    value = np.where(beyond, fill, value)
    own, carried = np.where(beyond, 0.0, own), np.where(beyond, 0.0, carried)
    if not x.dtype.is_float:
        return _integers(call, x, value, own + carried, exact)
    if exact:
        return call.rounding.exact(_as(value, x), carried, x.dtype)
    moves = None if x.error is None else (lambda: carried)
    return call.rounding.result(value, x.dtype, own=own, noise=lambda: own / 4, propagated=moves)


def _integers(call: Operands, x: Estimate, value: Wide, error: Wide, exact: bool) -> Estimate:
    """Return the result of resizing integers: rounded half to even and saturated."""
    if exact or x.dtype.is_bool:
        return exactly(call, _as(value, x), None if x.error is None else error, x.dtype)

    def whole(values: Wide) -> Wide:
        return _as(np.clip(np.rint(values), x.dtype.minimum, x.dtype.maximum), x)

    tied = (np.abs(value - np.floor(value)) == 0.5) & (x.error is None)
    own = whole(value)
    low, high = (np.where(tied, own, whole(value + way * error)) for way in (-1, 1))
    return call.decide_between(own, low, high, x.dtype)


def _as(value: Wide, x: Estimate) -> Wide:
    return np.asarray(value).astype(x.value.dtype)


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType({"resize": _resize})
