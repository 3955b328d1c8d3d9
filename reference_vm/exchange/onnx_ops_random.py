"""ONNX operators with random results, which are refused; and Dropout where it is not random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reference_vm.exchange.node import OnnxNode, RuleTable, versions
from reference_vm.exchange.onnx_ops_casts import scalar
from reference_vm.ir.nodes import Var
from reference_vm.types.dtype import BOOL


def _random(node: OnnxNode) -> Var:
    raise node.nondeterministic(f"{node.op} draws random numbers")


def _dropout(node: OnnxNode) -> Sequence[Var | None]:
    """Outside of training nothing is dropped: the operand passes through, the mask is all true."""
    if node.version >= 12 and _trains(node):
        raise node.nondeterministic("Dropout drops at random in training mode")
    if not node.wants(1):
        return (node.input(0), None)[: max(1, len(node.outputs))]
    shape = node.build.call("shape_of", node.input(0))
    dtype = BOOL if node.version >= 10 else node.dtype()
    return node.input(0), node.build.call("full", shape, scalar(node, 1, dtype))


def _trains(node: OnnxNode) -> bool:
    """Whether anything may be dropped.

    Raises:
        CompileError: ``nondeterministic``: only a run can tell.
    """
    if not node.given(2):
        return False
    training = node.build.scalar(node.input(2))
    ratio = node.build.scalar(node.input(1)) if node.given(1) else 0.5
    return ratio != 0 and (training is None or training != 0)


RULES: Final[RuleTable] = {
    "RandomNormal": versions(_random, 1, 22),
    "RandomNormalLike": versions(_random, 1, 22),
    "RandomUniform": versions(_random, 1, 22),
    "RandomUniformLike": versions(_random, 1, 22),
    "Multinomial": versions(_random, 7, 22),
    "Bernoulli": versions(_random, 15, 22),
    "Dropout": versions(_dropout, 6, 7, 10, 12, 13, 22),
}


__all__ = ["RULES"]
