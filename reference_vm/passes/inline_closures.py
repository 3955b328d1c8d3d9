"""Put the body of a closure in the place of each call that certainly calls it.

Before::

    %f = fn(%p: f32[4]) -> f32[4] {
      %m = multiply(%p, %x)
      return %m
    }
    %g = %f
    %a = %g(%b) @accel
    %h = @negated
    %c = %h(%a)

After::

    %f = fn(%p: f32[4]) -> f32[4] { … }
    %g = %f
    %m = multiply(%b, %x)
    %a: f32[4] @accel = %m
    %h = @negated
    %c = @negated(%a)

What the closure captures is then read where the body runs, once for all calls, and what a call
computes for nobody goes with other dead code. A call of a function by another name is one by its
own. Calls of what a parameter, a branch or a data type holds stay, and those that promise less than
the closure's parameters ask for, which only a run can check.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, final

from reference_vm.analysis.compatibility import Agreement, agreement, bound_symbols, placed_as
from reference_vm.ir import rewrite
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Call,
    Closure,
    Function,
    FunctionValue,
    GlobalRef,
    Invoke,
    Module,
    Operand,
    Var,
)
from reference_vm.passes.context import PassContext, Property
from reference_vm.passes.inline_functions import LIMIT, SMALL
from reference_vm.passes.second_names import FirstNames
from reference_vm.source import Span
from reference_vm.types import FunctionType, Type, map_tensors, tensors


@final
@dataclass(frozen=True)
class InlineClosures:
    """``inline-closures``: put the bodies of closures where these are certainly called."""

    name: ClassVar[str] = "inline-closures"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TYPED})
    establishes: ClassVar[frozenset[Property]] = frozenset()

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` without calls of closures that are known."""
        return module.with_functions([_with_calls_inlined(f, module) for f in module.functions])


def _with_calls_inlined(function: Function, module: Module) -> Function:
    called = any(_is_call_of_value(b) for b in rewrite.walk(function.body))
    return _Inliner(function, module).run() if called else function


def _is_call_of_value(binding: Binding) -> bool:
    return isinstance(binding.value, Invoke) and isinstance(binding.value.callee, Var)


@final
@dataclass
class _Known:
    """A closure with a name."""

    closure: Closure
    type: FunctionType
    """With the places that its own types and that of its name say."""

    size: int
    depth: int


@final
@dataclass
class _Inliner:
    """Inlines within one function."""

    function: Function
    module: Module
    names: FirstNames = field(default_factory=FirstNames)
    closures: dict[Var, _Known] = field(default_factory=dict)
    functions: dict[Var, GlobalRef] = field(default_factory=dict)
    sites: Counter[Var] = field(default_factory=Counter)
    size: int = 0
    depth: int = 0

    def run(self) -> Function:
        """Return the function with the bodies of closures in the places of their calls."""
        for binding in rewrite.walk(self.function.body):
            self._learn(binding)
            self.size += 1
        self.depth = rewrite.depth(self.function.body)
        body = rewrite.rebuild(self.function.body, self._binding, {})
        return replace(self.function, body=body)

    def _learn(self, binding: Binding) -> None:
        value = binding.value
        self.names.learn(binding)
        if isinstance(value, Closure) and _can_stand_anywhere(value):
            type_ = _placed_type(binding.var.type, _type_of(value.params, value.result))
            if type_ is not None:
                self.closures[binding.var] = _known(value, type_)
        elif isinstance(value, FunctionValue):
            function = self.module.by_name[value.ref.function]
            own = _type_of(function.params, function.result)
            if _placed_type(binding.var.type, own) == own:
                self.functions[binding.var] = value.ref
        elif isinstance(value, Invoke) and isinstance(value.callee, Var):
            self.sites[self.names.of(value.callee)] += 1

    def _binding(self, binding: Binding) -> Iterable[Binding]:
        value = binding.value
        if isinstance(value, Closure) and binding.var in self.closures:
            type_ = self.closures[binding.var].type
            self.closures[binding.var] = _known(value, type_)  # its own calls are inlined by now
        if not isinstance(value, Invoke) or not isinstance(value.callee, Var):
            return (binding,)
        callee = self.names.of(value.callee)
        if callee in self.functions:
            return (replace(binding, value=replace(value, callee=self.functions[callee])),)
        known = self.closures.get(callee)
        if known is None or not self._may_inline(known, self.sites[callee], value.args):
            return (binding,)
        self.size += known.size
        return _inlined(binding, value, known)

    def _may_inline(self, known: _Known, sites: int, args: Sequence[Operand]) -> bool:
        if self.size + known.size > LIMIT or self.depth + known.depth > rewrite.MAX_DEPTH:
            return False
        params = known.closure.params
        return (sites == 1 or known.size <= SMALL) and all(map(_is_promised, args, params))


