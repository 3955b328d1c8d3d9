"""Operators that fold an axis and keep each step: cumulative_sum, cumulative_prod.

The result has the operand's dtype; f16 and bf16 are accumulated in f32 and each step is rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_vm.ops.checks import tensor_of
from reference_vm.ops.definition import (
    Array,
    Attr,
    Namespace,
    OpCall,
    OpDef,
)
from reference_vm.ops.elementwise import X
from reference_vm.ops.numerics import lifted
from reference_vm.ops.shapes import normalize_axis
from reference_vm.types import TensorType
from reference_vm.types.dtype import NUMERIC

Axes = tuple[int, ...] | None


def _infer_cumulative(call: OpCall) -> TensorType:
    x = tensor_of(call, 0, NUMERIC)
    if x.shape is not None:
        normalize_axis(call, call.attrs["axis"], len(x.shape))
    return TensorType(x.dtype, x.shape)


def _cumulative(name: str, identity: int) -> Callable[..., Array]:
    def compute(xp: Namespace, x: Array, *, axis: int, exclusive: bool, reverse: bool) -> Array:
        line = xp.flip(x, axis) if reverse else x
        total = getattr(xp, name)(line, axis=axis, dtype=x.dtype)
        if exclusive:
            total = xp.moveaxis(total, axis, 0)
            first = xp.full((min(1, total.shape[0]), *total.shape[1:]), identity, dtype=x.dtype)
            total = xp.moveaxis(xp.concatenate((first, total[:-1])), 0, axis)
        return xp.flip(total, axis) if reverse else total

    return compute


def _scan(name: str, summary: str, function: str, identity: int) -> OpDef:
    flag = Attr((bool,), False)
    return OpDef(
        name=name,
        summary=summary,
        operands=(X,),
        attrs={"axis": Attr((int,)), "exclusive": flag, "reverse": flag},
        infer=_infer_cumulative,
        compute=lifted(_cumulative(function, identity)),
    )


OPS: Final[tuple[OpDef, ...]] = (
    _scan("cumulative_sum", "Add up along an axis, keeping each step.", "cumsum", 0),
    _scan("cumulative_prod", "Multiply along an axis, keeping each step.", "cumprod", 1),
)
