"""ONNX operators on signals: STFT and DFT."""

from __future__ import annotations

from typing import Final

from reference_vm.exchange.node import OnnxNode, RuleTable, versions
from reference_vm.exchange.onnx_ops_windows import trimmed
from reference_vm.ir.nodes import Var
from reference_vm.types.dtype import I64


def _stft(node: OnnxNode) -> Var:
    operands = trimmed([node.optional(i) for i in range(4)])
    return node.build.call("stft", *operands, onesided=node.flag("onesided"))


def _dft(node: OnnxNode) -> Var:
    """The axis is an attribute in version 17, an input since 20; it counts from the front."""
    attribute = node.version == 17
    axis = node.build.constant(node.integer("axis"), I64) if attribute else node.optional(2)
    operands = trimmed([node.input(0), node.optional(1), axis])
    return node.build.call(
        "dft", *operands, inverse=node.flag("inverse"), onesided=node.flag("onesided")
    )


RULES: Final[RuleTable] = {
    "STFT": versions(_stft, 17),
    "DFT": versions(_dft, 17, 20),
}


__all__ = ["RULES"]
