"""Reads a primitive function as a convolution, perhaps with one activation of its result."""

from __future__ import annotations

from typing import Final

from reference_vm.ir.nodes import Call, Function
from reference_vm.targets.numba.vectors import Bend
from reference_vm.types import TensorType
from reference_vm.types.dtype import F32, F64

OPERATORS: Final = frozenset({"conv", "conv_integer"})


def convolution_of(function: Function) -> tuple[Call, Bend | None] | None:
    """Return the convolution that a function is, and what becomes of numbers below 0 in it."""
    bindings = tuple(function.body.bindings())
    call = bindings[0].value if bindings else None
    if not isinstance(call, Call) or call.op not in OPERATORS:
        return None
    if len(bindings) == 1:
        return call, None
    last = bindings[1].value
    if call.op != "conv" or len(bindings) != 2 or not isinstance(last, Call):
        return None
    bend = _bend(last, function.body.result.type) if last.args == (bindings[0].var,) else None
    return None if bend is None else (call, bend)


def _bend(call: Call, type_: object) -> Bend | None:
    """Return what an activation does below 0; ``None`` if it does more than that.

    A narrow float is multiplied once it is rounded, which sums are not yet.
    """
    if call.op == "relu":
        return Bend(None)
    whole = isinstance(type_, TensorType) and type_.dtype in (F32, F64)
    return Bend(float(call.attrs["alpha"])) if call.op == "leaky_relu" and whole else None


__all__ = ["OPERATORS", "convolution_of"]
