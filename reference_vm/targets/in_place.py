"""Which results of a primitive function may lie where an operand lies."""

from __future__ import annotations

from collections.abc import Callable

from reference_vm.ir.nodes import Call, Constant, Function
from reference_vm.ops.definition import OpDef, Trait
from reference_vm.types import TensorType


def elementwise_pairs(
    function: Function, is_compiled: Callable[[str], OpDef | None]
) -> frozenset[tuple[int, int]]:
    """Return the parameters that the one result of an elementwise function may be written over.

    In one loop nest that computes each element of the result from the elements at the same place,
    an operand of the result's own type is read there, and nowhere else. ``is_compiled`` gives the
    operators that become part of such a nest.
    """
    result = function.result
    if not isinstance(result, TensorType) or not result.is_sized:
        return frozenset()
    for binding in function.body.bindings():
        if isinstance(binding.value, Constant):
            continue
        op = is_compiled(binding.value.op) if isinstance(binding.value, Call) else None
        if op is None or Trait.ELEMENTWISE not in op.traits:
            return frozenset()
    return frozenset(
        (i, 0)
        for i, param in enumerate(function.params)
        if isinstance(param.type, TensorType)
        and param.type.dtype.itemsize == result.dtype.itemsize
        and param.type.shape == result.shape
    )


__all__ = ["elementwise_pairs"]
