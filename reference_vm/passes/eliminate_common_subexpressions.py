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
equal, and the first is visible to the readers of the second. Operands are equal if they name one
value, whatever they are called. So are two second names of a value that live on one device, two
``to_vdevice`` and two hints. What ``device_copy`` makes is never merged, nor operators that may
fail.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias, final

from reference_vm.analysis.values import MOVES, Means
from reference_vm.ir.nodes import (
    Alias,
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
from reference_vm.passes.second_names import FirstNames, moves_nothing
from reference_vm.types import TensorType, Type, VirtualDevice

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
        self.names = FirstNames()

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
        if isinstance(value, Alias):
            self.names.learn(replace(binding, value=value))
        if not self._may_merge(binding, value):
            return False
        key = self._key(binding, value)
        known = self.first.get(key)
        if known is not None:
            self.renamed[binding.var] = known
            return True
        self.first[key] = binding.var
        added.append(key)
        return False

    def _key(self, binding: Binding, value: Expr) -> Key:
        """Return what is equal for equal expressions: all operands by their first names."""
        first = self.names.first
        own = with_operands(value, first) if first else value
        type_, request = binding.var.type, binding.request
        if _is_moved(own) and isinstance(type_, TensorType) and request is not None:
            return own, None, type_.on(request)  # a suffix and a placed type say the same
        return own, request, type_

    def _may_merge(self, binding: Binding, value: Expr) -> bool:
        if isinstance(value, Call):
            op = self.ops.get(value.op)
            if op is None or Trait.CAN_FAIL in op.traits:
                return False
            return Trait.MOVES_DATA not in op.traits or _is_moved(value)
        if isinstance(value, Alias):
            return not moves_nothing(replace(binding, value=value))
        return isinstance(value, Constant | Weight | ShapeLiteral | MakeTuple | Project)


def _is_moved(value: Expr) -> bool:
    """Whether ``value`` is another, seen on a device: where it is there already, nothing moves."""
    if isinstance(value, Alias):
        return True
    return isinstance(value, Call) and MOVES.get(value.op) in (Means.FIXED, Means.HINT)


__all__ = ["EliminateCommonSubexpressions"]
