"""The dtype that elements are interpolated in, and the way back from it."""

from __future__ import annotations

from typing import Any

import numpy as np

from reference_vm.ops.definition import Array, Namespace
from reference_vm.ops.numerics import is_float, widened


def to_interpolate(xp: Namespace, x: Array) -> Array:
    """Return ``x`` in the dtype to interpolate in: f32 for f16 and bf16, f64 for integers."""
    return widened(xp, x) if is_float(x) else x.astype(xp.float64)


def interpolated(xp: Namespace, values: Array, dtype: Any) -> Array:
    """Return ``values`` in ``dtype``: integers round half to even and saturate, NaN is 0."""
    if dtype.kind == "b":
        return values >= 0.5
    if dtype.kind not in "iu":
        return values.astype(dtype, copy=False)
    bounds = np.iinfo(dtype)
    whole = xp.clip(xp.rint(values), bounds.min, bounds.max)
    most = values.dtype.type(bounds.max)
    inside = xp.where(xp.isnan(whole) | (whole >= most), 0, whole).astype(dtype)
    return xp.where(whole >= most, dtype.type(bounds.max), inside)


__all__ = ["interpolated", "to_interpolate"]
