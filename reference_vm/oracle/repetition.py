"""Which functions may run more than once, so that a name no longer says which value is meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from reference_vm.ir.nodes import (
    Closure,
    Expr,
    Function,
    FunctionValue,
    GlobalRef,
    Invoke,
    Module,
)
from reference_vm.ir.rewrite import walk


def repeated(module: Module, entry: str) -> frozenset[str]:
    """Return the functions that a run of ``entry`` may call more than once, by name."""
    callees = {f.name: tuple(_callees(f)) for f in module.functions}
    sites: Counter[str] = Counter([entry])
    reached, stack = {entry}, [entry]
    while stack:
        for callee in callees.get(stack.pop(), ()):
            sites[callee] += 1
            if callee not in reached:
                reached.add(callee)
                stack.append(callee)
    found = {name for name, count in sites.items() if count > 1}
    stack = list(found)
    while stack:
        new = set(callees.get(stack.pop(), ())) - found
        found |= new
        stack += new
    return frozenset(found)


def in_closures(module: Module) -> frozenset[str]:
    """Return the variables that closures bind, by source name: each call of one binds them anew."""
    return frozenset(
        inner.var.source or f"{function.name}/%{inner.var.name}"
        for function in module.functions
        for binding in walk(function.body)
        if isinstance(binding.value, Closure)
        for inner in walk(binding.value.body)
    )


def _callees(function: Function) -> Iterator[str]:
    """Yield what ``function`` calls, and twice what it may call more than once.

    That is what it makes a value of, and what its closures call.
    """
    for binding in walk(function.body):
        value = binding.value
        if isinstance(value, Closure):
            yield from (name for inner in walk(value.body) for name in _named(inner.value))
        yield from _named(value)


def _named(value: Expr) -> Iterator[str]:
    if isinstance(value, FunctionValue):
        yield from (value.ref.function, value.ref.function)
    elif isinstance(value, Invoke):
        if isinstance(value.callee, GlobalRef):
            yield value.callee.function
        yield from (a.function for a in value.args if isinstance(a, GlobalRef) for _ in range(2))
