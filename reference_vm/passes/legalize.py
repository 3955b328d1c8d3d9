"""Remove what bytecode has no word for: second names, moves that move nothing, views of views.

Before::

    %x.accel: f32[4] @accel = device_copy(%x, cause = "explicit") @accel
    %y: f32[4] @accel = to_vdevice(%x.accel) @accel
    %z: f32[4] @accel = %y
    %p = (%z, %w)
    %q: f32[4] @accel = %p[0]
    %r: f32[4] @accel = exp(%q) @accel
    %s.shape = shape [2, 2]
    %s: f32[2, 2] @accel = reshape(%r, %s.shape, allow_zero = true)
    %t.shape = shape [4, 1]
    %t: f32[4, 1] @accel = reshape(%s, %t.shape, allow_zero = true)

After::

    %x.accel: f32[4] @accel = device_copy(%x, cause = "explicit") @accel
    %r: f32[4] @accel = exp(%x.accel) @accel
    %t.shape = shape [4, 1]
    %t: f32[4, 1] @accel = reshape(%r, %t.shape, allow_zero = true)

Values are made once and never written, so a second name for one is the one itself. An ``identity``
that the program places is an operator and stays. A reshape to a shape that is said is one of what
its operand is a view of. Tuples and views that nobody reads any more go, and what no run could find
a fault in.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
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
    ShapeLiteral,
    Var,
    blocks,
    operands,
    with_blocks,
)
from reference_vm.ops.definition import OpDef, Trait
from reference_vm.ops.shapes import element_count, is_equal
from reference_vm.passes.context import PassContext, Property
from reference_vm.types import TensorType


@final
@dataclass(frozen=True)
class Legalize:
    """``legalize``: leave only what bytecode has a word for."""

    name: ClassVar[str] = "legalize"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.DEVICE_LOCAL})
    establishes: ClassVar[frozenset[Property]] = frozenset()

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` without aliases, moves on one device, and what is taken apart."""
        return module.with_functions([_legalized(f, ctx.ops) for f in module.functions])


@final
@dataclass(frozen=True)
class _Views:
    """What the views of a function show."""

    ops: Mapping[str, OpDef]
    origins: dict[Var, Var] = field(default_factory=dict)
    """Views that certainly have the elements of another value, all of them, and which."""

    literals: set[Var] = field(default_factory=set)

    def of_origin(self, binding: Binding) -> Binding:
        """Return ``binding``; one that reshapes a view as a view of what that shows."""
        call = binding.value
        if isinstance(call, ShapeLiteral):
            self.literals.add(binding.var)
        if not isinstance(call, Call) or Trait.VIEW not in self.ops[call.op].traits:
            return binding
        source = call.args[0]
        assert isinstance(source, Var)
        if source in self.origins and self._says_all(call):
            source = self.origins[source]
            call = replace(call, args=(source, *call.args[1:]))
            binding = replace(binding, value=call)
        if _has_the_elements(binding.var, source):
            self.origins[binding.var] = self.origins.get(source, source)
        return binding

    def _says_all(self, call: Call) -> bool:
        """Whether the result is the same whatever shape the operand has."""
        return (
            call.op == "reshape"
            and call.attrs["allow_zero"] is True
            and call.args[1] in self.literals
        )


def _has_the_elements(view: Var, source: Var) -> bool:
    types = view.type, source.type
    shapes = [t.shape for t in types if isinstance(t, TensorType) and t.is_sized]
    if len(shapes) < 2 or view.vdevice != source.vdevice:
        return False
    return is_equal(element_count(shapes[0]), element_count(shapes[1]))


def _legalized(function: Function, ops: Mapping[str, OpDef]) -> Function:
    renamed: dict[Var, Var] = {}
    tuples: dict[Var, tuple[Var, ...]] = {}
    views = _Views(ops)

    def change(binding: Binding) -> Iterable[Binding]:
        value = binding.value
        same = _same_value(binding, tuples)
        if same is not None:
            renamed[binding.var] = same
            return ()
        if isinstance(value, MakeTuple):
            tuples[binding.var] = value.items
        return (views.of_origin(binding),)

    body = rewrite.rebuild(function.body, change, renamed)
    return replace(function, body=_without_idle(body, set(), views.origins))


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


def _without_idle(block: Block, read: set[Var], views: Container[Var]) -> Block:
    read.add(block.result)
    kept: list[Binding] = []
    for binding in reversed(tuple(block.bindings())):
        value: Expr = binding.value
        idle = isinstance(value, MakeTuple | ShapeLiteral) or binding.var in views
        if idle and binding.var not in read:
            continue
        inner = blocks(value)
        if inner:
            value = with_blocks(value, [_without_idle(b, read, views) for b in inner])
        read.update(operands(value))
        kept.append(replace(binding, value=value))
    return Block(tuple(reversed(kept)), block.result)


__all__ = ["Legalize"]
