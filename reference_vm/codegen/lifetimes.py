"""When the memory of each value may be given back, for modules without a memory plan.

Variables that may name the same memory (views, tuples and their items, what a branch yields) live
and die together, after the last binding that reads one of them. For::

    %s = add(%a, %b)
    %r = reshape(%s, %to)
    %t = exp(%r)            // last read of %s and %r
    %u = multiply(%t, %t)   // last read of %t
    return %u

the answer is ``{%t: (%s,), %u: (%t,)}``. Nothing that the function's result may name dies.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Block,
    Call,
    Expr,
    Function,
    GlobalRef,
    If,
    Invoke,
    MakeTuple,
    Module,
    Project,
    Var,
    blocks,
    operands,
)
from reference_vm.ops.definition import OpDef, Trait
from reference_vm.types import TensorType, TupleType


def endings(
    function: Function, module: Module, ops: Mapping[str, OpDef], counted: Collection[Var]
) -> Mapping[Var, tuple[Var, ...]]:
    """Return the variables whose memory dies after each binding, by the binding's variable.

    Listed are those that were *given* memory: results of operators and copies. Those that are
    ``counted`` are not listed: `holds` says when they die.
    """
    analysis = _Analysis(module, ops, counted)
    analysis.gather(function.body, 0)
    for param in function.params:
        analysis.depth.setdefault(param, 0)
    immortal = analysis.find(function.body.result)
    found: dict[Var, list[Var]] = {}
    _ends(analysis, function.body, 0, immortal, found)
    return {var: tuple(owners) for var, owners in found.items()}


@dataclass
class _Analysis:
    """Which variables may name the same memory, and where each such class is at home."""

    module: Module
    ops: Mapping[str, OpDef]
    counted: Collection[Var]
    parent: dict[Var, Var] = field(default_factory=dict)
    depth: dict[Var, int] = field(default_factory=dict)
    """How deep the outermost variable of a class is nested, by its root."""

    owners: dict[Var, list[Var]] = field(default_factory=dict)
    """The variables of a class that were given memory, by its root."""

    def find(self, var: Var) -> Var:
        root = var
        while (up := self.parent.get(root, root)) is not root:
            root = up
        while var is not root:
            self.parent[var], var = root, self.parent.get(var, root)
        return root

    def gather(self, block: Block, depth: int) -> None:
        for binding in block.bindings():
            self.depth[binding.var] = depth
            for inner in blocks(binding.value):
                self.gather(inner, depth + 1)
            if self._gives_memory(binding):
                self.owners[binding.var] = [binding.var]
            for other in self._shares_with(binding.value):
                self._union(binding.var, other)

    def _union(self, one: Var, other: Var) -> None:
        one, other = self.find(one), self.find(other)
        if one is other:
            return
        self.parent[other] = one
        self.depth[one] = min(self.depth.get(one, 0), self.depth.get(other, 0))
        self.owners.setdefault(one, []).extend(self.owners.pop(other, ()))

    def _gives_memory(self, binding: Binding) -> bool:
        if binding.var in self.counted:
            return False
        if not isinstance(binding.var.type, TensorType | TupleType):
            return False
        if isinstance(binding.value, Call):
            return not self._is_view(binding.value)
        return isinstance(binding.value, Invoke)

    def _is_view(self, call: Call) -> bool:
        return call.op in self.ops and Trait.VIEW in self.ops[call.op].traits

    def _shares_with(self, expr: Expr) -> Iterator[Var]:
        match expr:
            case Alias(var=var) | Project(tuple=var):
                yield var
            case MakeTuple(items=items):
                yield from items
            case If(then=then, orelse=orelse):
                yield then.result
                yield orelse.result
            case Call(args=(Var() as viewed, *_)) if self._is_view(expr):
                yield viewed
            case Invoke(callee=GlobalRef(name=name)):
                if self.module.by_name[name].attrs.get("primitive") is not True:
                    yield from operands(expr)
            case _:
                pass


def _ends(
    analysis: _Analysis, block: Block, depth: int, immortal: Var, found: dict[Var, list[Var]]
) -> set[Var]:
    """Note the endings inside ``block``; return the classes read in it."""
    last: dict[Var, Var] = {}
    for binding in block.bindings():
        read = {analysis.find(v) for v in operands(binding.value)}
        for inner in blocks(binding.value):
            read |= _ends(analysis, inner, depth + 1, immortal, found)
            read.add(analysis.find(inner.result))
        read.add(analysis.find(binding.var))  # what nobody reads dies at once
        last.update(dict.fromkeys(read, binding.var))
    for root, var in last.items():
        if analysis.depth.get(root, 0) == depth and root is not immortal:
            owners = analysis.owners.get(root)
            if owners:
                found.setdefault(var, []).extend(owners)
    return set(last)
