"""Compute once what is written twice.

Before::

    %s = add(%a, %b) @accel
    %t = add(%a, %b) @accel
    %u = add(%a, %b) @host
    %d = multiply(%t, %u) @host

After::

    %s = add(%a, %b) @accel
    %u = add(%a, %b) @host
    %d = multiply(%s, %u) @host

Two expressions are one if operator, operands, attributes, suffix and type, the device included, are
equal, and the first is visible to the readers of the second. Copies are never merged, nor operators
that may fail.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias, final

from reference_vm.ir.nodes import (
    Binding,
    Block,
    Call,
    Constant,
    Expr,
    Function,
    MakeTuple,
    Module,
    Project,
    ShapeLiteral,
    Var,
    Weight,
    blocks,
    with_blocks,
    with_operands,
)
from reference_vm.ops.definition import OpDef, Trait
from reference_vm.passes.context import PassContext, Property
from reference_vm.types import Type, VirtualDevice

Key: TypeAlias = tuple[Expr, VirtualDevice | None, Type | None]


@final
@dataclass(frozen=True)
class EliminateCommonSubexpressions:
    """``eliminate-common-subexpressions``: compute once what is written twice."""

    name: ClassVar[str] = "eliminate-common-subexpressions"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TYPED})
    establishes: ClassVar[frozenset[Property]] = frozenset()

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` with repeated expressions merged."""
        return module.with_functions([_Merger(ctx.ops).run(f) for f in module.functions])


class _Merger:
    """Merges within one function; knows the expressions of the blocks that are open."""

    def __init__(self, ops: Mapping[str, OpDef]) -> None:
        self.ops = ops
        self.first: dict[Key, Var] = {}
        self.renamed: dict[Var, Var] = {}

    def run(self, function: Function) -> Function:
        return replace(function, body=self._block(function.body))

    def _block(self, block: Block) -> Block:
        added: list[Key] = []
        kept = []
        for binding in block.bindings():
            value = with_operands(binding.value, self.renamed) if self.renamed else binding.value
            inner = blocks(value)
            if inner:
                value = with_blocks(value, [self._block(b) for b in inner])
            if not self._is_repeated(binding, value, added):
                kept.append(Binding(binding.var, value, binding.request))
        for key in added:
            del self.first[key]
        return Block(tuple(kept), self.renamed.get(block.result, block.result))

    def _is_repeated(self, binding: Binding, value: Expr, added: list[Key]) -> bool:
        """Whether ``value`` was computed before; if not, it is from here on, in this block."""
        if not self._may_merge(value):
            return False
        key = (value, binding.request, binding.var.type)
        known = self.first.get(key)
        if known is not None:
            self.renamed[binding.var] = known
            return True
        self.first[key] = binding.var
        added.append(key)
        return False

    def _may_merge(self, value: Expr) -> bool:
        if isinstance(value, Call):
            op = self.ops.get(value.op)
            return op is not None and not (op.traits & {Trait.MOVES_DATA, Trait.CAN_FAIL})
        return isinstance(value, Constant | Weight | ShapeLiteral | MakeTuple | Project)


__all__ = ["EliminateCommonSubexpressions"]
