"""Reads a primitive function as a convolution, perhaps with ``relu`` of its result."""

from __future__ import annotations

from typing import Final

from reference_vm.ir.nodes import Call, Function

OPERATORS: Final = frozenset({"conv", "conv_integer"})


def convolution_of(function: Function) -> tuple[Call, bool] | None:
    """Return the convolution that a function is, and whether ``relu`` of it is the result."""
    bindings = tuple(function.body.bindings())
    call = bindings[0].value if bindings else None
    if not isinstance(call, Call) or call.op not in OPERATORS:
        return None
    if len(bindings) == 1:
        return call, False
    last = bindings[1].value
    ends = isinstance(last, Call) and last.op == "relu" and last.args == (bindings[0].var,)
    return (call, True) if ends and call.op == "conv" and len(bindings) == 2 else None


__all__ = ["OPERATORS", "convolution_of"]
