"""Remove what bytecode has no word for: second names, and moves that move nothing.

Before::

    %x.accel: f32[4] @accel = device_copy(%x, cause = "explicit") @accel
    %y: f32[4] @accel = to_vdevice(%x.accel) @accel
    %z: f32[4] @accel = %y
    %p = (%z, %w)
    %q: f32[4] @accel = %p[0]
    %r: f32[4] @accel = exp(%q) @accel

After::

    %x.accel: f32[4] @accel = device_copy(%x, cause = "explicit") @accel
    %r: f32[4] @accel = exp(%x.accel) @accel

Values are made once and never written, so a second name for one is the one itself. An ``identity``
that the program places is an operator and stays. Tuples that nobody reads any more go.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, final

from reference_vm.analysis.values import MOVES, Means
from reference_vm.ir import rewrite
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Block,
    Call,
    Expr,
    Function,
    MakeTuple,
    Module,
    Project,
    Var,
    blocks,
    operands,
    with_blocks,
)
from reference_vm.passes.context import PassContext, Property


@final
@dataclass(frozen=True)
class Legalize:
    """``legalize``: leave only what bytecode has a word for."""

    name: ClassVar[str] = "legalize"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.DEVICE_LOCAL})
    establishes: ClassVar[frozenset[Property]] = frozenset()

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` without aliases, moves on one device, and tuples taken apart."""
        return module.with_functions([_legalized(f) for f in module.functions])


def _legalized(function: Function) -> Function:
    renamed: dict[Var, Var] = {}
    tuples: dict[Var, tuple[Var, ...]] = {}

    def change(binding: Binding) -> Iterable[Binding]:
        value = binding.value
        same = _same_value(binding, tuples)
        if same is not None:
            renamed[binding.var] = same
            return ()
        if isinstance(value, MakeTuple):
            tuples[binding.var] = value.items
        return (binding,)

    body = rewrite.rebuild(function.body, change, renamed)
    return replace(function, body=_without_idle_tuples(body, set()))


def _same_value(binding: Binding, tuples: dict[Var, tuple[Var, ...]]) -> Var | None:
    """Return the variable that ``binding`` only gives a second name to, if it does."""
    match binding.value:
        case Alias(var=var):
            return var
        case Project(tuple=whole, index=index) if whole in tuples:
            return tuples[whole][index]
        case Call(op=op, args=(Var() as source,)) if _moves_nothing(op, binding, source):
            return source
        case _:
            return None


def _moves_nothing(op: str, binding: Binding, source: Var) -> bool:
    if op == "identity":
        return binding.request is None
    if MOVES.get(op) in (Means.FIXED, Means.HINT):
        assert source.vdevice == binding.var.vdevice, f"%{source.name} is read from afar"
        return True
    return False


def _without_idle_tuples(block: Block, read: set[Var]) -> Block:
    read.add(block.result)
    kept: list[Binding] = []
    for binding in reversed(tuple(block.bindings())):
        value: Expr = binding.value
        if isinstance(value, MakeTuple) and binding.var not in read:
            continue
        inner = blocks(value)
        if inner:
            value = with_blocks(value, [_without_idle_tuples(b, read) for b in inner])
        read.update(operands(value))
        kept.append(replace(binding, value=value))
    return Block(tuple(reversed(kept)), block.result)


__all__ = ["Legalize"]
