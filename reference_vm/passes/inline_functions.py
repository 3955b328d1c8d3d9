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
tell becomes a ``match_cast``. Functions that no entry needs are dropped.

What stays a call: of a function that may call itself, through others too; of a large one that is
called from several places; and any call that would make its function larger than `LIMIT`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, final

from reference_vm.analysis.recursion import mentioned, recursive
from reference_vm.ir import rewrite
from reference_vm.ir.nodes import Binding, Function, GlobalRef, Invoke, Module
from reference_vm.passes.context import PassContext, Property
from reference_vm.passes.inlining import Inliner
from reference_vm.passes.policies import inherited

LIMIT: Final = 100_000
"""How many bindings a function may have after inlining."""

SMALL: Final = 500
"""How many bindings a function may have that is called from several places, to be inlined."""


@final
@dataclass(frozen=True)
class InlineFunctions:
    """``inline-functions``: put the bodies of functions where these are called."""

    name: ClassVar[str] = "inline-functions"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TYPED})
    establishes: ClassVar[frozenset[Property]] = frozenset()

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` with its entries, and the functions that they still call or name."""
        order = _callees_first(module)
        done: dict[str, Function] = {}
        looping = recursive(module)
        sites = Counter(name for caller in order for name in _called(module.by_name[caller]))
        for name in order:
            inlinable = {
                callee: done[callee]
                for callee in dict.fromkeys(_called(module.by_name[name]))
                if callee not in looping and (sites[callee] == 1 or _size(done[callee]) <= SMALL)
            }
            done[name] = _with_calls_inlined(module.by_name[name], inlinable)
        reached = _reached([done[f.name] for f in module.entries], done)
        return module.with_functions([done[f.name] for f in module.functions if f.name in reached])


def _called(function: Function) -> Iterator[str]:
    """Yield the functions that ``function`` calls by name, as often as it does."""
    for binding in rewrite.walk(function.body):
        name = _function_called(binding)
        if name is not None:
            yield name


def _function_called(binding: Binding) -> str | None:
    """Return the function that ``binding`` calls by name; a closure called so is none."""
    value = binding.value
    if not isinstance(value, Invoke) or not isinstance(value.callee, GlobalRef):
        return None
    return value.callee.function


def _callees_first(module: Module) -> list[str]:
    """Return what the entries need, each function after those it calls or names."""
    order: dict[str, None] = {}
    open_: dict[str, Iterator[str]] = {}
    for entry in module.entries:
        if entry.name in order:
            continue
        open_[entry.name] = mentioned(entry)
        while open_:
            name = next(reversed(open_))
            needed = next(open_[name], None)
            if needed is None:
                del open_[name]
                order[name] = None
            elif needed not in open_ and needed not in order:
                open_[needed] = mentioned(module.by_name[needed])
    return list(order)


def _reached(entries: Sequence[Function], functions: Mapping[str, Function]) -> set[str]:
    """Return the names of the entries and of what they call or name, through others too."""
    found = {f.name for f in entries}
    stack = list(entries)
    while stack:
        new = set(mentioned(stack.pop())) - found
        found |= new
        stack += [functions[name] for name in new]
    return found


def _size(function: Function) -> int:
    return sum(1 for _ in rewrite.walk(function.body))


def _with_calls_inlined(function: Function, callees: Mapping[str, Function]) -> Function:
    """Return ``function`` with its calls of ``callees`` inlined, as far as it may grow."""
    if not callees:
        return function
    inliner, caller = Inliner(function), function
    size, depth = _size(function), rewrite.depth(function.body)
    sizes = {name: _size(callee) for name, callee in callees.items()}
    deep = {
        name
        for name, callee in callees.items()
        if depth + rewrite.depth(callee.body) > rewrite.MAX_DEPTH
    }

    def change(binding: Binding) -> Iterator[Binding]:
        nonlocal size, caller
        name = _function_called(binding)
        callee = None if name is None else callees.get(name)
        if callee is None or callee.name in deep or size + sizes[callee.name] > LIMIT:
            yield binding
            return
        found = inliner.inlined(binding, callee)
        if found is None:
            yield binding
            return
        caller = inherited(caller, callee)
        size += sizes[callee.name]
        yield from found

    body = rewrite.rebuild(function.body, change, {})
    return replace(caller, body=body)


__all__ = ["LIMIT", "SMALL", "InlineFunctions"]
