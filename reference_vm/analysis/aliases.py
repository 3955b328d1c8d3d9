"""Which tensors may be the same memory, and where that memory comes from.

A variable has a *leaf* for each tensor inside it: a tuple of two has two. Leaves that may name one
memory (views, aliases, items of tuples, what the arms of an ``if`` yield) are one class. For::

    %s = @add(%a, %b)
    %r = reshape(%s, %to)
    %t = if %c { yield %r } else { %e = @exp(%s) yield %e }

there is one class, ``{%s, %r, %e, %t}``, of two memories: those made at ``%s`` and at ``%e``.
Calls of functions are looked into: a result shares memory with an argument only if the callee may
return that parameter. Constructs that hide tensors (``match``, data types, closures) share
everything they read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, final

from reference_vm.analysis.union_find import UnionFind
from reference_vm.ir.nodes import (
    Alias,
    Call,
    Expr,
    Function,
    GlobalRef,
    If,
    Invoke,
    MakeTuple,
    Module,
    Project,
    ShapeLiteral,
    Var,
    blocks,
    operands,
)
from reference_vm.ir.rewrite import introduced, walk
from reference_vm.ops.definition import OpDef, is_view
from reference_vm.types import ShapeType, TupleType, Type

Leaf: TypeAlias = int
"""The number of a leaf."""

Summary: TypeAlias = "frozenset[int]"
"""The parameters that a function may return, by position."""


def leaf_count(type_: Type | None) -> int:
    """Return how many leaves a value of this type has; what hides its tensors has one."""
    if isinstance(type_, TupleType):
        return sum(leaf_count(t) for t in type_.items)
    return 0 if isinstance(type_, ShapeType) else 1


@final
@dataclass
class Aliases:
    """The classes of one function."""

    first: Mapping[Var, Leaf]
    """The first leaf of each variable; the others follow it."""

    sets: UnionFind

    def classes(self, var: Var) -> list[Leaf]:
        """Return the class of each leaf of ``var``, named by a leaf of it."""
        start = self.first[var]
        return [self.sets.find(start + i) for i in range(leaf_count(var.type))]


def aliases(function: Function, module: Module, ops: Mapping[str, OpDef]) -> Aliases:
    """Return the classes of ``function``'s variables."""
    return _Finder(module, ops).function(function)


@final
@dataclass
class _Finder:
    module: Module
    ops: Mapping[str, OpDef]
    summaries: dict[str, Summary | None] = field(default_factory=dict)
    """What functions may return; ``None`` for one that is being looked at."""

    def function(self, function: Function) -> Aliases:
        first: dict[Var, Leaf] = {}
        count = 0
        for var in _variables(function):
            first[var] = count
            count += leaf_count(var.type)
        found = Aliases(first, UnionFind(count))
        for binding in walk(function.body):
            self._binding(found, binding.var, binding.value)
        return found

    def _binding(self, found: Aliases, var: Var, value: Expr) -> None:
        start = found.first[var]
        for own, others in self._shared(value, found.first):
            for other in others:
                found.sets.union(start + own, other)
        if not _is_plain(value):
            self._merge_all(found, var, value)

    def _shared(
        self, value: Expr, first: Mapping[Var, Leaf]
    ) -> Iterator[tuple[int, tuple[Leaf, ...]]]:
        """Yield leaves of a binding's variable, by position, with those they share memory with."""
        match value:
            case Alias(var=source):
                yield from _in_order(source, first)
            case Project(tuple=source, index=index):
                assert isinstance(source.type, TupleType)
                skipped = sum(leaf_count(t) for t in source.type.items[:index])
                for i in range(leaf_count(source.type.items[index])):
                    yield i, (first[source] + skipped + i,)
            case MakeTuple(items=items):
                leaves = [first[v] + i for v in items for i in range(leaf_count(v.type))]
                yield from ((i, (leaf,)) for i, leaf in enumerate(leaves))
            case If(then=then, orelse=orelse):
                yield from _in_order(then.result, first)
                yield from _in_order(orelse.result, first)
            case Call(op=op, args=(Var() as viewed, *_)) if is_view(self.ops, op):
                yield from _in_order(viewed, first)
            case Invoke(callee=GlobalRef(function=name), args=args):
                yield from self._returned(name, args, first)

    def _returned(
        self, name: str, args: tuple[object, ...], first: Mapping[Var, Leaf]
    ) -> Iterator[tuple[int, tuple[Leaf, ...]]]:
        """Yield what a call may hand back of its arguments: every leaf of it, to be safe."""
        callee = self.module.by_name[name]
        leaves = [
            first[arg] + i
            for position in self._summary(callee)
            if isinstance(arg := args[position], Var)
            for i in range(leaf_count(arg.type))
        ]
        if leaves:
            for i in range(leaf_count(callee.result)):
                yield i, tuple(leaves)

    def _summary(self, function: Function) -> Summary:
        if function.is_primitive:
            return frozenset()
        if function.name not in self.summaries:
            self.summaries[function.name] = None
            found = self.function(function)
            returned = set(found.classes(function.body.result))
            self.summaries[function.name] = frozenset(
                i for i, p in enumerate(function.params) if returned & set(found.classes(p))
            )
        known = self.summaries[function.name]
        return frozenset(range(len(function.params))) if known is None else known

    @staticmethod
    def _merge_all(found: Aliases, var: Var, value: Expr) -> None:
        read = [*operands(value), *introduced(value), *(b.result for b in blocks(value))]
        leaves = [found.first[v] + i for v in (var, *read) for i in range(leaf_count(v.type))]
        for leaf in leaves[1:]:
            found.sets.union(leaves[0], leaf)


def _in_order(source: Var, first: Mapping[Var, Leaf]) -> Iterator[tuple[int, tuple[Leaf, ...]]]:
    for i in range(leaf_count(source.type)):
        yield i, (first[source] + i,)


def _is_plain(value: Expr) -> bool:
    """Whether `_Finder._shared` says all about an expression."""
    if isinstance(value, Invoke):
        return isinstance(value.callee, GlobalRef)
    plain = Alias | Project | MakeTuple | If | Call | ShapeLiteral
    return isinstance(value, plain) or not (operands(value) or blocks(value))


def _variables(function: Function) -> Iterator[Var]:
    yield from function.params
    for binding in walk(function.body):
        yield binding.var
        yield from introduced(binding.value)


__all__ = ["Aliases", "Leaf", "aliases", "leaf_count"]
