"""ONNX's recurrent layers: LSTM, GRU, RNN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reference_vm.exchange.node import OnnxNode, Rule, RuleTable, versions
from reference_vm.exchange.onnx_ops_windows import trimmed
from reference_vm.ir.nodes import Var
from reference_vm.types import AttrValue

_DIRECTIONS: Final = ("forward", "reverse", "bidirectional")


def _attributes(node: OnnxNode) -> dict[str, AttrValue]:
    """Return what the three layers share."""
    direction = node.text("direction")
    if direction not in _DIRECTIONS:
        raise node.invalid(f"direction is {direction!r}, expected one of {', '.join(_DIRECTIONS)}")
    attrs: dict[str, AttrValue] = {
        "direction": direction,
        "layout": node.integer("layout") if node.has("layout") else 0,
        "clip": node.number("clip") if node.has("clip") else None,
    }
    for name in ("activation_alpha", "activation_beta"):
        attrs[name] = (node.numbers(name) or None) if node.has(name) else None
    _check_hidden_size(node)
    return attrs


def _activations(node: OnnxNode) -> tuple[str, ...] | None:
    """Return the activations; RNN's default names one for each of two directions."""
    found = node.texts("activations") if node.has("activations") else ()
    if found == ("Tanh", "Tanh") and node.text("direction") != "bidirectional":
        found = found[:1] if node.op == "RNN" else found
    return found or None


def _check_hidden_size(node: OnnxNode) -> None:
    """Check ``hidden_size`` against the recurrent weights, whose last dim it is."""
    shape = node.type(2).shape
    if not node.has("hidden_size") or not shape or not isinstance(shape[-1], int):
        return
    if shape[-1] != node.integer("hidden_size"):
        message = f"hidden_size is {node.integer('hidden_size')}, but the weights say {shape[-1]}"
        raise node.invalid(message)


def _layer(op: str, operands: int, flag: str | None) -> Rule:
    """Return the rule of a layer: its operator, how many operands it has, and its own flag."""

    def rule(node: OnnxNode) -> Sequence[Var | None]:
        attrs = _attributes(node)
        attrs["activations"] = _activations(node)
        if flag is not None:
            attrs[flag] = node.has(flag) and node.flag(flag)
        given = trimmed([node.optional(i) for i in range(operands)])
        return node.build.results(op, *given, **attrs)

    return rule


RULES: Final[RuleTable] = {
    "LSTM": versions(_layer("lstm", 8, "input_forget"), 7, 14, 22),
    "GRU": versions(_layer("gru", 6, "linear_before_reset"), 3, 7, 14, 22),
    "RNN": versions(_layer("rnn", 6, None), 7, 14, 22),
}


__all__ = ["RULES"]
