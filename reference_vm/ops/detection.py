"""Operators of object detection: non_max_suppression, roi_align.

A box is two corners, ``[y1, x1, y2, x2]`` in any order, or by ``center_point_box`` its centre and
size, ``[x, y, width, height]``.
"""

from __future__ import annotations

import math
from typing import Any, Final

from reference_vm.ops.checks import agree_on_dtype, expect_rank, tensor_of
from reference_vm.ops.definition import (
    Array,
    Attr,
    DataError,
    Namespace,
    OpCall,
    OpDef,
    Operand,
    Trait,
)
from reference_vm.ops.numerics import quiet, widened
from reference_vm.ops.operands import agreed, shaped
from reference_vm.types import UNKNOWN, TensorType, Type
from reference_vm.types.dtype import F32, FLOATS, I64


def _infer_suppression(call: OpCall) -> Type:
    tensor_of(call, 0, (F32,))
    tensor_of(call, 1, (F32,))
    boxes, scores = shaped(call, 0, 3), shaped(call, 1, 3)
    agreed(call, scores[0], boxes[0], "the number of batches of operand scores")
    agreed(call, scores[2], boxes[1], "the number of boxes of operand scores")
    agreed(call, boxes[2], 4, "the last dim of operand boxes")
    for index, dtype in ((2, I64), (3, F32), (4, F32)):
        if call.present(index):
            tensor_of(call, index, (dtype,))
            expect_rank(call, index, (0, 1))
    return TensorType(I64, (UNKNOWN, 3))


def _suppress(
    xp: Namespace,
    boxes: Array,
    scores: Array,
    max_output: Array | None = None,
    iou_threshold: Array | None = None,
    score_threshold: Array | None = None,
    *,
    center_point_box: bool,
) -> Array:
    most = max(0, int(_single(max_output, 0)))
    overlap = xp.float32(_single(iou_threshold, 0.0))
    least = _single(score_threshold, None)
    found = []
    for batch in range(boxes.shape[0]):
        corners = _corners(xp, boxes[batch], center_point_box)
        for class_ in range(scores.shape[1]):
            candidates = _candidates(xp, scores[batch, class_], least)
            kept = _kept(xp, corners, candidates, most, overlap)
            found += [(batch, class_, box) for box in kept]
    return xp.asarray(found, dtype=xp.int64).reshape(-1, 3)


def _single(value: Array | None, default: Any) -> Any:
    """Return the one element of an operand that may be left out.

    Raises:
        DataError: It has several.
    """
    if value is None:
        return default
    if value.size != 1:
        raise DataError("shape-mismatch", f"a limit has {value.size} elements, expected 1")
    return value.reshape(()).item()


def _corners(xp: Namespace, boxes: Array, by_centre: bool) -> Array:
    """Return the least and the greatest corner of each box: ``[y1, x1, y2, x2]``."""
    if not by_centre:
        low = xp.minimum(boxes[:, :2], boxes[:, 2:])
        return xp.concatenate([low, xp.maximum(boxes[:, :2], boxes[:, 2:])], axis=1)
    centre, half = boxes[:, 1::-1], boxes[:, 3:1:-1] / boxes.dtype.type(2)
    return xp.concatenate([centre - half, centre + half], axis=1)


def _candidates(xp: Namespace, scores: Array, least: float | None) -> Array:
    """Return the boxes that may be kept, best first; equal ones in the order they stand."""
    order = xp.argsort(-scores, kind="stable")
    return order if least is None else order[scores[order] > xp.float32(least)]


def _kept(xp: Namespace, corners: Array, candidates: Array, most: int, overlap: Any) -> list[int]:
    """Return the best boxes of which none overlaps a better one by more than allowed."""
    kept: list[int] = []
    while candidates.shape[0] and len(kept) < most:
        best = int(candidates[0])
        kept.append(best)
        rest = candidates[1:]
        candidates = rest[~(_overlaps(xp, corners[best], corners[rest]) > overlap)]
    return kept


def _overlaps(xp: Namespace, box: Array, others: Array) -> Array:
    """Return the intersection of a box with each other as a part of their union."""
    with quiet():
        low = xp.maximum(box[:2], others[:, :2])
        sides = xp.maximum(xp.minimum(box[2:], others[:, 2:]) - low, 0)
        shared = sides[:, 0] * sides[:, 1]
        own = (box[2] - box[0]) * (box[3] - box[1])
        areas = (others[:, 2] - others[:, 0]) * (others[:, 3] - others[:, 1])
        union = own + areas - shared
        proper = (shared > 0) & (own > 0) & (areas > 0) & (union > 0)
        return xp.where(proper, shared / union, -1)


NON_MAX_SUPPRESSION: Final = OpDef(
    name="non_max_suppression",
    summary="Keep of each batch and class the best boxes that do not overlap better ones.",
    operands=(
        *(Operand("boxes"), Operand("scores"), Operand("max_output", optional=True)),
        *(Operand("iou_threshold", optional=True), Operand("score_threshold", optional=True)),
    ),
    infer=_infer_suppression,
    compute=_suppress,
    attrs={"center_point_box": Attr((bool,), False)},
    traits=frozenset({Trait.DATA_DEPENDENT, Trait.CAN_FAIL}),
    origin="onnx",
)


