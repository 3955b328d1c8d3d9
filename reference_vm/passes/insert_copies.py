"""Put a device copy wherever a value is read on another device than its own.

Before::

    %s: f32[4] @host = add(%a, %b) @host
    %t: f32[4] @accel = exp(%s) @accel
    %u: f32[4] @accel = multiply(%s, %t) @accel

After::

    %s: f32[4] @host = add(%a, %b) @host
    %s.accel: f32[4] @accel = device_copy(%s, cause = "read", line = 2, reader = "main/%t") @accel
    %t: f32[4] @accel = exp(%s.accel) @accel
    %u: f32[4] @accel = multiply(%s.accel, %t) @accel

One copy serves every later reader on its device. It stands before its first reader, and above an
``if`` only when every arm, or what follows, reads it (`planning.md` section 4). A view is not
copied: it is made anew from the copy of what it shows. Constants are not copied either: each device
that reads one has its own. Where work runs was settled by ``plan-devices``; this pass moves data
only, never an operator.

Policy ``replicate`` calls the copies of parameters that the program left unplaced transfers of
arguments, policy ``error`` refuses copies with cause ``read``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias, final

from reference_vm.analysis.function_values import FunctionValues
from reference_vm.analysis.locality import Demand, WantFinder, device_of_read, devices_of
from reference_vm.analysis.values import Value
from reference_vm.diagnostics import CompileError, Diagnostic, catalog
from reference_vm.ir.nodes import Binding, Function, Module
from reference_vm.passes import roles
from reference_vm.passes.context import PassContext, Policy, Property
from reference_vm.passes.copy_inserter import CopyInserter
from reference_vm.passes.held_values import HeldValues
from reference_vm.passes.plan_devices import REPLICATED
from reference_vm.source import Span
from reference_vm.types import VirtualDevice, leaves

Place: TypeAlias = tuple[str, str, Span | None]
"""A role, what happens there, and where that is written."""


@final
@dataclass(frozen=True)
class InsertCopies:
    """``insert-copies``: make every operator read from its own device."""

    name: ClassVar[str] = "insert-copies"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.PLACED})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.DEVICE_LOCAL})

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` with every read local.

        Raises:
            CompileError: ``value-on-two-devices``, under policy ``error``.
        """
        host = roles.host(module)
        problems: list[Diagnostic] = []
        functions = [_localized(f, ctx, host, problems) for f in module.functions]
        if problems:
            raise CompileError(*problems)
        return module.with_functions(functions)


def _localized(
    function: Function, ctx: PassContext, host: VirtualDevice, problems: list[Diagnostic]
) -> Function:
    graph = FunctionValues(function, ctx.ops)
    returned = tuple(leaf.vdevice for leaf in leaves(function.result))
    places = tuple(
        asked or own for asked, own in zip(returned, devices_of(function.body.result), strict=True)
    )
    end = Demand(graph.faces_of[function.body.result], places, "result")
    wants = WantFinder(graph, host).block(function.body, end, None)
    held = HeldValues(graph, _replicated(function, graph, ctx.policy))
    body = CopyInserter(graph, host, held).function(function, wants, end)
    if ctx.policy is Policy.ERROR:
        problems.extend(_first_refused(graph, host, held))
    return replace(function, body=body)


def _replicated(function: Function, graph: FunctionValues, policy: Policy) -> frozenset[int]:
    """Return the values of parameters that arrive on every device that reads them."""
    if policy is not Policy.REPLICATE:
        return frozenset()
    arriving = [value.index for p in function.params for value in graph.values_of(p)]
    listed = function.attrs.get(REPLICATED)
    assert listed is None or isinstance(listed, tuple)
    return frozenset(v for leaf, v in enumerate(arriving) if leaf in (listed or ()))


def _first_refused(
    graph: FunctionValues, host: VirtualDevice, held: HeldValues
) -> Iterator[Diagnostic]:
    """Yield what is wrong with the first value, in text order, that a read is copied for."""
    copied = [c for c in held.copied if c[2].cause == "read"]
    if copied:
        value, device, reader = min(copied, key=lambda c: c[0].index)
        yield catalog.value_on_two_devices(
            value.var.name, _at_home(value, graph, host), _place(device, "read", reader.binding)
        )


def _at_home(value: Value, graph: FunctionValues, host: VirtualDevice) -> Place:
    """Return who reads ``value`` where it lives, or else who makes it."""
    assert value.pin is not None
    for read in value.reads:
        if device_of_read(read, graph, host) == value.pin:
            return _place(value.pin, "read", read.binding)
    if value.operation is None:
        return (value.pin.role, "placed", value.var.span)
    return _place(value.pin, "made", graph.operations[value.operation].binding)


def _place(device: VirtualDevice, what: str, binding: Binding | None) -> Place:
    if binding is None:
        return (device.role, what, None)
    return (device.role, f"{what} by %{binding.var.name}", binding.value.span or binding.var.span)


__all__ = ["InsertCopies"]
