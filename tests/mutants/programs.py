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
        functions = [replace(f, body=rewrite.rebuild(f.body, change, {})) for f in module.functions]
        return module.with_functions(functions)

    return changed


def calls(binding: nodes.Binding, op: str) -> bool:
    return isinstance(binding.value, nodes.Call) and binding.value.op == op
