"""Placement suffixes stand where the language gives them a meaning, and agree with types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from reference_vm.diagnostics import Diagnostic, catalog
from reference_vm.ir.nodes import (
    Binding,
    Call,
    Closure,
    Construct,
    Expr,
    Function,
    FunctionValue,
    MakeTuple,
    ShapeLiteral,
)
from reference_vm.ir.rules.declarations import Declarations
from reference_vm.ir.rules.events import Reading, events
from reference_vm.types import leaves

DESTINED: Final = frozenset({"device_copy", "to_vdevice", "hint_on_device"})
"""The operators whose suffix is where their result lives, and must not be missing."""


def check(function: Function, declared: Declarations) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each suffix that is out of place, contradicted or missing."""
    for event in events(function):
        if isinstance(event, Reading):
            yield from _binding(event.binding, declared)


def _binding(binding: Binding, declared: Declarations) -> Iterator[Diagnostic]:
    value, request = binding.value, binding.request
    if request is None:
        if isinstance(value, Call) and value.op in DESTINED:
            yield catalog.copy_without_destination(value.op, value.span)
        return
    if request not in declared.vdevices:
        known = sorted(v.role for v in declared.vdevices)
        yield catalog.unknown_vdevice(request.role, known, value.span)
    what = _without_device(value)
    if what is not None:
        yield catalog.no_device_here(what, f"@{request.role}", value.span)
        return
    typed = binding.var.type
    for leaf in leaves(typed) if typed is not None else ():
        if leaf.vdevice is not None and leaf.vdevice != request:
            yield catalog.contradicting_placement(
                binding.var.name, leaf.vdevice.role, request.role, binding.var.span
            )
            return


def _without_device(value: Expr) -> str | None:
    """Return what ``value`` is called, if it is nothing that can be placed."""
    match value:
        case MakeTuple():
            return "a tuple"
        case ShapeLiteral():
            return "a shape value"
        case Closure():
            return "a closure"
        case FunctionValue():
            return "a function"
        case Construct():
            return "a value of a data type"
        case _:
            return None
