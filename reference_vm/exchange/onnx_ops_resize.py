"""ONNX operators that sample images: Resize, Upsample, GridSample."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from reference_vm.exchange.node import OnnxNode, RuleTable, versions
from reference_vm.exchange.onnx_ops_windows import trimmed
from reference_vm.ir.nodes import Var
from reference_vm.types import AttrValue
from reference_vm.types.dtype import F32

_TEXTS: Final = (
    *("mode", "coordinate_transformation_mode", "nearest_mode", "keep_aspect_ratio_policy"),
)
_FLAGS: Final = ("exclude_outside", "antialias")
_FLOATS: Final = ("cubic_coeff_a", "extrapolation_value")


def _attributes(node: OnnxNode) -> dict[str, AttrValue]:
    attrs: dict[str, AttrValue] = {n: node.text(n) for n in _TEXTS if node.has(n)}
    attrs.update({n: node.flag(n) for n in _FLAGS if node.has(n)})
    attrs.update({n: node.number(n) for n in _FLOATS if node.has(n)})
    attrs["axes"] = (node.integers("axes") or None) if node.has("axes") else None
    return attrs


def _resize(node: OnnxNode) -> Var:
    """Empty scales or sizes count as left out; older exporters wrote them so."""
    operands = [node.input(0), _filled(node, 1), _filled(node, 2), _filled(node, 3)]
    scales = operands[2]
    if scales is not None and node.text("coordinate_transformation_mode") == "align_corners":
        _check_whole(node, scales)
    return node.build.call("resize", *trimmed(operands), **_attributes(node))


def _check_whole(node: OnnxNode, scales: Var) -> None:
    """Refuse ``align_corners`` where the resized sizes are no whole numbers.

    ONNX's text divides by the size of the result, ONNX's reference data by the fraction.
    """
    factors, shape = node.build.numbers(scales), node.type().shape
    if factors is None or shape is None:
        raise node.unsupported("the scales of align_corners must be known before the run")
    axes = node.integers("axes") if node.has("axes") else tuple(range(len(shape)))
    for axis, factor in zip(axes, factors, strict=False):
        size = shape[axis] if -len(shape) <= axis < len(shape) else 1
        times = size if isinstance(size, int) else 1
        if not math.isfinite(factor) or (Fraction(factor) * times).denominator != 1:
            raise node.unsupported(f"align_corners with a scale of {factor} on axis {axis}")


def _filled(node: OnnxNode, index: int) -> Var | None:
    var = node.optional(index)
    return None if var is None or node.tensor(var).shape == (0,) else var


def _resize_10(node: OnnxNode) -> Var:
    """Version 10 maps coordinates as ``asymmetric`` and rounds down."""
    return _upsampled(node, node.input(1))


def _upsample_attribute(node: OnnxNode) -> Var:
    scales = node.build.constant(list(node.numbers("scales")), F32)
    return _upsampled(node, scales)


def _upsampled(node: OnnxNode, scales: Var) -> Var:
    mode = node.text("mode")
    return node.build.call(
        "resize",
        node.input(0),
        None,
        scales,
        mode=mode,
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )


def _grid_sample(node: OnnxNode) -> Var:
    """Versions before 20 call the modes ``bilinear`` and ``bicubic``."""
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(node.text("mode"), node.text("mode"))
    return node.build.call(
        "grid_sample",
        node.input(0),
        node.input(1),
        mode=mode,
        padding_mode=node.text("padding_mode"),
        align_corners=node.flag("align_corners"),
    )


RULES: Final[RuleTable] = {
    "Resize": versions(_resize_10, 10) | versions(_resize, 11, 13, 18, 19),
    "Upsample": versions(_upsample_attribute, 7) | versions(_resize_10, 9),
    "GridSample": versions(_grid_sample, 16, 20, 22),
}


__all__ = ["RULES"]
