"""ONNX operators that normalise, and softmax.

Before version 13, softmax flattens its operand to two dims at the axis; since then it works along
one axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reference_vm.exchange.node import OnnxNode, Rule, RuleTable, versions
from reference_vm.exchange.onnx_ops_casts import cast, scalar
from reference_vm.exchange.onnx_ops_windows import trimmed
from reference_vm.ir.nodes import Var
from reference_vm.types.dtype import F32


def _softmax(op: str) -> Rule:
    def rule(node: OnnxNode) -> Var:
        return node.build.call(op, node.input(0), axis=node.axis())

    return rule


def _softmax_flattened(op: str) -> Rule:
    def rule(node: OnnxNode) -> Var:
        rank, axis = node.rank(), node.axis()
        if axis == rank - 1:
            return node.build.call(op, node.input(0), axis=axis)
        flat = node.build.call("flatten", node.input(0), axis=axis)
        result = node.build.call(op, flat, axis=1)
        shape = node.build.call("shape_of", node.input(0))
        return node.build.call("reshape", result, shape)

    return rule


def _batch_norm(node: OnnxNode) -> Var:
    """The statistics are the stored ones; older versions' training form is refused."""
    if any(node.outputs[1:]):
        raise node.unsupported("outputs beyond the first belong to training")
    if node.has("spatial") and not node.flag("spatial"):
        raise node.unsupported("spatial is 0: statistics by element are not translated")
    operands = [node.input(i) for i in range(5)]
    return node.build.call("batch_norm", *operands, epsilon=node.number("epsilon"))


def _batch_norm_or_training(node: OnnxNode) -> Sequence[Var]:
    """In training the statistics are the batch's own, and the stored ones are moved to them."""
    if not node.flag("training_mode"):
        return (_batch_norm(node),)
    build, x, momentum = node.build, node.input(0), node.number("momentum")
    axes = (0, *range(2, node.rank(0)))
    mean = build.call("mean", x, axis=axes)
    shape = tuple(range(1, node.rank(0) - 1))
    apart = build.call("subtract", x, build.call("expand_dims", mean, axes=shape))
    variance = build.call("mean", build.call("square", apart), axis=axes)
    results = []
    for index, own in ((3, mean), (4, variance)):
        dtype = node.dtype(index)
        old = build.call("multiply", node.input(index), scalar(node, momentum, dtype))
        new = build.call("multiply", cast(node, own, dtype), scalar(node, 1 - momentum, dtype))
        results.append(build.call("add", old, new))
    stored = [cast(node, var, node.dtype(i)) for i, var in ((3, mean), (4, variance))]
    operands = (x, node.input(1), node.input(2), *stored)
    return (build.call("batch_norm", *operands, epsilon=node.number("epsilon")), *results)


def _instance_norm(node: OnnxNode) -> Var:
    operands = (node.input(i) for i in range(3))
    return node.build.call("instance_norm", *operands, epsilon=node.number("epsilon"))


def _layer_norm(node: OnnxNode) -> Var:
    if node.integer("stash_type") != 1:
        raise node.unsupported(f"stash_type is {node.integer('stash_type')}, expected 1")
    operands = [node.input(0), node.input(1), node.optional(2)]
    attrs = {"axis": node.axis(), "epsilon": node.number("epsilon")}
    return node.build.call("layer_norm", *trimmed(operands), **attrs)


def _layer_norm_or_statistics(node: OnnxNode) -> tuple[Var | None, ...]:
    """Return the result, and mean and inverse deviation if asked for."""
    results: list[Var | None] = [_layer_norm(node), None, None]
    if node.wants(1) or node.wants(2):
        results[1:] = _statistics(node)
    return tuple(results[: max(1, len(node.outputs))])


def _statistics(node: OnnxNode) -> tuple[Var, Var]:
    build, axes = node.build, tuple(range(node.axis(), node.rank()))
    x = node.input(0) if node.dtype() == F32 else build.call("cast", node.input(0), to=F32)
    mean = build.call("mean", x, axis=axes, keepdims=True)
    squares = build.call("square", build.call("subtract", x, mean))
    variance = build.call("mean", squares, axis=axes, keepdims=True)
    shifted = build.call("add", variance, build.constant(node.number("epsilon"), F32))
    return mean, build.call("reciprocal", build.call("sqrt", shifted))


def _lrn(node: OnnxNode) -> Var:
    attrs = {name: node.number(name) for name in ("alpha", "beta", "bias")}
    return node.build.call("lrn", node.input(0), size=node.integer("size"), **attrs)


def _lp_normalization(node: OnnxNode) -> Var:
    build, axis, p = node.build, node.axis(), node.integer("p")
    if p not in (1, 2):
        raise node.invalid(f"p is {p}, expected 1 or 2")
    magnitudes = build.call("abs" if p == 1 else "square", node.input(0))
    norm = build.call("sum", magnitudes, axis=(axis,), keepdims=True)
    if p == 2:
        norm = build.call("sqrt", norm)
    zero, one = scalar(node, 0, node.dtype()), scalar(node, 1, node.dtype())
    divisor = build.call("where", build.call("equal", norm, zero), one, norm)
    return build.call("divide", node.input(0), divisor)


RULES: Final[RuleTable] = {
    "Softmax": versions(_softmax_flattened("softmax"), 1, 11) | versions(_softmax("softmax"), 13),
    "LogSoftmax": versions(_softmax_flattened("log_softmax"), 1, 11)
    | versions(_softmax("log_softmax"), 13),
    "BatchNormalization": versions(_batch_norm, 7, 9) | versions(_batch_norm_or_training, 14, 15),
    "InstanceNormalization": versions(_instance_norm, 6, 22),
    "LayerNormalization": versions(_layer_norm_or_statistics, 17),
    "LRN": versions(_lrn, 1, 13),
    "LpNormalization": versions(_lp_normalization, 1, 22),
}


__all__ = ["RULES"]
