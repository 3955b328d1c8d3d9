"""Which functions may run more than once, so that a name no longer says which value is meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from reference_vm.ir.nodes import Function, GlobalRef, Invoke, Module
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


def _callees(function: Function) -> Iterator[str]:
    for binding in walk(function.body):
        if isinstance(binding.value, Invoke) and isinstance(binding.value.callee, GlobalRef):
            yield binding.value.callee.name
