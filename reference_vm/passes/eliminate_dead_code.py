"""Remove what nobody reads.

Before::

    fn @main(%x: f32[4]) -> f32[4] {
      %a = exp(%x)
      %b = add(%x, %x)
      return %b
    }

After::

    fn @main(%x: f32[4]) -> f32[4] {
      %b = add(%x, %x)
      return %b
    }

Copies and ``match_cast`` stay: the first are there to be made, the second checks. An operator that
may fail goes like any other when nobody reads its result, and with it the error that it might have
reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, final

from reference_vm.ir import rewrite
from reference_vm.ir.nodes import (
    Binding,
    Block,
    Call,
    Closure,
    Function,
    Invoke,
    Module,
    Var,
    blocks,
    operands,
    with_blocks,
)
from reference_vm.ops.definition import OpDef, Trait
from reference_vm.passes.context import PassContext, Property


@final
@dataclass(frozen=True)
class EliminateDeadCode:
    """``eliminate-dead-code``: remove what nobody reads."""

    name: ClassVar[str] = "eliminate-dead-code"
    requires: ClassVar[frozenset[Property]] = frozenset()
    establishes: ClassVar[frozenset[Property]] = frozenset()

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` without bindings that nobody reads."""
        return module.with_functions([_without_dead(f, ctx.ops) for f in module.functions])


def _without_dead(function: Function, ops: Mapping[str, OpDef]) -> Function:
    read: set[Var] = set()
    return replace(function, body=_block(rewrite.flatten(function.body), read, ops))


def _block(block: Block, read: set[Var], ops: Mapping[str, OpDef]) -> Block:
    """Return ``block`` without dead bindings; what it reads is added to ``read``."""
    read.add(block.result)
    kept: list[Binding] = []
    for binding in reversed(tuple(block.bindings())):
        value = binding.value
        if binding.var not in read and not _has_effect(binding, ops):
            continue
        inner = blocks(value)
        if inner:
            value = with_blocks(value, [_block(b, read, ops) for b in inner])
            binding = replace(binding, value=value)
        read.update(operands(value))
        kept.append(binding)
    return Block(tuple(reversed(kept)), block.result)


def _has_effect(binding: Binding, ops: Mapping[str, OpDef]) -> bool:
    value = binding.value
    if isinstance(value, Call):
        op = ops.get(value.op)
        return op is None or op.has(Trait.MOVES_DATA) or value.op == "match_cast"
    if isinstance(value, Invoke):
        return True
    if isinstance(value, Closure):
        return False
    return any(_has_effect(b, ops) for inner in blocks(value) for b in inner.bindings())


__all__ = ["EliminateDeadCode"]
