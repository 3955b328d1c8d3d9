"""Operators that sample a tensor between its elements: resize, grid_sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from reference_vm.ops import resize_shape
from reference_vm.ops.definition import Array, Attr, DataError, Namespace, OpDef, Operand
from reference_vm.ops.grid_sample import GRID_SAMPLE
from reference_vm.ops.host_values import integers
from reference_vm.ops.interpolation import interpolated, to_interpolate
from reference_vm.ops.numerics import quiet
from reference_vm.ops.resize_axis import Axis, Method, Plan, plan
from reference_vm.types import Attrs, TensorType, Type


def _compute(
    xp: Namespace,
    x: Array,
    roi: Any | None = None,
    scales: Any | None = None,
    sizes: Any | None = None,
    *,
    axes: tuple[int, ...] | None,
    extrapolation_value: float,
    keep_aspect_ratio_policy: str,
    **attrs: Any,
) -> Array:
    chosen = [a % x.ndim for a in (range(x.ndim) if axes is None else axes)]
    targets = _targets([x.shape[a] for a in chosen], scales, sizes, keep_aspect_ratio_policy)
    plans = {
        axis: plan(target, Method(**attrs))
        for axis, target in zip(chosen, _cropped(targets, roi), strict=True)
        if target != _same(target) or attrs["coordinate_transformation_mode"].startswith("tf_")
    }
    with quiet():
        result = _sampled(xp, x, plans)
        outside = _outside(xp, result.ndim, plans)
        if outside is None:
            return result
        return xp.where(outside, xp.asarray(extrapolation_value, dtype=x.dtype), result)


def _targets(
    sizes: Sequence[int], scales: Any | None, given: Any | None, policy: str
) -> list[Axis]:
    """Return the axes to resize, as far as sizes and scales tell."""
    if scales is None:
        wanted = integers(given)
        _check_count("sizes", len(wanted), len(sizes))
        if not all(sizes):
            raise DataError("shape-mismatch", "an axis without elements is not resized to a size")
        if any(size < 0 for size in wanted):
            raise DataError("shape-mismatch", f"sizes are {list(wanted)}, but no size is negative")
        factors, outputs = resize_shape.from_sizes(policy, sizes, wanted)
    else:
        numbers = [float(s) for s in np.reshape(scales, -1)]
        _check_count("scales", len(numbers), len(sizes))
        if not all(0 < number < math.inf for number in numbers):
            raise DataError("attribute-value", f"scales are {numbers}, expected positive numbers")
        factors = [Fraction(number) for number in numbers]
        outputs = [resize_shape.scaled(n, s) for n, s in zip(sizes, factors, strict=True)]
    return [Axis(n, m, s) for n, m, s in zip(sizes, outputs, factors, strict=True)]


def _sizes(types: Sequence[Type | None], data: Sequence[Any], attrs: Attrs) -> Type | None:
    """Return the result's type by the scales, which are floats."""
    x = types[0]
    if not isinstance(x, TensorType) or x.shape is None or (data[2] is None and data[3] is None):
        return None
    axes: Any = attrs["axes"]
    chosen = [a % len(x.shape) for a in (range(len(x.shape)) if axes is None else axes)]
    old = [d for d in (x.shape[a] for a in chosen) if isinstance(d, int)]
    policy = str(attrs["keep_aspect_ratio_policy"])
    shape = list(x.shape)
    for axis, target in zip(chosen, _targets(old, data[2], data[3], policy), strict=True):
        shape[axis] = target.output
    return TensorType(x.dtype, tuple(shape))


def _check_count(name: str, found: int, expected: int) -> None:
    if found != expected:
        raise DataError("shape-mismatch", f"{name} has {found} elements, expected {expected}")


def _same(axis: Axis) -> Axis:
    """Return the axis left as it is."""
    return Axis(axis.size, axis.size, Fraction(1), axis.start, axis.end)


def _cropped(axes: list[Axis], roi: Any | None) -> list[Axis]:
    """Return the axes with the region of interest, all starts before all ends."""
    if roi is None or not len(roi):
        return axes
    numbers = [float(v) for v in np.reshape(roi, -1)]
    if not all(map(math.isfinite, numbers)):
        raise DataError("attribute-value", f"roi is {numbers}, expected finite numbers")
    bounds = [Fraction(number) for number in numbers]
    _check_count("roi", len(bounds), 2 * len(axes))
    starts, ends = bounds[: len(axes)], bounds[len(axes) :]
    regions = zip(axes, starts, ends, strict=True)
    return [Axis(axis.size, axis.output, axis.scale, start, end) for axis, start, end in regions]


def _sampled(xp: Namespace, x: Array, plans: dict[int, Plan]) -> Array:
    interpolates = any(p.weights is not None for p in plans.values())
    if not interpolates:
        for axis, one in plans.items():
            x = xp.take(x, xp.asarray(one.indices[:, 0]), axis=axis)
        return x
    values = to_interpolate(xp, x)
    for axis, one in plans.items():
        values = _mixed(xp, values, axis, one)
    return interpolated(xp, values, x.dtype)


def _mixed(xp: Namespace, x: Array, axis: int, one: Plan) -> Array:
    """Return ``x`` with ``axis`` interpolated: a sum over taps of weighted elements."""
    assert one.weights is not None
    result = None
    for tap in range(one.indices.shape[1]):
        weights = xp.asarray(one.weights[:, tap], dtype=x.dtype)
        weights = weights.reshape(-1, *(1,) * (x.ndim - 1 - axis))
        part = xp.take(x, xp.asarray(one.indices[:, tap]), axis=axis)
        part *= weights
        result = part if result is None else result + part
    return result


def _outside(xp: Namespace, rank: int, plans: dict[int, Plan]) -> Array | None:
    """Return where the result is extrapolated; ``None`` if nowhere."""
    found = None
    for axis, one in plans.items():
        if one.beyond is None or not one.beyond.any():
            continue
        mask = xp.asarray(one.beyond).reshape(-1, *(1,) * (rank - 1 - axis))
        found = mask if found is None else found | mask
    return found


_COORDINATES: Final = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
)

RESIZE: Final = OpDef(
    name="resize",
    summary="Make axes longer or shorter by sampling between elements, to scales or to sizes.",
    operands=(
        Operand("x"),
        Operand("roi", optional=True, host=True),
        Operand("scales", optional=True, host=True),
        Operand("sizes", optional=True, host=True),
    ),
    infer=resize_shape.infer,
    sizes=_sizes,
    compute=_compute,
    attrs={
        "mode": Attr((str,), "nearest", ("nearest", "linear", "cubic")),
        "coordinate_transformation_mode": Attr((str,), "half_pixel", _COORDINATES),
        "nearest_mode": Attr(
            (str,),
            "round_prefer_floor",
            ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
        ),
        "cubic_coeff_a": Attr((float,), -0.75),
        "exclude_outside": Attr((bool,), False),
        "extrapolation_value": Attr((float,), 0.0),
        "antialias": Attr((bool,), False),
        "axes": Attr((tuple, type(None)), None),
        "keep_aspect_ratio_policy": Attr(
            (str,), "stretch", ("stretch", "not_larger", "not_smaller")
        ),
    },
    origin="onnx",
)

OPS: Final = (RESIZE, GRID_SAMPLE)
