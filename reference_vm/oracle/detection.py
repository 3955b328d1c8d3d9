"""What operators of object detection mean: box by box, sample by sample."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from reference_vm.oracle.definition import Meaning, Operands, does_not_fit, index_out_of_range
from reference_vm.oracle.estimate import Estimate, Wide, unit
from reference_vm.types.dtype import F32, I64


def _boxes(values: Wide, by_centre: bool) -> Wide:
    """Return boxes as left, top, right, bottom."""
    a, b, c, d = (values[:, i].astype(np.float64) for i in range(4))
    if by_centre:
        return np.stack([a - c / 2, b - d / 2, a + c / 2, b + d / 2], -1)
    return np.stack([np.minimum(b, d), np.minimum(a, c), np.maximum(b, d), np.maximum(a, c)], -1)


def _overlaps(one: Wide, others: Wide) -> Wide:
    """Return intersection over union, 0 where there is none or it is no number."""
    sides = np.minimum(one[2:], others[:, 2:]) - np.maximum(one[:2], others[:, :2])
    shared = sides[:, 0] * sides[:, 1]
    areas = [(box[..., 2] - box[..., 0]) * (box[..., 3] - box[..., 1]) for box in (one, others)]
    parts = np.nan_to_num(shared / (areas[0] + areas[1] - shared), nan=0.0)
    known = np.all(sides > 0, axis=-1) & ~np.isnan(others).any(axis=-1) & ~np.isnan(one).any()
    return np.where(known, parts, 0.0)


def _limit(call: Operands, index: int, default: float) -> float:
    found = call.optional(index)
    if found is None:
        return default
    if found.value.size != 1:
        raise does_not_fit("non_max_suppression", f"a limit of {found.value.size} elements")
    return float(np.ravel(found.value)[0])


def _non_max_suppression(call: Operands) -> Estimate:
    """Pick the best box, drop what overlaps it too much, and go on with the rest."""
    boxes, scores = call[0].value, call[1].value
    most, overlap = max(0, int(_limit(call, 2, 0))), _limit(call, 3, 0.0)
    least = _limit(call, 4, -math.inf)
    by_centre = bool(call.attrs["center_point_box"])
    found, margin = [], math.inf
    for batch in range(scores.shape[0]):
        own = _boxes(boxes[batch], by_centre)
        for class_ in range(scores.shape[1]):
            row = scores[batch, class_]
            better = np.lexsort((np.arange(row.size), -row, np.isnan(row)))
            if call.optional(4) is not None:
                better = better[row[better] > least]
            kept, close = _kept(own, better, most, overlap)
            margin = min(margin, close)
            found += [(batch, class_, box) for box in kept]
    result = np.asarray(found, np.int64).reshape(-1, 3)
    seen = call.shown()
    if call.has_errors and seen is not None and seen.ndim == 2 and seen.shape[1] == 3:
        return Estimate(seen.astype(np.int64), None, I64)  # how many there are is a decision
    slack = 16 * F32.unit_roundoff
    exact = margin == 0 or not math.isfinite(margin)
    doubt = -1.0 if call.has_errors else (1.0 if exact else margin - slack)
    return call.decide(result, np.full(result.shape, doubt), I64)


def _kept(boxes: Wide, better: Wide, most: int, overlap: float) -> tuple[list[int], float]:
    """Return the boxes that are kept, and by how little an overlap was over the limit or below."""
    kept: list[int] = []
    margin = math.inf
    while better.size and len(kept) < most:
        best, better = better[0], better[1:]
        kept.append(int(best))
        parts = _overlaps(boxes[best], boxes[better])
        if parts.size:
            margin = min(margin, float(np.min(np.abs(parts - overlap))))
        better = better[parts <= overlap]
    return kept, margin


def _places(low: float, high: float, count: int, call: Operands) -> tuple[Wide, int]:
    """Return the samples along an axis, those of one place of the result together, and how many."""
    span = high - low if call.attrs["half_pixel"] else max(high - low, 1.0)
    if not math.isfinite(span):
        return np.zeros(0), 0
    taps = int(call.attrs["sampling_ratio"]) or max(0, math.ceil(span / count))
    step = span / count
    steps = low + np.arange(count)[:, None] * step
    return (steps + (np.arange(taps) + 0.5) * step / max(taps, 1)).ravel(), taps


def _corners(places: Wide, size: int) -> list[tuple[Wide, Wide]]:
    """Return both neighbours of places on an axis with their shares; outside they are 0."""
    inside = (places >= -1) & (places <= size) & (size > 0)
    kept = np.maximum(np.where(inside, places, 0.0), 0.0)
    first = kept.astype(np.int64)
    last = first >= size - 1
    low = np.where(last, max(size - 1, 0), first)
    high = np.where(last, max(size - 1, 0), first + 1)
    near = np.where(last, 1.0, first + 1 - kept) * inside
    return [(low, near), (high, np.where(last, 0.0, kept - first) * inside)]


def _roi_align(call: Operands) -> Estimate:
    x, rois, batches = call[0], call[1].value, call[2].value
    height, width = int(call.attrs["output_height"]), int(call.attrs["output_width"])
    shape = (len(rois), x.value.shape[1], height, width)
    value, carried = np.zeros(shape, x.value.dtype), np.zeros(shape)
    scale, shift = float(call.attrs["spatial_scale"]), 0.5 if call.attrs["half_pixel"] else 0.0
    for number, roi in enumerate(rois):
        batch = int(batches[number])
        if not 0 <= batch < len(x.value):
            raise index_out_of_range("roi_align", batch, len(x.value))
        x1, y1, x2, y2 = (float(v) * scale - shift for v in roi)
        rows, columns = _places(y1, y2, height, call), _places(x1, x2, width, call)
        value[number] = _pooled(x.value[batch], rows, columns, call)
        if x.error is not None:
            carried[number] = _pooled(x.errors[batch], rows, columns, call)
    own = np.full(value.shape, unit(call.dtype) * 64 * x.scale)
    elsewhere = (call[1].errors > 0).any(axis=-1) | (call[2].errors > 0)
    carried = np.where(elsewhere[:, None, None, None], np.inf, carried)
    return call.rounding.result(
        value,
        call.dtype,
        own=own,
        noise=lambda: own / 64,
        propagated=(lambda: carried) if call.has_errors else None,
    )


def _pooled(image: Wide, rows: tuple[Wide, int], columns: tuple[Wide, int], call: Operands) -> Wide:
    """Return the samples of one region, the mean or the greatest of each place of the result."""
    height, width = int(call.attrs["output_height"]), int(call.attrs["output_width"])
    if not rows[1] or not columns[1] or not image.size:
        return np.zeros((len(image), height, width))
    mean = call.attrs["mode"] == "avg"
    parts = []
    for i, a in _corners(rows[0], image.shape[1]):
        for j, b in _corners(columns[0], image.shape[2]):
            share = a[:, None] * b
            parts.append(np.where(share != 0, image[:, i[:, None], j] * share, 0.0))
    samples = sum(parts) if mean else np.maximum.reduce(parts)
    whole = np.asarray(samples).reshape(len(image), height, rows[1], width, columns[1])
    return np.asarray(whole.mean(axis=(2, 4)) if mean else whole.max(axis=(2, 4)))


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType(
    {"non_max_suppression": _non_max_suppression, "roi_align": _roi_align}
)
