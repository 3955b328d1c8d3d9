"""Take the items of tuples from where they were put together.

Before::

    %t: (f32[4], f32[4] @accel) = (%s, %v)
    %u = %t
    %p = %u[0]

After::

    %t.1: f32[4] @accel = %v
    %t = (%s, %t.1)
    %u = %t
    %p = %s

What only a placed item moves becomes a name of its own, so that it goes when nobody takes the item
(``eliminate-dead-code``). A tuple that an operator, a call or a branch makes is taken apart where
a second name of it is placed, and only there; elsewhere its items are taken from its first name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import ClassVar, final

from reference_vm.ir import rewrite
from reference_vm.ir.nodes import Alias, Binding, Expr, Function, MakeTuple, Module, Project, Var
from reference_vm.passes.context import PassContext, Property
from reference_vm.passes.second_names import moves_nothing
from reference_vm.types import TupleType, VirtualDevice, tensors


@final
@dataclass(frozen=True)
class ResolveTuples:
    """``resolve-tuples``: take items from where they were put together."""

    name: ClassVar[str] = "resolve-tuples"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TYPED})
    establishes: ClassVar[frozenset[Property]] = frozenset()

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` with every item of a known tuple named directly."""
        return module.with_functions([_Resolver().run(f) for f in module.functions])


@final
@dataclass
class _Resolver:
    """Resolves within one function."""

    items: dict[Var, tuple[Var, ...]] = field(default_factory=dict)
    """The items of each tuple that is known by item."""

    first_names: dict[Var, Var] = field(default_factory=dict)
    """The first name of each other tuple that has several."""

    def run(self, function: Function) -> Function:
        return replace(function, body=rewrite.rebuild(function.body, self._binding, {}))

    def _binding(self, binding: Binding) -> Iterable[Binding]:
        value = binding.value
        if isinstance(value, Project) and value.tuple in self.items:
            item = self.items[value.tuple][value.index]
            return self._binding(replace(binding, value=Alias(item, value.span)))
        if isinstance(value, Project) and value.tuple in self.first_names:
            first = self.first_names[value.tuple]
            return (replace(binding, value=replace(value, tuple=first)),)
        if isinstance(value, MakeTuple):
            return self._put_together(binding, value.items)
        if isinstance(value, Alias) and isinstance(binding.var.type, TupleType):
            return self._second_name(binding, value)
        return (binding,)

    def _put_together(self, binding: Binding, items: tuple[Var, ...]) -> Iterable[Binding]:
        type_ = binding.var.type
        assert isinstance(type_, TupleType)
        made: list[Binding] = []
        own: list[Var] = []
        for index, (item, asked) in enumerate(zip(items, type_.items, strict=True)):
            placed = Binding(Var(f"{binding.var.name}.{index}", asked), Alias(item))
            if moves_nothing(placed):
                own.append(item)
            else:
                own.append(placed.var)
                made.extend(self._binding(placed))
        self.items[binding.var] = tuple(own)
        if made:
            binding = replace(binding, value=MakeTuple(tuple(own), binding.value.span))
        return (*made, binding)

    def _second_name(self, binding: Binding, alias: Alias) -> Iterable[Binding]:
        if moves_nothing(binding):
            if alias.var in self.items:
                self.items[binding.var] = self.items[alias.var]
            else:
                first = self.first_names.get(alias.var, alias.var)
                self.first_names[binding.var] = first
            return (binding,)
        type_, whole = binding.var.type, alias.var.type
        assert isinstance(type_, TupleType)
        assert isinstance(whole, TupleType)
        made: list[Binding] = []
        own: list[Var] = []
        for index, (asked, found) in enumerate(zip(type_.items, whole.items, strict=True)):
            taken: Expr = Project(alias.var, index, alias.span)
            if alias.var in self.items:
                taken = Alias(self.items[alias.var][index], alias.span)
            else:
                item = Var(f"{alias.var.name}.{index}", found)
                made.append(Binding(item, taken))
                taken = Alias(item, alias.span)
            var = Var(f"{binding.var.name}.{index}", asked)
            made.extend(self._binding(Binding(var, taken, _asked(binding.request, asked))))
            own.append(var)
        self.items[binding.var] = tuple(own)
        together = MakeTuple(tuple(own), alias.span)
        return (*made, Binding(binding.var, together))


def _asked(request: VirtualDevice | None, type_: object) -> VirtualDevice | None:
    """Return the suffix for one item of a tuple; what holds no tensor has none."""
    return request if any(True for _ in tensors(type_)) else None  # type: ignore[arg-type]


__all__ = ["ResolveTuples"]
