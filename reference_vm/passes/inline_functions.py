"""Put the body of every function that is called in the place of the call.

Before::

    fn @twice(%x: f32[n]) -> f32[n] {
      %y = add(%x, %x)
      return %y
    }
    fn @main(%a: f32[4]) -> f32[4] attrs { entry = true } {
      %b = @twice(%a) @accel
      return %b
    }

After::

    fn @main(%a: f32[4]) -> f32[4] attrs { entry = true } {
      %y: f32[4] = add(%a, %a)
      %b: f32[4] @accel = %y
      return %b
    }

Placement then sees one function. A parameter or result that the callee places, and the suffix of a
call, become aliases that live there. What the callee promises of an argument and only a run can
tell becomes a ``match_cast``. Functions that no entry needs are dropped. A function that calls
itself, through others too, stays, and so do the calls of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final, final

from reference_vm.analysis.recursion import recursive
from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir import rewrite
from reference_vm.ir.nodes import (
    Binding,
    Closure,
    Construct,
    Expr,
    Function,
    FunctionValue,
    GlobalRef,
    Invoke,
    Match,
    Module,
    Var,
)
from reference_vm.passes.context import PassContext, Property
from reference_vm.passes.inlining import Inliner
from reference_vm.passes.policies import inherited

LIMIT: Final = 1_000_000
"""How many bindings a function may have after inlining."""


@final
@dataclass(frozen=True)
class InlineFunctions:
    """``inline-functions``: make each entry one function, but for recursive calls."""

    name: ClassVar[str] = "inline-functions"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TYPED})
    establishes: ClassVar[frozenset[Property]] = frozenset()

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` with its entries, and the recursive functions that they need, alone.

        Raises:
            CompileError: ``not-yet-lowered`` for closures, data types and ``match``;
                ``inlining-too-large`` for more bindings than `LIMIT`.
        """
        done: dict[str, Function] = {}
        kept = recursive(module)
        for name in _callees_first(module):
            function = module.by_name[name]
            _refuse_unlowered(function)
            done[name] = _with_calls_inlined(function, done, kept)
        entries = {f.name for f in module.entries}
        staying = [done[f.name] for f in module.functions if f.name in done]
        return module.with_functions([f for f in staying if f.name in entries | kept])


def _calls(function: Function) -> Iterator[Invoke]:
    for binding in rewrite.walk(function.body):
        if isinstance(binding.value, Invoke):
            yield binding.value


def _callees_first(module: Module) -> list[str]:
    """Return what the entries need, each function after those it calls."""
    order: list[str] = []
    open_: dict[str, Iterator[Invoke]] = {}
    for entry in module.entries:
        if entry.name in order:
            continue
        open_[entry.name] = _calls(entry)
        while open_:
            name = next(reversed(open_))
            call = next(open_[name], None)
            if call is None:
                del open_[name]
                order.append(name)
                continue
            callee = _callee(call)
            if callee not in open_ and callee not in order:
                open_[callee] = _calls(module.by_name[callee])
    return order


def _callee(call: Invoke) -> str:
    if isinstance(call.callee, Var):
        raise CompileError(catalog.not_yet_lowered("a call of a closure", call.span))
    return call.callee.name


def _refuse_unlowered(function: Function) -> None:
    problems = [
        catalog.not_yet_lowered(construct, binding.value.span)
        for binding in rewrite.walk(function.body)
        if (construct := _unlowered(binding.value)) is not None
    ]
    if problems:
        raise CompileError(*problems)


def _unlowered(value: Expr) -> str | None:
    match value:
        case Construct():
            return "a constructor of a data type"
        case FunctionValue():
            return "a function as a value"
        case Match():
            return "match"
        case Closure():
            return "a closure"
        case Invoke(args=args) if any(isinstance(a, GlobalRef) for a in args):
            return "a function as an argument"
        case _:
            return None


def _with_calls_inlined(
    function: Function, done: Mapping[str, Function], kept: Collection[str]
) -> Function:
    if not any(True for _ in _calls(function)):
        return function
    inliner, caller = Inliner(function), function
    size = 0

    def change(binding: Binding) -> Iterator[Binding]:
        nonlocal size, caller
        if not isinstance(binding.value, Invoke) or _callee(binding.value) in kept:
            size += 1
            yield binding
            return
        caller = inherited(caller, done[_callee(binding.value)])
        for inner in inliner.inlined(binding, done[_callee(binding.value)]):
            size += 1
            yield inner
        if size > LIMIT:
            span = binding.value.span
            raise CompileError(catalog.inlining_too_large(function.name, LIMIT, span))

    body = rewrite.rebuild(function.body, change, {})
    return replace(caller, body=body)


__all__ = ["LIMIT", "InlineFunctions"]
