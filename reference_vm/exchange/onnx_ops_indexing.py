"""ONNX operators that pick elements by index, and put them back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reference_vm.exchange.node import OnnxNode, RuleTable, versions
from reference_vm.exchange.onnx_ops_casts import cast, scalar
from reference_vm.ir.nodes import Var
from reference_vm.types.dtype import I64

_REDUCTIONS: Final = ("none", "add", "mul", "max", "min")


def _gather(node: OnnxNode) -> Var:
    return node.build.call("take", node.input(0), node.input(1), axis=node.axis())


def _gather_elements(node: OnnxNode) -> Var:
    return node.build.call("take_along_axis", node.input(0), node.input(1), axis=node.axis())


def _gather_nd(node: OnnxNode) -> Var:
    batch = node.integer("batch_dims") if node.has("batch_dims") else 0
    return node.build.call("gather_nd", node.input(0), node.input(1), batch_dims=batch)


def _reduction(node: OnnxNode) -> str:
    found = node.text("reduction") if node.has("reduction") else "none"
    if found not in _REDUCTIONS:
        raise node.invalid(f"reduction is {found!r}, expected one of {', '.join(_REDUCTIONS)}")
    return found


def _scatter_elements(node: OnnxNode) -> Var:
    operands = node.input(0), node.input(1), node.input(2)
    reduction = _reduction(node)
    return node.build.call("scatter_elements", *operands, axis=node.axis(), reduction=reduction)


def _scatter_nd(node: OnnxNode) -> Var:
    operands = node.input(0), node.input(1), node.input(2)
    return node.build.call("scatter_nd", *operands, reduction=_reduction(node))


def _one_hot(node: OnnxNode) -> Var:
    """Indices and depth may have any numeric dtype in ONNX; they are integers all the same."""
    indices, depth = (cast(node, node.input(i), I64) for i in range(2))
    if node.tensor(depth).rank == 1:
        depth = node.build.call("squeeze", depth, axes=(0,))
    rank = node.rank(0) + 1
    axis = node.positive(node.integer("axis"), rank)
    return node.build.call("one_hot", indices, depth, node.input(2), axis=axis)


def _compress(node: OnnxNode) -> Var:
    axis = node.axis() if node.has("axis") else None
    return node.build.call("compress", node.input(0), node.input(1), axis=axis)


def _nonzero(node: OnnxNode) -> Var:
    return node.build.call("nonzero", node.input(0))


def _unique(node: OnnxNode) -> Sequence[Var]:
    axis = node.axis() if node.has("axis") else None
    return node.build.results("unique", node.input(0), axis=axis, sorted=node.flag("sorted"))


def _top_k_attribute(node: OnnxNode) -> Sequence[Var]:
    count = node.build.ints((node.integer("k"),))
    return node.build.results(
        "top_k", node.input(0), count, axis=node.axis(), largest=True, sorted=True
    )


def _top_k(node: OnnxNode) -> Sequence[Var]:
    largest = not node.has("largest") or node.flag("largest")
    ordered = not node.has("sorted") or node.flag("sorted")
    return node.build.results(
        "top_k",
        node.input(0),
        node.input(1),
        axis=node.axis(),
        largest=largest,
        sorted=ordered,
    )


def _hardmax(node: OnnxNode) -> Var:
    """One at the first greatest element of each row, nought elsewhere."""
    build, dtype, axis = node.build, node.dtype(), node.axis()
    shape = node.type().shape
    size = None if shape is None else shape[axis]
    if not isinstance(size, int):
        raise node.unsupported("the size of the axis must be known before the run")
    best = build.call("argmax", node.input(0), axis=axis, keepdims=False, select_last=False)
    values = build.constant([0, 1], dtype)
    return build.call("one_hot", best, scalar(node, size, I64), values, axis=axis)


RULES: Final[RuleTable] = {
    "Gather": versions(_gather, 1, 11, 13),
    "GatherElements": versions(_gather_elements, 11, 13),
    "GatherND": versions(_gather_nd, 11, 12, 13),
    "Scatter": versions(_scatter_elements, 9),
    "ScatterElements": versions(_scatter_elements, 11, 13, 16, 18),
    "ScatterND": versions(_scatter_nd, 11, 13, 16, 18),
    "OneHot": versions(_one_hot, 9, 11, 28),
    "Compress": versions(_compress, 9, 11, 28),
    "NonZero": versions(_nonzero, 9, 13),
    "Unique": versions(_unique, 11, 28),
    "TopK": versions(_top_k_attribute, 1) | versions(_top_k, 10, 11, 24),
    "Hardmax": versions(_hardmax, 13),
}


__all__ = ["RULES"]
