"""Steps of optimizers (``ai.onnx.preview.training``): one update of weights by their gradients.

All take a rate, the number of updates so far, and then weights, gradients and states in groups of
equal size; they give new weights and states in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reference_vm.exchange.node import OnnxNode, RuleTable, versions
from reference_vm.exchange.onnx_ops_casts import cast, scalar
from reference_vm.ir.nodes import Var
from reference_vm.types import DType
from reference_vm.types.dtype import I64


def _groups(node: OnnxNode, count: int) -> list[tuple[Var, ...]]:
    """Return weight, gradient and states of each tensor that is updated."""
    operands = node.present()[2:]
    if len(operands) % count:
        raise node.invalid(f"has {len(operands)} tensors, expected a multiple of {count}")
    size = len(operands) // count
    parts = [operands[i * size : (i + 1) * size] for i in range(count)]
    return list(zip(*parts, strict=True))


def _times(node: OnnxNode, factor: float, var: Var) -> Var:
    return node.build.call("multiply", var, scalar(node, factor, node.tensor(var).dtype))


def _regularized(node: OnnxNode, weight: Var, gradient: Var) -> Var:
    """Return the gradient with the norm's part added."""
    return node.build.call("add", _times(node, node.number("norm_coefficient"), weight), gradient)


def _rate(node: OnnxNode, dtype: DType) -> Var:
    return cast(node, node.input(0), dtype)


def _in_order(updates: Sequence[tuple[Var, ...]]) -> list[Var]:
    """Return all first results, then all second ones, and so on."""
    return [var for group in zip(*updates, strict=True) for var in group]


def _momentum(node: OnnxNode) -> Sequence[Var]:
    mode = node.text("mode")
    if mode not in ("standard", "nesterov"):
        raise node.invalid(f"mode is {mode!r}, expected 'standard' or 'nesterov'")
    return _in_order([_momentum_step(node, mode, *group) for group in _groups(node, 3)])


def _momentum_step(
    node: OnnxNode, mode: str, weight: Var, gradient: Var, velocity: Var
) -> tuple[Var, Var]:
    build, dtype = node.build, node.tensor(weight).dtype
    own, alpha = _regularized(node, weight, gradient), node.number("alpha")
    started = build.call("greater", cast(node, node.input(1), I64), build.constant(0))
    share = build.call(
        "where", started, scalar(node, node.number("beta"), dtype), scalar(node, 1, dtype)
    )
    new = build.call("add", _times(node, alpha, velocity), build.call("multiply", share, own))
    way = new if mode == "standard" else build.call("add", own, _times(node, alpha, new))
    step = build.call("multiply", _rate(node, dtype), way)
    return build.call("subtract", weight, step), new


def _adagrad(node: OnnxNode) -> Sequence[Var]:
    return _in_order([_adagrad_step(node, *group) for group in _groups(node, 3)])


def _adagrad_step(node: OnnxNode, weight: Var, gradient: Var, squares: Var) -> tuple[Var, Var]:
    build, dtype = node.build, node.tensor(weight).dtype
    own = _regularized(node, weight, gradient)
    new = build.call("add", squares, build.call("square", own))
    count = cast(node, node.input(1), dtype)
    decay = build.call(
        "add", _times(node, node.number("decay_factor"), count), scalar(node, 1, dtype)
    )
    rate = build.call("divide", _rate(node, dtype), decay)
    way = build.call("divide", build.call("multiply", rate, own), _root(node, new))
    return build.call("subtract", weight, way), new


def _root(node: OnnxNode, squares: Var) -> Var:
    epsilon = scalar(node, node.number("epsilon"), node.tensor(squares).dtype)
    return node.build.call("add", node.build.call("sqrt", squares), epsilon)


def _adam(node: OnnxNode) -> Sequence[Var]:
    return _in_order([_adam_step(node, *group) for group in _groups(node, 4)])


def _adam_step(
    node: OnnxNode, weight: Var, gradient: Var, velocity: Var, squares: Var
) -> tuple[Var, Var, Var]:
    build, alpha, beta = node.build, node.number("alpha"), node.number("beta")
    own = _regularized(node, weight, gradient)
    new = build.call("add", _times(node, alpha, velocity), _times(node, 1 - alpha, own))
    square = build.call("square", own)
    new_squares = build.call("add", _times(node, beta, squares), _times(node, 1 - beta, square))
    rate = _adjusted_rate(node, node.tensor(weight).dtype)
    way = build.call("divide", build.call("multiply", rate, new), _root(node, new_squares))
    kept = 1 - node.number("norm_coefficient_post")
    return _times(node, kept, build.call("subtract", weight, way)), new, new_squares


def _adjusted_rate(node: OnnxNode, dtype: DType) -> Var:
    """Return the rate, made up for states that started from zero."""
    build, rate, one = node.build, _rate(node, dtype), scalar(node, 1, dtype)
    count = cast(node, node.input(1), dtype)
    started = build.call("greater", count, scalar(node, 0, dtype))
    left = [
        build.call("subtract", one, build.call("pow", scalar(node, node.number(n), dtype), count))
        for n in ("alpha", "beta")
    ]
    full = build.call("divide", build.call("multiply", rate, build.call("sqrt", left[1])), left[0])
    return build.call("where", started, full, rate)


RULES: Final[RuleTable] = {
    "Momentum": versions(_momentum, 1),
    "Adagrad": versions(_adagrad, 1),
    "Adam": versions(_adam, 1),
}


__all__ = ["RULES"]
