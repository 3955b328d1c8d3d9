"""Make every closure a function of the module, whose first parameters are what it captures.

Before::

    fn @main(%x: f32[n] @host, %w: f32[n] @host) -> f32[n] @host {
      %f: (f32[n] @host) -> f32[n] @host = fn (%y: f32[n] @host) -> f32[n] @host {
        %z: f32[n] @host = add(%y, %w)
        return %z
      }
      %r: f32[n] @host = %f(%x)
      return %r
    }

After::

    fn @main(%x: f32[n] @host, %w: f32[n] @host) -> f32[n] @host {
      %f: (f32[n] @host) -> f32[n] @host = vm.closure(@main.f, %w)
      %r: f32[n] @host = %f(%x)
      return %r
    }
    fn @main.f(%w: f32[n] @host, %y: f32[n] @host) -> f32[n] @host {
      %z: f32[n] @host = add(%y, %w)
      return %z
    }

Constants are not captured: the function has its own, which are stored once. A symbol that the
closure uses and nothing captured binds is captured as a shape, and calls pass those that no
argument shows (`told_dims`). A closure that captures nothing is the name of its function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar, final

from reference_vm.analysis.compatibility import bound_symbols, symbols_in
from reference_vm.analysis.recursion import CLOSURE
from reference_vm.ir import rewrite
from reference_vm.ir.names import FreshNames
from reference_vm.ir.nodes import (
    Binding,
    Block,
    Call,
    Closure,
    Constant,
    Expr,
    Function,
    FunctionValue,
    GlobalRef,
    Module,
    ShapeLiteral,
    Var,
    Weight,
    blocks,
    with_blocks,
)
from reference_vm.passes.context import PassContext, Property
from reference_vm.passes.told_dims import in_expression, with_told_dims
from reference_vm.types import ShapeType, TensorType, TupleType, Type
from reference_vm.types.dim import symbol


@final
@dataclass(frozen=True)
class LambdaLift:
    """``lambda-lift``: make every closure a function of the module."""

    name: ClassVar[str] = "lambda-lift"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.DEVICE_LOCAL})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.LIFTED})

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` without closures; each function is followed by those made of it."""
        names = FreshNames({f.name for f in module.functions})
        functions: list[Function] = []
        for function in module.functions:
            if function.is_primitive:
                functions.append(function)
                continue
            lifter = _Lifter(function, names)
            lifted = lifter.run() if _has_closures(function) else function
            functions += (lifted, *lifter.made)
        return with_told_dims(module.with_functions(functions))


def _has_closures(function: Function) -> bool:
    return any(isinstance(b.value, Closure) for b in rewrite.walk(function.body))


@final
@dataclass
class _Lifter:
    """Lifts the closures of one function, those inside others first."""

    function: Function
    names: FreshNames
    made: list[Function] = field(default_factory=list)
    constants: dict[Var, Constant | Weight] = field(default_factory=dict)

    def run(self) -> Function:
        function = self.function
        self.constants = {
            b.var: b.value
            for b in rewrite.walk(function.body)
            if isinstance(b.value, Constant | Weight)
        }
        return replace(function, body=self._block(function.body, _bound_by(function.params)))

    def _block(self, block: Block, scope: frozenset[str]) -> Block:
        """Return ``block`` without closures; ``scope`` has the symbols that are bound around it."""
        statements: list[Binding] = []
        for binding in block.bindings():
            value = binding.value
            if isinstance(value, Call) and value.op == "match_cast" and binding.var.type:
                scope |= bound_symbols(binding.var.type)
            inner = scope | _bound_by(value.params) if isinstance(value, Closure) else scope
            changed = [self._block(b, inner) for b in blocks(value)]
            value = with_blocks(value, changed) if changed else value
            if isinstance(value, Closure):
                statements.extend(self._lifted(binding, value, scope))
            else:
                statements.append(replace(binding, value=value))
        return Block(tuple(statements), block.result)

    def _lifted(
        self, binding: Binding, closure: Closure, scope: frozenset[str]
    ) -> Iterator[Binding]:
        """Yield what makes the value of a closure whose body has none itself."""
        own = set(closure.params)
        free = [v for v in rewrite.free_vars(closure.body) if v not in own]
        captured = [v for v in free if v not in self.constants]
        used = _used(closure) | _standing_in(captured)
        unbound = sorted((used & scope) - _bound_by(captured))
        if unbound:
            dims = tuple(map(symbol, unbound))
            shape = Var(f"{binding.var.name}.dims", ShapeType(dims))
            yield Binding(shape, ShapeLiteral(dims, closure.span))
            captured.append(shape)
        ref = GlobalRef(self.names.fresh(f"{self.function.name}.{binding.var.name}"))
        self.made.append(self._function(ref.function, closure, captured, free))
        value: Expr = FunctionValue(ref, closure.span)
        if captured:
            value = Call(CLOSURE, (ref, *captured), span=closure.span)
        yield replace(binding, value=value)

    def _function(
        self, name: str, closure: Closure, captured: Iterable[Var], free: Iterable[Var]
    ) -> Function:
        """Return the function that ``closure`` becomes."""
        renamed = {v: rewrite.fresh(v) for v in (*captured, *free)}
        constants = [Binding(renamed[v], self.constants[v]) for v in free if v in self.constants]
        body = rewrite.substitute_block(closure.body, renamed)
        params = (*(renamed[v] for v in captured), *closure.params)
        known = _bound_by(params)
        return Function(
            name,
            params,
            closure.result,
            Block((*constants, *body.bindings()), body.result),
            tuple(b for b in self.function.bounds if b.symbol in known),
            span=closure.span,
        )


def _bound_by(variables: Iterable[Var]) -> frozenset[str]:
    """Return the symbols that the values of variables tell: those of tensors and shapes."""
    return frozenset(s for type_ in _parts(variables) for s in bound_symbols(type_))


def _standing_in(variables: Iterable[Var]) -> frozenset[str]:
    """Return all symbols in the types of variables' tensors and shapes, told by them or not."""
    return frozenset(s for type_ in _parts(variables) for s in symbols_in(type_))


def _parts(variables: Iterable[Var]) -> Iterator[TensorType | ShapeType]:
    """Yield the types of the tensors and shapes that the values of variables consist of."""
    stack: list[Type | None] = [v.type for v in variables]
    while stack:
        match stack.pop():
            case TensorType() | ShapeType() as type_:
                yield type_
            case TupleType(items=items):
                stack.extend(items)
            case _:
                pass


def _used(closure: Closure) -> set[str]:
    """Return the symbols that a closure names, in types, attributes and shapes."""
    types = [closure.result, *(v.type for v in (*closure.params, *rewrite.bound(closure.body)))]
    found = {s for t in types if t is not None for s in symbols_in(t)}
    for binding in rewrite.walk(closure.body):
        found.update(in_expression(binding.value))
    return found


__all__ = ["LambdaLift"]
