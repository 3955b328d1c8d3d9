"""Request devices for operators by the names of their variables.

``place{patterns="encoder/layer.1/*=accel"}``, before::

    %"encoder/layer.1/add" = add(%x, %y)
    %"encoder/layer.2/add" = add(%x, %y)

After::

    %"encoder/layer.1/add" = add(%x, %y) @accel
    %"encoder/layer.2/add" = add(%x, %y)

A pattern is one of the shell's, ``*``, ``?`` and ``[…]``, for the unquoted name or for that of the
ONNX node that the operator was translated from; of several that match, the last one counts. What
the program places itself keeps its place, and so do host facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import ClassVar, final

from reference_vm.diagnostics import CompileError, Diagnostic, catalog
from reference_vm.ir import rewrite
from reference_vm.ir.nodes import Function, Module, Var
from reference_vm.passes.context import PassContext, Property
from reference_vm.passes.requests import open_operators, role, with_requests, with_roles
from reference_vm.types import VirtualDevice


@final
@dataclass(frozen=True)
class Place:
    """``place``: request devices by name."""

    name: ClassVar[str] = "place"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TYPED, Property.BOUND})
    establishes: ClassVar[frozenset[Property]] = frozenset()

    patterns: str
    """``PATTERN=ROLE``, several separated by commas."""

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` with a suffix on every operator that a pattern matches.

        Raises:
            CompileError: A pattern has another form, matches no variable, or names no role.
        """
        asked = rules(self.patterns)
        roles = {name: role(module, ctx, name) for _, name in asked}
        placed = [(pattern, roles[name]) for pattern, name in asked]
        problems = list(_unmatched(module, asked))
        if problems:
            raise CompileError(*problems)
        functions = [with_requests(f, _requests(f, module, ctx, placed)) for f in module.functions]
        return with_roles(module, roles).with_functions(functions)


def rules(text: str) -> list[tuple[str, str]]:
    """Return the patterns in ``PATTERN=ROLE``, several separated by commas, with their roles.

    Raises:
        CompileError: ``placement-pattern``: one has another form.
    """
    found = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        pattern, equals, name = part.rpartition("=")
        if not equals or not pattern or not name.strip():
            raise CompileError(catalog.placement_pattern(part))
        found.append((pattern.strip(), name.strip().removeprefix("@")))
    return found


def _names(function: Function) -> Iterator[str]:
    for var in (*function.params, *rewrite.bound(function.body)):
        yield from _names_of(var)


def _names_of(var: Var) -> tuple[str, ...]:
    return (var.name,) if var.node is None else (var.name, var.node)


def _unmatched(module: Module, rules: Sequence[tuple[str, str]]) -> list[Diagnostic]:
    names = list(dict.fromkeys(n for f in module.functions for n in _names(f)))
    return [
        catalog.pattern_matches_nothing(pattern, names)
        for pattern, _ in rules
        if not any(fnmatchcase(name, pattern) for name in names)
    ]


def _requests(
    function: Function,
    module: Module,
    ctx: PassContext,
    rules: Sequence[tuple[str, VirtualDevice]],
) -> dict[Var, VirtualDevice]:
    found: dict[Var, VirtualDevice] = {}
    for binding in open_operators(function, ctx.ops, module):
        for pattern, vdevice in rules:
            if any(fnmatchcase(name, pattern) for name in _names_of(binding.var)):
                found[binding.var] = vdevice
    return found


__all__ = ["Place", "rules"]
