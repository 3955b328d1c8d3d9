"""The virtual devices of a module: host, default, their order, first uses, others instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from reference_vm.ir import rewrite
from reference_vm.ir.nodes import Adt, Constructor, Function, Module
from reference_vm.passes.context import PassContext
from reference_vm.source import Span
from reference_vm.types import (
    GLOBAL_SCOPE,
    HOST,
    DeviceName,
    TensorType,
    Type,
    VirtualDevice,
    map_tensors,
    tensors,
)


def on_device(module: Module, device: DeviceName) -> VirtualDevice | None:
    """Return the module's virtual device for the global memory of ``device``."""
    for vdevice in module.vdevices:
        if vdevice.device == device and vdevice.scope == GLOBAL_SCOPE:
            return vdevice
    return None


def host(module: Module) -> VirtualDevice:
    """Return the host's virtual device; ``bind-vdevices`` has seen to it that there is one."""
    found = on_device(module, HOST)
    assert found is not None, "no virtual device is bound to the host: run bind-vdevices first"
    return found


def default_device(module: Module, ctx: PassContext) -> DeviceName:
    """Return the device for what nothing places: ``ctx.default``, as a role or as a device."""
    role = (ctx.default or "").removeprefix("@")
    for vdevice in module.vdevices:
        if vdevice.role == role and vdevice.device is not None:
            return vdevice.device
    return ctx.default_device


def default(module: Module, ctx: PassContext) -> VirtualDevice:
    """Return the virtual device for what nothing places, as `default_device` says."""
    found = on_device(module, default_device(module, ctx))
    assert found is not None, "the default device has no role: run bind-vdevices first"
    return found


def in_order(module: Module, ctx: PassContext) -> tuple[VirtualDevice, ...]:
    """Return the module's virtual devices in the order of the device map, the others after."""
    order = ctx.device_map.devices

    def key(vdevice: VirtualDevice) -> int:
        return order.index(vdevice.device) if vdevice.device in order else len(order)

    return tuple(sorted(module.vdevices, key=key))


def first_use(module: Module, role: VirtualDevice) -> Span | None:
    """Return where the program first names ``role`` in a function, if it does."""

    def named(type_: Type | None) -> bool:
        return type_ is not None and any(leaf.vdevice == role for leaf in tensors(type_))

    for function in module.functions:
        for var in function.params:
            if named(var.type):
                return var.span
        if named(function.result):
            return function.span
        for binding in rewrite.walk(function.body):
            if binding.request == role or named(binding.var.type):
                return binding.value.span or binding.var.span
    return None


def replaced(module: Module, instead: Mapping[VirtualDevice, VirtualDevice]) -> Module:
    """Return ``module`` with virtual devices replaced in every type and suffix."""

    def tensor(type_: TensorType) -> TensorType:
        return type_ if type_.vdevice is None else type_.on(place(type_.vdevice))

    def place(vdevice: VirtualDevice) -> VirtualDevice:
        return instead.get(vdevice, vdevice)

    def change(type_: Type) -> Type:
        return map_tensors(type_, tensor)

    def function(old: Function) -> Function:
        return rewrite.retype(old, change, place)

    adts = tuple(_with_fields(adt, change) for adt in module.adts)
    return replace(module, adts=adts, functions=tuple(map(function, module.functions)))


def _with_fields(adt: Adt, change: Callable[[Type], Type]) -> Adt:
    constructors = (Constructor(c.name, tuple(map(change, c.fields))) for c in adt.constructors)
    return replace(adt, constructors=tuple(constructors))


__all__ = ["default", "default_device", "first_use", "host", "in_order", "on_device", "replaced"]
