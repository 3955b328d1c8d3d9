"""What choosing the greatest and the distinct elements means. NaN is the greatest."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from reference_vm.oracle.definition import Meaning, Operands, does_not_fit
from reference_vm.oracle.estimate import Estimate, Result, Wide
from reference_vm.types.dtype import I64


def _order(values: Wide, largest: bool) -> Wide:
    """Return positions on the last axis, best first; equal elements in the order they stand."""
    if values.dtype.kind != "f":
        return np.argsort(~values if largest else values, axis=-1, kind="stable")
    is_nan = np.isnan(values)
    numbers = np.where(is_nan, 0, -values if largest else values)
    return np.lexsort((numbers, ~is_nan if largest else is_nan), axis=-1)


def _top_k(call: Operands) -> Result:
    x, count = call[0], call.integers(1)
    assert count is not None
    axis = int(call.attrs["axis"]) % x.value.ndim
    largest = bool(call.attrs["largest"])
    size = x.value.shape[axis]
    if not 0 <= count[0] <= size:
        raise does_not_fit("top_k", f"the first {count[0]} of {size} elements")
    front = np.moveaxis(x.value, axis, -1)
    ordered = _order(front, largest)
    places = np.moveaxis(ordered[..., : count[0]], -1, axis).astype(np.int64)
    margin = None if x.error is None else _margins(x, front, ordered, count[0], axis)
    indices = call.decide(places, margin, I64, part=1)
    chosen = np.clip(indices.value, 0, max(size - 1, 0))
    value = np.take_along_axis(x.value, chosen, axis)
    error = None
    if x.error is not None:
        error = np.take_along_axis(x.errors, chosen, axis)
        worst = np.max(x.errors, axis=axis, keepdims=True, initial=0.0)
        error = np.where(np.isinf(indices.errors), worst, error)  # whichever it is, it is no worse
    return (call.rounding.exact(value, error, x.dtype, x.limits and x.span), indices)


def _margins(x: Estimate, front: Wide, ordered: Wide, count: int, axis: int) -> Wide:
    """Return for each place by how much its neighbours in the order are apart, less their errors.

    What is exact on both sides, and infinities and NaN, cannot change places.
    """
    sequence = np.take_along_axis(front, ordered, -1)
    sequence = sequence.astype(np.result_type(sequence.dtype, np.float64))
    errors = np.take_along_axis(np.moveaxis(x.errors, axis, -1), ordered, -1)
    reach = np.maximum.accumulate(errors, axis=-1)  # the same sum for all that stand further up
    with np.errstate(invalid="ignore"):
        gaps = np.nan_to_num(np.abs(np.diff(sequence, axis=-1)), nan=np.inf)
    off = reach[..., :-1] + np.maximum.accumulate(errors[..., ::-1], axis=-1)[..., ::-1][..., 1:]
    lead = np.where(off > 0, gaps - off, 1.0)
    edge = np.ones((*lead.shape[:-1], 1))
    around = np.minimum(np.concatenate([edge, lead], -1), np.concatenate([lead, edge], -1))
    return np.moveaxis(around[..., :count], -1, axis)


def _unique(call: Operands) -> Result:
    """Zeros of either sign are equal, and so are all NaN."""
    x, axis = call[0], call.attrs["axis"]
    flat = np.ravel(x.value) if axis is None else x.value
    along = 0 if axis is None else int(axis)
    index, inverse, counts = _distinct(flat, along, bool(call.attrs["sorted"]))
    doubt = x.error is not None and _in_doubt(x, axis is None)
    parts = [index, inverse, counts]
    seen = [call.shown(part) for part in (1, 2, 3)]
    if doubt and all(_fits(s, p) for s, p in zip(seen, parts, strict=True)):
        parts = [np.clip(s, 0, None) for s in seen if s is not None]
        parts[0] = np.minimum(parts[0], max(flat.shape[along] - 1, 0))
        doubt = False
    values = np.take(flat, parts[0], along)
    error = None
    if x.error is not None:
        errors = np.ravel(x.errors) if axis is None else x.errors
        error = np.take(errors, parts[0], along)
        error = np.full(values.shape, np.inf) if doubt else error
    made = [call.rounding.exact(values, error, x.dtype)]
    for part in parts:
        open_ = np.full(part.shape, np.inf) if doubt else None
        made.append(call.rounding.decided(part.astype(np.int64), open_, I64))
    return tuple(made)


def _fits(seen: Wide | None, own: Wide) -> bool:
    return seen is not None and seen.ndim == own.ndim and seen.dtype.kind in "iu"


def _distinct(values: Wide, axis: int, ordered: bool) -> tuple[Wide, Wide, Wide]:
    """Return where each distinct item first stands, which one each item is, and how many."""
    _, codes = np.unique(values, return_inverse=True)
    table: Wide = np.moveaxis(np.asarray(codes).reshape(values.shape), axis, 0)
    count = table.shape[0]
    rows = table.reshape(count, -1) if table.size else np.zeros((count, 1), np.int64)
    _, index, inverse, counts = np.unique(
        rows, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    inverse = np.ravel(inverse)
    if not ordered:
        order = np.argsort(index, kind="stable")
        index, counts, inverse = index[order], counts[order], np.argsort(order)[inverse]
    return index, inverse, counts


def _in_doubt(x: Estimate, flat: bool) -> bool:
    """Whether rounding could make elements equal, or others of them, or order them anew."""
    if not flat:
        return bool(np.any(x.errors))
    order = np.argsort(np.ravel(x.value), kind="stable")
    values = np.ravel(x.value)[order].astype(np.result_type(x.value.dtype, np.float64))
    errors = np.maximum.accumulate(np.ravel(x.errors)[order])
    later = np.maximum.accumulate(np.ravel(x.errors)[order][::-1])[::-1]
    with np.errstate(invalid="ignore"):
        gaps = np.nan_to_num(np.abs(np.diff(values)), nan=np.inf)
    reach = errors[:-1] + later[1:]
    return bool(np.any((reach > 0) & (gaps <= reach)))


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType({"top_k": _top_k, "unique": _unique})
