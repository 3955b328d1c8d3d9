"""What operators of object detection mean: box by box, sample by sample."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from reference_vm.oracle.definition import Meaning, Operands, does_not_fit, index_out_of_range
from reference_vm.oracle.estimate import Estimate, Wide, unit
from reference_vm.types.dtype import F32, I64

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


def _box(values: Wide, by_centre: bool) -> Box:
    a, b, c, d = (float(v) for v in values)
    if by_centre:
        return (a - c / 2, b - d / 2, a + c / 2, b + d / 2)
    return (min(b, d), min(a, c), max(b, d), max(a, c))


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _overlap(one: Box, other: Box) -> float:
    """Return intersection over union, 0 where there is none or it is no number."""
    if any(math.isnan(v) for v in (*one, *other)):
        return 0.0
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    part = width * height / (_area(one) + _area(other) - width * height)
    return 0.0 if math.isnan(part) else part


def _limit(call: Operands, index: int, default: float) -> float:
    found = call.optional(index)
    if found is None:
        return default
    if found.value.size != 1:
        raise does_not_fit("non_max_suppression", f"a limit of {found.value.size} elements")
    return float(np.ravel(found.value)[0])


def _non_max_suppression(call: Operands) -> Estimate:
    boxes, scores = call[0].value, call[1].value
    most, overlap = max(0, int(_limit(call, 2, 0))), _limit(call, 3, 0.0)
    least = _limit(call, 4, -math.inf)
    by_centre = bool(call.attrs["center_point_box"])
    found, margin = [], math.inf
    for batch, class_ in np.ndindex(scores.shape[:2]):
        own = [_box(values, by_centre) for values in boxes[batch]]
        row = scores[batch, class_]
        better = sorted(range(len(own)), key=lambda i: (-row[i], i))
        kept: list[int] = []
        for box in better:
            if call.optional(4) is not None and not row[box] > least:
                continue
            parts = [_overlap(own[box], own[k]) for k in kept]
            margin = min([margin, *(abs(part - overlap) for part in parts)])
            if len(kept) < most and all(part <= overlap for part in parts):
                kept.append(box)
        found += [(batch, class_, box) for box in kept]
    result = np.asarray(found, np.int64).reshape(-1, 3)
    slack = 16 * F32.unit_roundoff
    exact = margin == 0 or not math.isfinite(margin)
    close = np.full(result.shape, 1.0 if exact else margin - slack)
    return call.decide(result, close, I64)


def _places(low: float, high: float, count: int, call: Operands) -> list[list[float]]:
    """Return the samples along an axis for each place of the result."""
    span = high - low if call.attrs["half_pixel"] else max(high - low, 1.0)
    taps = int(call.attrs["sampling_ratio"]) or max(0, math.ceil(span / count))
    step = span / count
    return [[low + p * step + (t + 0.5) * step / taps for t in range(taps)] for p in range(count)]


def _corners(place: float, size: int) -> Iterator[tuple[int, float]]:
    """Yield the neighbours of a place on an axis with their shares; outside there are none."""
    if not -1 <= place <= size:
        return
    if not size:
        return
    place = max(place, 0.0)
    first = int(place)
    if first >= size - 1:
        yield size - 1, 1.0
        yield size - 1, 0.0
        return
    yield first, first + 1 - place
    yield first + 1, place - first


def _roi_align(call: Operands) -> Estimate:
    x, rois, batches = call[0].value, call[1].value, call[2].value
    height, width = int(call.attrs["output_height"]), int(call.attrs["output_width"])
    value = np.zeros((len(rois), x.shape[1], height, width), x.dtype)
    scale, shift = float(call.attrs["spatial_scale"]), 0.5 if call.attrs["half_pixel"] else 0.0
    for number, roi in enumerate(rois):
        batch = int(batches[number])
        if not 0 <= batch < len(x):
            raise index_out_of_range("roi_align", batch, len(x))
        x1, y1, x2, y2 = (float(v) * scale - shift for v in roi)
        rows, columns = _places(y1, y2, height, call), _places(x1, x2, width, call)
        for place in np.ndindex(height, width):
            samples = [(y, z) for y in rows[place[0]] for z in columns[place[1]]]
            value[(number, slice(None), *place)] = _pooled(x[batch], samples, call)
    own = np.full(value.shape, unit(call.dtype) * 64 * call[0].scale)
    unknown = np.full(value.shape, np.inf if call[0].error is not None else 0.0)
    return call.rounding.result(
        value, call.dtype, own=own, noise=lambda: own / 64, propagated=lambda: unknown
    )


def _pooled(image: Wide, samples: list[tuple[float, float]], call: Operands) -> Wide:
    found: list[Any] = []
    for y, z in samples:
        parts = [
            image[:, i, j] * (a * b) if a * b else np.zeros(len(image))
            for i, a in _corners(y, image.shape[1])
            for j, b in _corners(z, image.shape[2])
        ] or [np.zeros(len(image))]
        mean = call.attrs["mode"] == "avg"
        found.append(np.sum(parts, axis=0) if mean else np.max(parts, axis=0))
    if not found:
        return np.zeros(len(image))
    whole = np.stack(found)
    return np.asarray(whole.mean(axis=0) if call.attrs["mode"] == "avg" else whole.max(axis=0))


MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType(
    {"non_max_suppression": _non_max_suppression, "roi_align": _roi_align}
)
