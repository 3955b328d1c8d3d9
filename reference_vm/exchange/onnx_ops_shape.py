"""ONNX operators that make shapes and change them: reshape, transpose, squeeze, expand."""

from __future__ import annotations

from typing import Final

from reference_vm.exchange.node import OnnxNode, RuleTable, versions
from reference_vm.ir.nodes import Var


def _identity(node: OnnxNode) -> Var:
    node.type()
    return node.input(0)


def _reshape(node: OnnxNode) -> Var:
    allow_zero = node.has("allowzero") and node.flag("allowzero")
    return node.build.call("reshape", node.input(0), node.input(1), allow_zero=allow_zero)


def _flatten(node: OnnxNode) -> Var:
    axis, rank = node.integer("axis"), node.rank()
    if not -rank <= axis <= rank:
        raise node.invalid(f"axis {axis} is out of range for rank {rank}")
    return node.build.call("flatten", node.input(0), axis=axis + rank if axis < 0 else axis)


def _transpose(node: OnnxNode) -> Var:
    axes = node.integers("perm") if node.has("perm") else range(node.rank())[::-1]
    return node.build.call("permute_dims", node.input(0), axes=tuple(axes))


def _axes(node: OnnxNode, since_input: int) -> tuple[int, ...] | None:
    """Return the axes, an attribute before version ``since_input`` and an input from it on."""
    if node.version >= since_input:
        return node.static_ints(1, "axes") if node.given(1) else None
    return node.integers("axes") if node.has("axes") else None


def _squeeze(node: OnnxNode) -> Var:
    return node.build.call("squeeze", node.input(0), axes=_axes(node, 13))


def _unsqueeze(node: OnnxNode) -> Var:
    axes = _axes(node, 13)
    if axes is None:
        raise node.invalid("axes are missing")
    return node.build.call("expand_dims", node.input(0), axes=axes)


def _expand(node: OnnxNode) -> Var:
    return node.build.call("expand", node.input(0), node.input(1))


def _shape(node: OnnxNode) -> Var:
    start = node.integer("start") if node.has("start") else 0
    end = node.integer("end") if node.has("end") else None
    shape = node.build.call("shape_of", node.input(0), start=start, end=end)
    return node.build.call("shape_to_tensor", shape)


def _size(node: OnnxNode) -> Var:
    return node.build.call("size_of", node.input(0))


def _tile(node: OnnxNode) -> Var:
    return node.build.call("tile", node.input(0), node.input(1))


RULES: Final[RuleTable] = {
    "Identity": versions(_identity, 1, 13, 14, 16, 19, 21, 23, 24, 25),
    "Reshape": versions(_reshape, 5, 13, 14, 19, 21, 23, 24, 25),
    "Flatten": versions(_flatten, 1, 9, 11, 13, 21, 23, 24, 25),
    "Transpose": versions(_transpose, 1, 13, 21, 23, 24, 25),
    "Squeeze": versions(_squeeze, 1, 11, 13, 21, 23, 24, 25),
    "Unsqueeze": versions(_unsqueeze, 1, 11, 13, 21, 23, 24, 25),
    "Expand": versions(_expand, 8, 13),
    "Shape": versions(_shape, 1, 13, 15, 19, 21, 23, 24, 25),
    "Size": versions(_size, 1, 13, 19, 21, 23, 24, 25),
    "Tile": versions(_tile, 6, 13),
}


__all__ = ["RULES"]
