"""ONNX operators that fold axes away, and cumulative ones.

Axes are an attribute in older versions and an input in newer ones; no axes mean all, unless
``noop_with_empty_axes`` says none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_vm.exchange.node import OnnxNode, Rule, RuleTable, versions
from reference_vm.exchange.onnx_ops_casts import scalar
from reference_vm.ir.nodes import Var

Fold = Callable[[OnnxNode, Var, "tuple[int, ...] | None", bool], Var]
"""From the operand, the axes (``None`` for all) and whether to keep them, to the result."""


def _axes(node: OnnxNode) -> tuple[int, ...] | None:
    """Return the axes to fold; ``None`` for all, ``()`` for none."""
    if node.has("noop_with_empty_axes"):
        found = node.static_ints(1, "axes") if node.given(1) else ()
        return found if found or node.flag("noop_with_empty_axes") else None
    return (node.integers("axes") or None) if node.has("axes") else None


def _reduction(fold: Fold) -> Rule:
    def rule(node: OnnxNode) -> Var:
        axes = _axes(node)
        return fold(node, node.input(0), axes, node.flag("keepdims"))

    return rule


def _simple(op: str) -> Rule:
    """Return the rule of a reduction that is one call; with no axes to fold it is the operand."""

    def fold(node: OnnxNode, x: Var, axes: tuple[int, ...] | None, keepdims: bool) -> Var:
        return reduced(node, op, x, axes, keepdims)

    return _reduction(fold)


def reduced(node: OnnxNode, op: str, x: Var, axes: tuple[int, ...] | None, keepdims: bool) -> Var:
    """Return ``x`` folded along ``axes``: ``None`` for all of them, ``()`` for none."""
    return x if axes == () else node.build.call(op, x, axis=axes, keepdims=keepdims)


def _extreme(number: str, truth: str) -> Rule:
    """Return the rule of a maximum or minimum, which version 20 takes bools for."""

    def fold(node: OnnxNode, x: Var, axes: tuple[int, ...] | None, keepdims: bool) -> Var:
        return reduced(node, truth if node.dtype().is_bool else number, x, axes, keepdims)

    return _reduction(fold)


def _l1(node: OnnxNode, x: Var, axes: tuple[int, ...] | None, keepdims: bool) -> Var:
    return reduced(node, "sum", node.build.call("abs", x), axes, keepdims)


def _sum_square(node: OnnxNode, x: Var, axes: tuple[int, ...] | None, keepdims: bool) -> Var:
    return reduced(node, "sum", node.build.call("square", x), axes, keepdims)


def _l2(node: OnnxNode, x: Var, axes: tuple[int, ...] | None, keepdims: bool) -> Var:
    if not node.dtype().is_float:
        raise node.unsupported(f"the root of {node.dtype()} elements is not translated")
    return node.build.call("sqrt", _sum_square(node, x, axes, keepdims))


def _log_sum(node: OnnxNode, x: Var, axes: tuple[int, ...] | None, keepdims: bool) -> Var:
    return node.build.call("log", reduced(node, "sum", x, axes, keepdims))


def _log_sum_exp(node: OnnxNode, x: Var, axes: tuple[int, ...] | None, keepdims: bool) -> Var:
    """Shifted by the maximum where that is finite, so that nothing overflows."""
    build, zero = node.build, scalar(node, 0, node.dtype())
    if axes == ():
        return x
    greatest = build.call("max", x, axis=axes, keepdims=True)
    shift = build.call("where", build.call("isinf", greatest), zero, greatest)
    exps = build.call("exp", build.call("subtract", x, shift))
    logs = build.call("log", build.call("sum", exps, axis=axes, keepdims=True))
    total = build.call("add", logs, shift)
    if keepdims:
        return total
    return build.call("squeeze", total, axes=_all_axes(node, axes))


def _all_axes(node: OnnxNode, axes: tuple[int, ...] | None) -> tuple[int, ...]:
    return tuple(range(node.rank())) if axes is None else axes


def _arg(op: str) -> Rule:
    def rule(node: OnnxNode) -> Var:
        last = node.has("select_last_index") and node.flag("select_last_index")
        return node.build.call(
            op,
            node.input(0),
            axis=node.axis(),
            keepdims=node.flag("keepdims"),
            select_last=last,
        )

    return rule


def _cumulative(op: str) -> Rule:
    def rule(node: OnnxNode) -> Var:
        axes = node.static_ints(1, "the axis")
        if len(axes) != 1:
            raise node.invalid(f"the axis has {len(axes)} elements, expected 1")
        return node.build.call(
            op,
            node.input(0),
            axis=node.positive(axes[0], node.rank()),
            exclusive=node.flag("exclusive"),
            reverse=node.flag("reverse"),
        )

    return rule


RULES: Final[RuleTable] = {
    "ReduceSum": versions(_simple("sum"), 1, 11, 13),
    "ReduceMean": versions(_simple("mean"), 1, 11, 13, 18),
    "ReduceProd": versions(_simple("prod"), 1, 11, 13, 18),
    "ReduceMax": versions(_extreme("max", "any"), 1, 11, 12, 13, 18, 20),
    "ReduceMin": versions(_extreme("min", "all"), 1, 11, 12, 13, 18, 20),
    "ReduceL1": versions(_reduction(_l1), 1, 11, 13, 18),
    "ReduceL2": versions(_reduction(_l2), 1, 11, 13, 18),
    "ReduceSumSquare": versions(_reduction(_sum_square), 1, 11, 13, 18),
    "ReduceLogSum": versions(_reduction(_log_sum), 1, 11, 13, 18, 28),
    "ReduceLogSumExp": versions(_reduction(_log_sum_exp), 1, 11, 13, 18, 28),
    "ArgMax": versions(_arg("argmax"), 1, 11, 12, 13),
    "ArgMin": versions(_arg("argmin"), 1, 11, 12, 13),
    "CumSum": versions(_cumulative("cumulative_sum"), 11, 14),
    "CumProd": versions(_cumulative("cumulative_prod"), 26),
}


__all__ = ["RULES", "reduced"]
