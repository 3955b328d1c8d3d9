"""ONNX operators on quantised tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reference_vm.exchange.node import OnnxNode, RuleTable, versions
from reference_vm.exchange.onnx_ops_windows import check_kernel_shape, trimmed, window_attributes
from reference_vm.ir.nodes import Var


def _matmul_integer(node: OnnxNode) -> Var:
    operands = trimmed([node.optional(i) for i in range(4)])
    return node.build.call("matmul_integer", *operands)


def _conv_integer(node: OnnxNode) -> Var:
    check_kernel_shape(node)
    operands = trimmed([node.optional(i) for i in range(4)])
    attrs = window_attributes(node)
    return node.build.call("conv_integer", *operands, group=node.integer("group"), **attrs)


def _dynamic_quantize_linear(node: OnnxNode) -> Sequence[Var]:
    return node.build.results("dynamic_quantize_linear", node.input(0))


RULES: Final[RuleTable] = {
    "MatMulInteger": versions(_matmul_integer, 10),
    "ConvInteger": versions(_conv_integer, 10),
    "DynamicQuantizeLinear": versions(_dynamic_quantize_linear, 11),
}


__all__ = ["RULES"]
