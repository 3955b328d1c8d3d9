"""ONNX's branches: ``If``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reference_vm.exchange.node import OnnxNode, RuleTable, versions
from reference_vm.ir.nodes import Var
from reference_vm.types import UNKNOWN, Dim, Shape, TensorType, TupleType, Type
from reference_vm.types.dtype import BOOL


def _if(node: OnnxNode) -> Sequence[Var]:
    known = node.build.static(node.input(0))
    if known is not None and len(known) == 1:
        return _taken(node, "then_branch" if known[0] else "else_branch")
    condition = _condition(node)
    then, then_results = node.branch("then_branch")
    orelse, else_results = node.branch("else_branch")
    if len(then_results) != len(else_results):
        message = f"branches have {len(then_results)} and {len(else_results)} results"
        raise node.invalid(f"{message}, expected as many")
    types = tuple(_joined(node, a, b) for a, b in zip(then_results, else_results, strict=True))
    type_: Type = types[0] if len(types) == 1 else TupleType(types)
    result = node.build.branch(condition, then, orelse, type_)
    return (result,) if len(types) == 1 else node.build.items(result)


def _taken(node: OnnxNode, name: str) -> Sequence[Var]:
    """Translate one branch in place: shapes alone decide, as where a dim may be squeezed."""
    results = node.translate(node.graph(name), (), node.build)
    if not results:
        raise node.invalid(f"subgraph {name} has no outputs")
    return results


def _condition(node: OnnxNode) -> Var:
    type_ = node.type()
    if type_.dtype != BOOL:
        raise node.invalid(f"the condition is {type_}, expected a bool")
    if type_.rank == 0:
        return node.input(0)
    return node.build.call("squeeze", node.input(0), axes=None)


def _joined(node: OnnxNode, left: Var, right: Var) -> TensorType:
    """Return the type of a result that comes from either branch."""
    a, b = node.tensor(left), node.tensor(right)
    if a.dtype != b.dtype:
        raise node.invalid(f"one branch yields {a.dtype}, the other {b.dtype}")
    return TensorType(a.dtype, _joined_shape(a.shape, b.shape))


def _joined_shape(left: Shape | None, right: Shape | None) -> Shape | None:
    if left is None or right is None or len(left) != len(right):
        return None
    return tuple(_joined_dim(a, b) for a, b in zip(left, right, strict=True))


def _joined_dim(left: Dim, right: Dim) -> Dim:
    return left if left == right else UNKNOWN


RULES: Final[RuleTable] = {
    "If": versions(_if, 1, 11, 13, 16, 19, 21, 23, 24, 25),
}


__all__ = ["RULES"]
