"""ONNX operators of object detection."""

from __future__ import annotations

from typing import Final

from reference_vm.exchange.node import OnnxNode, RuleTable, versions
from reference_vm.exchange.onnx_ops_windows import trimmed
from reference_vm.ir.nodes import Var


def _non_max_suppression(node: OnnxNode) -> Var:
    operands = trimmed([node.input(0), node.input(1), *(node.optional(i) for i in (2, 3, 4))])
    by_centre = node.flag("center_point_box")
    return node.build.call("non_max_suppression", *operands, center_point_box=by_centre)


def _roi_align(node: OnnxNode) -> Var:
    """Before version 16 regions were not moved by half a pixel."""
    kinds = {"half_pixel": True, "output_half_pixel": False}
    kind = "output_half_pixel"
    if node.has("coordinate_transformation_mode"):
        kind = node.text("coordinate_transformation_mode")
    if kind not in kinds:
        raise node.invalid(f"coordinate_transformation_mode is {kind!r}")
    return node.build.call(
        "roi_align",
        *node.present(),
        mode=node.text("mode"),
        output_height=node.integer("output_height"),
        output_width=node.integer("output_width"),
        sampling_ratio=node.integer("sampling_ratio"),
        spatial_scale=node.number("spatial_scale"),
        half_pixel=kinds[kind],
    )


RULES: Final[RuleTable] = {
    "NonMaxSuppression": versions(_non_max_suppression, 10, 11),
    "RoiAlign": versions(_roi_align, 10, 16, 22),
}


__all__ = ["RULES"]