def _infer_align(call: OpCall) -> Type:
    x = tensor_of(call, 0, FLOATS)
    tensor_of(call, 1, FLOATS)
    tensor_of(call, 2, (I64,))
    agree_on_dtype(call, (0, 1))
    dims, rois, batches = shaped(call, 0, 4), shaped(call, 1, 2), shaped(call, 2, 1)
    agreed(call, rois[1], 4, "the last dim of operand rois")
    count = agreed(call, batches[0], rois[0], "the length of operand batch_indices")
    sizes = [call.attrs[name] for name in ("output_height", "output_width")]
    if min(sizes) < 1 or call.attrs["sampling_ratio"] < 0:
        raise call.error("attribute-value", "sizes are at least 1, sampling_ratio at least 0")
    return TensorType(x.dtype, (count, dims[1], *sizes))


def _align(
    xp: Namespace,
    x: Array,
    rois: Array,
    batch_indices: Array,
    *,
    mode: str,
    output_height: int,
    output_width: int,
    sampling_ratio: int,
    spatial_scale: float,
    half_pixel: bool,
) -> Array:
    sizes = (output_height, output_width)
    nothing = 0 in x.shape[2:]
    result = xp.zeros((rois.shape[0], x.shape[1], *sizes), dtype=x.dtype)
    wide: Array = widened(xp, x)
    for number in range(rois.shape[0]):
        batch = int(batch_indices[number])
        if not 0 <= batch < x.shape[0]:
            message = f"image {batch} is outside [0, {x.shape[0] - 1}]"
            raise DataError("index-out-of-range", message)
        if nothing:
            continue
        shift = 0.5 if half_pixel else 0.0
        roi = rois[number].astype(xp.float64) * spatial_scale - shift
        axes: list[Any] = []
        for low, high, count in ((roi[1], roi[3], sizes[0]), (roi[0], roi[2], sizes[1])):
            span = high - low if half_pixel else xp.maximum(high - low, 1.0)
            taps = sampling_ratio or max(0, math.ceil(float(span) / count))
            axes.append((low, span / count, count, taps))
        with quiet():
            result[number] = _pooled(xp, wide[batch], axes, mode).astype(x.dtype)
    return result


def _pooled(xp: Namespace, image: Array, axes: list[Any], mode: str) -> Array:
    """Return one region: for each place the mean or maximum of samples of ``image``."""
    (rows, below, above), (columns, left, right) = (
        _samples(xp, image.shape[1 + i], *axis) for i, axis in enumerate(axes)
    )
    heights, widths = (axis[2] for axis in axes)
    corners = [
        _weighed(xp, image[:, rows[i]][:, :, columns[j]], (y[:, None] * x).astype(image.dtype))
        for i, y in enumerate((below, above))
        for j, x in enumerate((left, right))
    ]
    shape = (image.shape[0], heights, axes[0][3], widths, axes[1][3])
    if not math.prod(shape):
        return xp.zeros((image.shape[0], heights, widths), dtype=image.dtype)
    if mode == "avg":
        total = corners[0] + corners[1] + corners[2] + corners[3]
        return xp.mean(total.reshape(shape), axis=(2, 4))
    most = xp.maximum(xp.maximum(corners[0], corners[1]), xp.maximum(corners[2], corners[3]))
    return xp.max(most.reshape(shape), axis=(2, 4))


def _weighed(xp: Namespace, found: Array, share: Array) -> Array:
    """Return elements by their shares; one without a share counts for nothing, infinite or not."""
    return xp.where(share == 0, 0, found * share)


def _samples(
    xp: Namespace, size: int, low: Any, step: Any, count: int, taps: int
) -> tuple[tuple[Array, Array], Array, Array]:
    """Return for all samples along an axis their two neighbours, and the share of each."""
    inside = (xp.arange(taps) + 0.5) / max(1, taps)
    places = (low + (xp.arange(count)[:, None] + inside) * step).reshape(-1)
    counted = ((places >= -1) & (places <= size)).astype(xp.float64)
    places = xp.maximum(xp.where(counted > 0, places, 0), 0)
    first = xp.minimum(xp.floor(places).astype(xp.int64), size - 1)
    share = xp.where(first >= size - 1, 0.0, places - first)
    return (first, xp.minimum(first + 1, size - 1)), (1 - share) * counted, share * counted


ROI_ALIGN: Final = OpDef(
    name="roi_align",
    summary="Pool regions of images, sampled between their elements, to one size.",
    operands=(Operand("x"), Operand("rois"), Operand("batch_indices")),
    infer=_infer_align,
    compute=_align,
    attrs={
        "mode": Attr((str,), "avg", ("avg", "max")),
        "output_height": Attr((int,), 1),
        "output_width": Attr((int,), 1),
        "sampling_ratio": Attr((int,), 0),
        "spatial_scale": Attr((float,), 1.0),
        "half_pixel": Attr((bool,), True),
    },
    traits=frozenset({Trait.CAN_FAIL}),
    origin="onnx",
)

OPS: Final = (NON_MAX_SUPPRESSION, ROI_ALIGN)
