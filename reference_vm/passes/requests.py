"""Which bindings a bulk placement may request, and how it is written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reference_vm.analysis.function_values import NO_MODULE, FunctionValues
from reference_vm.analysis.host_facts import host_operations
from reference_vm.analysis.values import Kind
from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir import rewrite
from reference_vm.ir.nodes import Binding, Function, Module, Var
from reference_vm.ops.definition import OpDef
from reference_vm.passes.context import PassContext
from reference_vm.types import VirtualDevice


def open_operators(
    function: Function, ops: Mapping[str, OpDef], module: Module = NO_MODULE
) -> tuple[Binding, ...]:
    """Return the operators, in program order, that nothing places yet and that may run anywhere.

    Host facts are left out: shapes and conditions are computed on the host. So are views, copies
    and constants, which have no place of their own.
    """
    graph = FunctionValues(function, ops, module)
    free = [
        o.index
        for o in graph.operations
        if o.request is None
        and not o.on_host
        and o.kind is not Kind.CALL
        and all(graph.values[v].pin is None for v in o.results)
    ]
    facts = host_operations(graph, free)
    return tuple(
        graph.operations[i].binding
        for i in free
        if i not in facts and not graph.operations[i].merge
    )


def with_requests(function: Function, requests: Mapping[Var, VirtualDevice]) -> Function:
    """Return ``function`` with these suffixes on the bindings of these variables."""
    if not requests:
        return function

    def change(binding: Binding) -> tuple[Binding, ...]:
        asked = requests.get(binding.var)
        return (binding if asked is None else replace(binding, request=asked),)

    return replace(function, body=rewrite.rebuild(function.body, change, {}))


def role(module: Module, ctx: PassContext, name: str) -> VirtualDevice:
    """Return the virtual device that role ``name`` is, which may have been merged with another.

    Raises:
        CompileError: Neither the module nor the device map knows it.
    """
    device = ctx.device_map.get(name)
    for vdevice in module.vdevices:
        if vdevice.role == name or (device is not None and vdevice.device == device):
            return vdevice
    if device is None:
        known = [v.role for v in module.vdevices]
        raise CompileError(catalog.unknown_vdevice(name, known, None))
    return VirtualDevice(name, device)


def with_roles(module: Module, roles: Mapping[str, VirtualDevice]) -> Module:
    """Return ``module`` with those of ``roles`` declared that were not."""
    new = tuple(dict.fromkeys(v for v in roles.values() if v not in module.vdevices))
    return replace(module, vdevices=(*module.vdevices, *new))


__all__ = ["open_operators", "role", "with_requests", "with_roles"]
