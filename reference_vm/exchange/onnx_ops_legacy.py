"""Versions of operators from before operator set 7.

Then an operand was broadcast only on demand (``broadcast = 1``), from the axis that ``axis`` names,
or else from the last one backwards. Later versions broadcast as NumPy does, so it is enough to put
the second operand's dims where they belong.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from reference_vm.exchange.node import OnnxNode, Results, Rule, RuleTable, versions
from reference_vm.exchange.onnx_ops_elementwise import RULES as ELEMENTWISE
from reference_vm.exchange.onnx_ops_linalg import RULES as LINALG
from reference_vm.exchange.onnx_ops_normalization import RULES as NORMALIZATION
from reference_vm.exchange.onnx_ops_windows import RULES as WINDOWS
from reference_vm.ir.nodes import Var
from reference_vm.types import Shape


def _aligned(rule: Rule) -> Rule:
    """Return ``rule`` with its second operand put where the node's attributes say."""

    def aligned(node: OnnxNode) -> Results:
        return rule(replace(node, inputs=(node.input(0), _second(node))))

    return aligned


def _second(node: OnnxNode) -> Var:
    y = node.input(1)
    if not node.flag("broadcast"):
        if _certainly_differ(node.type(0).shape, node.type(1).shape):
            raise node.invalid(
                f"operands are {node.type(0)} and {node.type(1)}, and broadcast is 0"
            )
        return y
    if not node.has("axis"):
        return y
    missing = node.rank(0) - node.integer("axis") % max(1, node.rank(0)) - node.rank(1)
    if missing < 0:
        raise node.invalid(
            f"operand 1 of rank {node.rank(1)} does not fit at axis {node.integer('axis')}"
        )
    if not missing:
        return y
    axes = tuple(range(node.rank(1), node.rank(1) + missing))
    return node.build.call("expand_dims", y, axes=axes)


def _certainly_differ(left: Shape | None, right: Shape | None) -> bool:
    if left is None or right is None:
        return False
    if len(left) != len(right):
        return True
    pairs = zip(left, right, strict=True)
    return any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)


def _prelu(node: OnnxNode) -> Results:
    """A slope of one dim is one for each channel."""
    slope = node.input(1)
    if node.rank(1) == 1 and node.rank(0) > 2 and node.type(1).shape != (1,):
        slope = node.build.call("expand_dims", slope, axes=tuple(range(1, node.rank(0) - 1)))
    return node.build.call("prelu", node.input(0), slope)


def _batch_norm(node: OnnxNode) -> Results:
    if not node.flag("is_test"):
        raise node.unsupported("is_test is 0: training updates state, which a program here cannot")
    return NORMALIZATION["BatchNormalization"][9](node)


_BINARY: Final = ("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Less", "Greater")
_FIRST: Final = {"Pow": (1,), "And": (1,), "Or": (1,), "Xor": (1,), "Equal": (1,)}
_COMPARED: Final = ("Less", "Greater")


def _since(name: str) -> tuple[int, ...]:
    if name in _COMPARED:
        return (1,)
    return _FIRST.get(name, (6,))


RULES: Final[RuleTable] = {
    **{name: versions(_aligned(ELEMENTWISE[name][7]), *_since(name)) for name in _BINARY},
    **{name: versions(ELEMENTWISE[name][8], 6) for name in ("Max", "Min", "Sum", "Mean")},
    "PRelu": versions(_prelu, 6),
    "Gemm": versions(LINALG["Gemm"][7], 6),
    "BatchNormalization": versions(_batch_norm, 6),
    "AveragePool": versions(WINDOWS["AveragePool"][7], 1),
}


__all__ = ["RULES"]
