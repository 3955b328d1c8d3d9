"""The virtual devices of a module: the host's, the default's, their order, and others instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from reference_vm.ir import rewrite
from reference_vm.ir.nodes import Adt, Constructor, Function, Module
from reference_vm.passes.context import PassContext
from reference_vm.types import (
    GLOBAL_SCOPE,
    HOST,
    DeviceName,
    TensorType,
    Type,
    VirtualDevice,
    map_tensors,
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


__all__ = ["default", "default_device", "host", "in_order", "on_device", "replaced"]
