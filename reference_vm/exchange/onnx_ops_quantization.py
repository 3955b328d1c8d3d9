"""ONNX operators on quantised tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from onnx import TensorProto

from reference_vm.exchange.node import OnnxNode, RuleTable, versions
from reference_vm.exchange.onnx_ops_casts import cast, dtype_attribute
from reference_vm.exchange.onnx_ops_windows import check_kernel_shape, trimmed, window_attributes
from reference_vm.ir.nodes import Var
from reference_vm.types import AttrValue, DType
from reference_vm.types.dtype import F32


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


def _granularity(node: OnnxNode) -> dict[str, AttrValue]:
    """Return along what scales vary; version 10 knows one scale for all."""
    return {
        "axis": node.integer("axis") if node.has("axis") else 1,
        "block_size": node.integer("block_size") if node.has("block_size") else 0,
        "output_dtype": _output_dtype(node),
    }


def _output_dtype(node: OnnxNode) -> DType | None:
    if not node.has("output_dtype") or node.integer("output_dtype") == TensorProto.UNDEFINED:
        return None
    return dtype_attribute(node, "output_dtype")


def _quantize_linear(node: OnnxNode) -> Var:
    if node.has("precision") and node.integer("precision") not in (0, TensorProto.FLOAT):
        raise node.unsupported("a precision other than FLOAT is not translated")
    operands = trimmed([node.input(0), node.input(1), node.optional(2)])
    return node.build.call("quantize_linear", *operands, **_granularity(node))


def _dequantize_linear(node: OnnxNode) -> Var:
    operands = trimmed([node.input(0), node.input(1), node.optional(2)])
    return node.build.call("dequantize_linear", *operands, **_granularity(node))


def _requantized(node: OnnxNode, product: Var, scale: Var) -> Var:
    """Return an exact i32 product as what its scale and the result's, inputs 6 and 7, make it."""
    build = node.build
    value = build.call("multiply", build.call("cast", product, to=F32), cast(node, scale, F32))
    return build.call(
        "quantize_linear", value, cast(node, node.input(6), F32), node.input(7), axis=1
    )


def _qlinear_matmul(node: OnnxNode) -> Var:
    """The product is exact in i32, and rounded once, with the product of the scales."""
    for index in (1, 2, 4, 5):
        if node.type(index).shape not in ((), (1,)):
            raise node.unsupported("scales by row or column are not translated")
    build = node.build
    scale = build.call("multiply", node.input(1), node.input(4))
    zeros = (_one(node, 2), _one(node, 5))
    product = build.call("matmul_integer", node.input(0), node.input(3), *zeros)
    return _requantized(node, product, _as_scalar(node, scale))


def _one(node: OnnxNode, index: int) -> Var:
    return _as_scalar(node, node.input(index))


def _as_scalar(node: OnnxNode, var: Var) -> Var:
    """Return a tensor of one element as one of rank 0."""
    if node.tensor(var).rank == 0:
        return var
    return node.build.call("reshape", var, node.build.shape(()))


def _qlinear_conv(node: OnnxNode) -> Var:
    check_kernel_shape(node, 3)
    build, rank = node.build, node.rank(0)
    operands = (node.input(0), node.input(3), _one(node, 2), node.input(5))
    attrs = window_attributes(node)
    product = build.call("conv_integer", *operands, group=node.integer("group"), **attrs)
    by_channel = build.ints((-1, *(1,) * (rank - 2)))
    if node.given(8):
        product = build.call("add", product, build.call("reshape", node.input(8), by_channel))
    scale = build.call("multiply", _one(node, 1), node.input(4))
    if node.type(4).shape not in ((), (1,)):
        scale = build.call("reshape", scale, by_channel)
    else:
        scale = _as_scalar(node, scale)
    return _requantized(node, product, scale)


RULES: Final[RuleTable] = {
    "QuantizeLinear": versions(_quantize_linear, 10, 13, 19, 21, 23, 24, 25, 28),
    "DequantizeLinear": versions(_dequantize_linear, 10, 13, 19, 21, 23, 24, 25, 28),
    "QLinearMatMul": versions(_qlinear_matmul, 10, 21),
    "QLinearConv": versions(_qlinear_conv, 10),
    "MatMulInteger": versions(_matmul_integer, 10),
    "ConvInteger": versions(_conv_integer, 10),
    "DynamicQuantizeLinear": versions(_dynamic_quantize_linear, 11),
}


__all__ = ["RULES"]