def _known(closure: Closure, type_: FunctionType) -> _Known:
    size = sum(1 for _ in rewrite.walk(closure.body))
    return _Known(closure, type_, size, rewrite.depth(closure.body))


def _type_of(params: Sequence[Var], result: Type) -> FunctionType:
    return FunctionType(tuple(p.type for p in params if p.type is not None), result)


def _placed_type(named: Type | None, own: FunctionType) -> FunctionType | None:
    """Return ``own`` with the places of ``named`` too; ``None`` if they contradict."""
    assert isinstance(named, FunctionType)
    pairs = list(zip(tensors(named), tensors(own), strict=True))
    places = [(n.vdevice, o.vdevice) for n, o in pairs]
    if any(None not in (n, o) and n != o for n, o in places):
        return None
    either = iter([n or o for n, o in places])
    placed = map_tensors(own, lambda leaf: leaf.on(next(either)))
    assert isinstance(placed, FunctionType)
    return placed


def _can_stand_anywhere(closure: Closure) -> bool:
    """Whether the body binds no symbol, which could be bound once alone in a region."""
    casts = (
        b.var.type
        for b in rewrite.walk(closure.body)
        if isinstance(b.value, Call) and b.value.op == "match_cast"
    )
    return not any(type_ is not None and bound_symbols(type_) for type_ in casts)


def _is_promised(arg: Operand, param: Var) -> bool:
    """Whether an argument is certainly what ``param`` asks for."""
    if isinstance(arg, GlobalRef):
        return True
    if not isinstance(arg, Var) or arg.type is None or param.type is None:
        return False
    return agreement(arg.type, param.type) is Agreement.ALWAYS


def _inlined(binding: Binding, call: Invoke, known: _Known) -> Iterator[Binding]:
    """Yield what replaces ``binding``, a call of a closure."""
    variables: dict[Var, Var] = {}
    params = zip(known.closure.params, known.type.params, call.args, strict=True)
    for param, type_, arg in params:
        if isinstance(arg, GlobalRef):
            variables[param] = rewrite.fresh(param)
            yield Binding(variables[param], FunctionValue(arg, call.span))
            continue
        assert isinstance(arg, Var)
        passed = _placed(arg, rewrite.with_type(param, type_), call.span)
        if passed is not None:
            yield passed
        variables[param] = arg if passed is None else passed.var
    body = rewrite.clone(known.closure.body, variables)
    yield from body.bindings()
    result = body.result
    delivered = _placed(result, rewrite.with_type(result, known.type.result), call.span)
    if delivered is not None:
        yield delivered
        result = delivered.var
    yield Binding(binding.var, Alias(result, call.span), binding.request)


def _placed(var: Var, asked: Var, span: Span | None) -> Binding | None:
    """Return a name for ``var`` that lives where ``asked`` does, if that lives anywhere."""
    assert var.type is not None
    assert asked.type is not None
    if all(leaf.vdevice is None for leaf in tensors(asked.type)):
        return None
    return Binding(rewrite.with_type(asked, placed_as(var.type, asked.type)), Alias(var, span))


__all__ = ["InlineClosures"]
