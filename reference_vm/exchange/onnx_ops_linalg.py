"""ONNX operators of linear algebra."""

from __future__ import annotations

from typing import Final

from reference_vm.exchange.contraction import contraction
from reference_vm.exchange.node import OnnxNode, RuleTable, versions
from reference_vm.exchange.onnx_ops_casts import scalar
from reference_vm.exchange.onnx_ops_elementwise import plain
from reference_vm.ir.nodes import Var


def _gemm(node: OnnxNode) -> Var:
    build, dtype = node.build, node.dtype()
    if node.rank(0) != 2 or node.rank(1) != 2:
        raise node.invalid(f"operands have ranks {node.rank(0)} and {node.rank(1)}, expected 2")
    a, b = (_transposed(node, i, flag) for i, flag in enumerate(("transA", "transB")))
    result = build.call("matmul", a, b)
    alpha, beta = node.number("alpha"), node.number("beta")
    if alpha != 1:
        result = build.call("multiply", result, scalar(node, alpha, dtype))
    if not node.given(2) or beta == 0:
        return result
    bias = node.input(2)
    if beta != 1:
        bias = build.call("multiply", bias, scalar(node, beta, dtype))
    return build.call("add", result, bias)


def _transposed(node: OnnxNode, index: int, flag: str) -> Var:
    if not node.flag(flag):
        return node.input(index)
    return node.build.call("permute_dims", node.input(index), axes=(1, 0))


def _einsum(node: OnnxNode) -> Var:
    operands, equation = node.present(), node.text("equation")
    found = contraction(node.build, operands, equation)
    return node.build.call("einsum", *operands, equation=equation) if found is None else found


RULES: Final[RuleTable] = {
    "MatMul": versions(plain("matmul"), 1, 9, 13),
    "Gemm": versions(_gemm, 7, 9, 11, 13),
    "Einsum": versions(_einsum, 12, 28),
    "Det": versions(plain("det"), 11, 22),
}


__all__ = ["RULES"]
