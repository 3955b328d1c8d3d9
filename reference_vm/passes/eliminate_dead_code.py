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

Copies and ``match_cast`` stay: the first are there to be made, the second checks; so do calls of
functions with one of them. An operator that may fail, or a call, goes like any other when nobody
reads its result, and with it the error that it might have reported. Of a tuple that a branch yields
only the items stay that somebody takes, and nothing of what one yields that is there for an effect
alone (`narrowing`).
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import ClassVar, final

from reference_vm.analysis.effects import Effects
from reference_vm.ir import rewrite
from reference_vm.ir.nodes import (
    Binding,
    Block,
    Function,
    If,
    Match,
    Module,
    Project,
    Var,
    blocks,
    operands,
    with_blocks,
)
from reference_vm.passes.context import PassContext, Property
from reference_vm.passes.narrowing import narrowed
from reference_vm.types import TupleType


@final
@dataclass(frozen=True)
class EliminateDeadCode:
    """``eliminate-dead-code``: remove what nobody reads."""

    name: ClassVar[str] = "eliminate-dead-code"
    requires: ClassVar[frozenset[Property]] = frozenset()
    establishes: ClassVar[frozenset[Property]] = frozenset()

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` without bindings that nobody reads."""
        effects = Effects(module, ctx.ops)
        return module.with_functions([_without_dead(f, effects) for f in module.functions])


def _without_dead(function: Function, effects: Effects) -> Function:
    eliminator = _Eliminator(effects)
    body = eliminator.block(rewrite.flatten(function.body))
    if eliminator.narrow:
        body = narrowed(body, eliminator.narrow)
    return replace(function, body=body)


@final
@dataclass
class _Eliminator:
    """Walks one function backwards."""

    effects: Effects
    read: set[Var] = field(default_factory=set)
    taken: dict[Var, set[int]] = field(default_factory=dict)
    """Which items are taken of each variable."""

    narrow: dict[Var, AbstractSet[int]] = field(default_factory=dict)
    """The branches of whose tuple only some items are read, and which."""

    def block(self, block: Block) -> Block:
        """Return ``block`` without dead bindings; what it reads is noted."""
        self.read.add(block.result)
        kept: list[Binding] = []
        for binding in reversed(tuple(block.bindings())):
            value, var = binding.value, binding.var
            is_read = var in self.read or var in self.taken
            if not is_read and not self.effects.has_one(binding):
                continue
            if isinstance(value, If | Match):
                self._note(binding)
            inner = blocks(value)
            if inner:
                value = with_blocks(value, [self.block(b) for b in inner])
                binding = replace(binding, value=value)
            if isinstance(value, Project):
                self.taken.setdefault(value.tuple, set()).add(value.index)
            else:
                self.read.update(operands(value))
            kept.append(binding)
        return Block(tuple(reversed(kept)), block.result)

    def _note(self, binding: Binding) -> None:
        """Remember which items are taken of what a branch yields, if not all are read."""
        type_, var = binding.var.type, binding.var
        taken = self.taken.get(var, set())
        if var in self.read or type_ == TupleType(()):
            return
        if not taken or (isinstance(type_, TupleType) and len(taken) < len(type_.items)):
            self.narrow[var] = taken


__all__ = ["EliminateDeadCode"]
