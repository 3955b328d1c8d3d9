"""Is a module well formed? All rules that need no knowledge of operators.

`check` runs the rules of `ir.rules`: declarations, names, calls, types, symbols, patterns and
placement suffixes. What it accepts may still be refused by ``infer-types``, which knows operators.
"""

from __future__ import annotations

from collections.abc import Iterator

from reference_vm.diagnostics import CompileError, Diagnostic, catalog
from reference_vm.ir.nodes import Function, Module
from reference_vm.ir.rules import calls, declarations, names, patterns, placement, symbols
from reference_vm.ir.rules.declarations import Declarations
from reference_vm.ir.rules.types import TypeRule

FLAGS = ("entry", "primitive", "pure")
"""The attributes of a function that are true or false."""


def check(module: Module) -> list[Diagnostic]:
    """Return all that is wrong with ``module``, in text order."""
    found = list(_check(module))
    return sorted(found, key=_start)


def _start(diagnostic: Diagnostic) -> int:
    return -1 if diagnostic.span is None else diagnostic.span.start


def verify(module: Module) -> None:
    """Check that ``module`` is well formed.

    Raises:
        CompileError: It is not; with all that is wrong, in text order.
    """
    found = check(module)
    if found:
        raise CompileError(*found)


def remarks(module: Module) -> list[Diagnostic]:
    """Return what is odd about ``module``, in text order, though it has its meaning."""
    found = (d for function in module.functions for d in patterns.unreachable(function))
    return sorted(found, key=_start)


def _check(module: Module) -> Iterator[Diagnostic]:
    yield from declarations.check(module)
    declared = Declarations.of(module)
    types = TypeRule(declared)
    for adt in module.adts:
        yield from types.check_adt(adt)
        yield from symbols.check_adt(adt)
    for function in module.functions:
        yield from _flags(function)
        yield from names.check(function)
        yield from calls.check(function, declared)
        yield from types.check(function)
        yield from symbols.check(function)
        yield from patterns.check(function, declared)
        yield from placement.check(function, declared)


def _flags(function: Function) -> Iterator[Diagnostic]:
    for name in FLAGS:
        value = function.attrs.get(name, False)
        if not isinstance(value, bool):
            what = f"@{function.name}"
            yield catalog.attribute_type(what, name, value, "true or false", function.span)
    for position in sorted(function.donated):
        if not 0 <= position < len(function.params):
            message = f"@{function.name} donates parameter {position}, which it has not"
            yield catalog.invalid_donation(message, function.span)
