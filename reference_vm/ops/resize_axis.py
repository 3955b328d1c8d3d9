"""How one axis is resized: which elements make up each result element, and in what shares.

A coordinate on the operand's axis is a linear function of the place in the result. It is worked out
in exact rationals, so that ``nearest`` sees a tie where there is one; shares are rounded to f64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, final

import numpy as np
import numpy.typing as npt

_HALF: Final = Fraction(1, 2)


@final
@dataclass(frozen=True, slots=True)
class Axis:
    """One axis to resize."""

    size: int
    output: int
    scale: Fraction
    """As it was given, or the ratio of the sizes that were."""

    start: Fraction = Fraction(0)
    end: Fraction = Fraction(1)
    """The region of interest, as shares of the axis; only ``tf_crop_and_resize`` reads them."""


@final
@dataclass(frozen=True, slots=True)
class Method:
    """What is the same for all axes: ONNX's attributes."""

    mode: str
    coordinate_transformation_mode: str
    nearest_mode: str
    cubic_coeff_a: float
    exclude_outside: bool
    antialias: bool


@final
@dataclass(frozen=True)
class Plan:
    """How each result element along an axis is made."""

    indices: npt.NDArray[np.int64]
    """Of the elements that take part: ``[output, taps]``."""

    weights: npt.NDArray[np.float64] | None
    """Their shares, of the same shape; ``None`` where one element alone is taken."""

    beyond: npt.NDArray[np.bool_] | None
    """Which result elements are extrapolated, if any may be."""


def coordinates(axis: Axis, mode: str) -> tuple[Fraction, Fraction]:
    """Return slope and offset of the coordinate on the operand's axis."""
    last = axis.size - 1
    match mode:
        case "asymmetric":
            return 1 / axis.scale, Fraction(0)
        case "align_corners":
            steps = axis.scale * axis.size - 1  # unrounded, as ONNX's own test data have it
            return Fraction(last) / steps if steps > 0 else Fraction(0), Fraction(0)
        case "pytorch_half_pixel" if axis.output <= 1:
            return Fraction(0), Fraction(0)
        case "half_pixel_symmetric":
            missing = 1 - axis.output / (axis.scale * axis.size)
            return 1 / axis.scale, Fraction(axis.size, 2) * missing + _HALF / axis.scale - _HALF
        case "tf_crop_and_resize" if axis.output > 1:
            return (axis.end - axis.start) * last / (axis.output - 1), axis.start * last
        case "tf_crop_and_resize":
            return Fraction(0), _HALF * (axis.start + axis.end) * last
        case _:
            return 1 / axis.scale, _HALF / axis.scale - _HALF


@lru_cache(maxsize=256)
def plan(axis: Axis, method: Method) -> Plan:
    """Return how to resize along ``axis``; its size is at least 1, or its output is empty."""
    if axis.output == 0:
        weights = None if method.mode == "nearest" else np.zeros((0, 1))
        return Plan(np.zeros((0, 1), np.int64), weights, None)
    mode = method.coordinate_transformation_mode
    slope, offset = coordinates(axis, mode)
    unit = math.lcm(slope.denominator, offset.denominator)
    step, first = int(slope * unit), int(offset * unit)
    places = [first + step * i for i in range(axis.output)]  # in units of 1 / unit
    beyond = None
    if mode == "tf_crop_and_resize":
        beyond = np.array([not 0 <= p <= (axis.size - 1) * unit for p in places], np.bool_)
    if method.mode == "nearest":
        taken = np.array([_nearest(p, unit, method.nearest_mode) for p in places], np.int64)
        return Plan(np.clip(taken, 0, axis.size - 1).reshape(-1, 1), None, beyond)
    below = np.array([p // unit for p in places], np.int64)
    ratio = np.array([p % unit / unit for p in places], np.float64)
    indices, weights = _taps(axis, method, below, ratio)
    return Plan(np.clip(indices, 0, axis.size - 1), weights, beyond)


def _nearest(place: int, unit: int, mode: str) -> int:
    """Return ``place / unit`` rounded as ``mode`` says."""
    match mode:
        case "round_prefer_floor":
            return -((unit - 2 * place) // (2 * unit))
        case "round_prefer_ceil":
            return (2 * place + unit) // (2 * unit)
        case "floor":
            return place // unit
        case _:
            return -(-place // unit)


def _taps(
    axis: Axis, method: Method, below: npt.NDArray[np.int64], ratio: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the elements around each coordinate ``below + ratio``, and their shares."""
    shrink = min(1.0, float(axis.scale)) if method.antialias else 1.0
    reach = 1 if method.mode == "linear" else 2
    far = math.ceil(reach / shrink)
    offsets = np.arange(1 - far, far + 1)
    indices = below[:, None] + offsets
    distances = np.abs(offsets - ratio[:, None]) * shrink
    weights = _hat(distances) if reach == 1 else _cubic(distances, method.cubic_coeff_a)
    if method.exclude_outside:
        weights = np.where((indices >= 0) & (indices < axis.size), weights, 0.0)
    if method.exclude_outside or shrink != 1.0:
        total = weights.sum(axis=1, keepdims=True)
        weights = weights / np.where(total == 0, 1.0, total)
    return indices, weights


def _hat(distances: Any) -> Any:
    return np.maximum(0.0, 1.0 - distances)


def _cubic(t: Any, a: float) -> Any:
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0.0))


__all__ = ["Axis", "Method", "Plan", "coordinates", "plan"]
