"""Reductions along axes that are not the last: the operand is seen with its axes in another order.

``sum(x, axis = 1)`` of ``[a, b, c]`` is the row sum of ``[a, c, b]``, whose elements are where they
always were. A result that keeps its folded axes, ``[a, 1, c]``, has them in its store again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reference_vm.ir.nodes import Binding, Block, Call, Function, Var
from reference_vm.loops.kernel import LoopRule, Reduce
from reference_vm.loops.lower import NoLoops, lower
from reference_vm.loops.nest import Nest
from reference_vm.types import Attrs, TensorType


def turned_nest(function: Function, rules: Mapping[str, LoopRule]) -> Nest:
    """Return the loop nest of one reduction along any axes.

    Raises:
        NoLoops: The function is something else.
    """
    bindings = tuple(function.body.bindings())
    call = bindings[0].value if len(bindings) == 1 else None
    if not isinstance(call, Call) or not isinstance(rules.get(call.op), Reduce):
        raise NoLoops("no single reduction")
    (operand,) = function.params
    shape = operand.tensor.shape
    axes = call.attrs.get("axis")
    if shape is None or not isinstance(axes, tuple) or not axes:
        raise NoLoops("folds axes that are not known one by one")
    rank = len(shape)
    folded = sorted({a % rank for a in axes if isinstance(a, int)})
    kept = [axis for axis in range(rank) if axis not in folded]
    nest = lower(_turned(function, call, kept, folded), rules)
    if not call.attrs.get("keepdims"):
        return nest
    (store,) = nest.stores
    view = tuple(kept.index(axis) if axis in kept else None for axis in range(rank))
    return replace(nest, stores=(replace(store, view=view),))


def _turned(function: Function, call: Call, kept: list[int], folded: list[int]) -> Function:
    """Return the reduction along the last axes of its operand with the folded axes last."""
    (operand,) = function.params
    type_ = operand.tensor
    assert type_.shape is not None
    order = (*kept, *folded)
    seen = Var("turned", TensorType(type_.dtype, tuple(type_.shape[a] for a in order)))
    last = tuple(range(len(kept), len(order)))
    shape = tuple(type_.shape[a] for a in kept)
    result = Var("result", TensorType(function.body.result.tensor.dtype, shape))
    bindings = (
        Binding(seen, Call("permute_dims", (operand,), Attrs(axes=order))),
        Binding(result, Call(call.op, (seen,), call.attrs.with_(axis=last, keepdims=False))),
    )
    assert result.type is not None
    return Function(function.name, function.params, result.type, Block(bindings, result))
