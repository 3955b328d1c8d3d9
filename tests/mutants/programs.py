"""Rewriting programs before they are compiled: binding by binding."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeAlias

from hettest.language import Module, nodes
from reference_vm.ir import rewrite

Change: TypeAlias = Callable[[nodes.Binding], Iterable[nodes.Binding]]


def rewriting(change: Change) -> Callable[[Module], Module]:
    """Return what makes of a module one whose bindings are changed."""

    def changed(module: Module) -> Module:
        return module.with_functions([rewritten(f, change) for f in module.functions])

    return changed


def rewritten(function: nodes.Function, change: Change) -> nodes.Function:
    return replace(function, body=rewrite.rebuild(function.body, change, {}))


def calls(binding: nodes.Binding, op: str) -> bool:
    return isinstance(binding.value, nodes.Call) and binding.value.op == op
