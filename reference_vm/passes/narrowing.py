"""Narrow what branches yield to the items of it that somebody takes.

Before, when nobody takes the second item of ``%r``::

    %r = if %c {
      %t = (%a, %b)
      yield %t
    } else { … }
    %p = %r[0]

After::

    %r = if %c {
      %t = (%a, %b)
      %t.0 = %t[0]
      %r.1 = (%t.0,)
      yield %r.1
    } else { … }
    %p = %r[0]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import cast

from reference_vm.ir import rewrite
from reference_vm.ir.nodes import (
    Binding,
    Block,
    MakeTuple,
    Project,
    Var,
    blocks,
    with_blocks,
)
from reference_vm.types import TupleType, Type, tensors


def narrowed(body: Block, items: Mapping[Var, AbstractSet[int]]) -> Block:
    """Return ``body`` with only these items left of what the branches yield that bind the keys."""
    renamed: dict[Var, Var] = {}
    places: dict[Var, dict[int, int]] = {}

    def change(binding: Binding) -> Iterable[Binding]:
        var, value = binding.var, binding.value
        if isinstance(value, Project) and value.tuple in places:
            index = places[value.tuple][value.index]
            return (replace(binding, value=replace(value, index=index)),)
        if var not in items:
            return (binding,)
        kept = sorted(items[var])
        new = rewrite.with_type(var, _of_items(cast("TupleType", var.type), kept))
        renamed[var] = new
        places[new] = {index: place for place, index in enumerate(kept)}
        arms = [_yielding(block, kept, var.name) for block in blocks(value)]
        has_tensors = any(True for _ in tensors(new.type)) if new.type is not None else False
        request = binding.request if has_tensors else None
        return (Binding(new, with_blocks(value, arms), request),)

    return rewrite.rebuild(body, change, renamed)


def _of_items(type_: Type | None, kept: Sequence[int]) -> TupleType:
    """Return the type of these items of a tuple; of anything, if there are none."""
    if not kept:
        return TupleType(())
    return TupleType(tuple(cast("TupleType", type_).items[index] for index in kept))


def _yielding(block: Block, kept: Sequence[int], name: str) -> Block:
    """Return ``block`` yielding these items alone of the tuple that it yields."""
    whole = block.result
    type_ = cast("TupleType", whole.type)
    taken = [
        Binding(Var(f"{whole.name}.{index}", type_.items[index]), Project(whole, index))
        for index in kept
    ]
    items = tuple(b.var for b in taken)
    result = Var(name, _of_items(type_, kept))
    together = Binding(result, MakeTuple(items))
    return Block((*block.statements, *taken, together), result, block.span)


__all__ = ["narrowed"]
