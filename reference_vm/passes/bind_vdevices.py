"""Bind every role to its device, so that equal devices are one virtual device.

Before, with the device map ``a=sim:0,b=sim:0``::

    vdevice @a, @b
    fn @main(%x: f32[4] @a) -> f32[4] {
      %y = exp(%x) @b

After::

    vdevice @a = "sim:0", @host = "cpu:0"
    fn @main(%x: f32[4] @a) -> f32[4] {
      %y = exp(%x) @a

Of several roles with one device and scope the first declared stands for all. Roles are added for
the host and for the default device where the program has none. A role that is not in the map is
``unbound-role``; ``host`` alone is then ``cpu:0``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, final

from reference_vm.diagnostics import CompileError, Diagnostic, catalog
from reference_vm.ir.names import FreshNames
from reference_vm.ir.nodes import Module
from reference_vm.passes import roles
from reference_vm.passes.context import PassContext, Property
from reference_vm.types import GLOBAL_SCOPE, HOST, DeviceName, VirtualDevice


@final
@dataclass(frozen=True)
class BindVdevices:
    """``bind-vdevices``: give every role its device."""

    name: ClassVar[str] = "bind-vdevices"
    requires: ClassVar[frozenset[Property]] = frozenset()
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.BOUND})

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` with its roles bound.

        Raises:
            CompileError: ``unbound-role`` or ``role-bound-twice``, for each such role.
        """
        canonical = _canonical(module, ctx)
        kept = tuple(dict.fromkeys(canonical.values()))
        bound = replace(module, vdevices=_with_role_for(kept, HOST, "host"))
        default = roles.default_device(bound, ctx)
        bound = replace(bound, vdevices=_with_role_for(bound.vdevices, default, _role(default)))
        if all(old is new or old == new for old, new in canonical.items()):
            return module if bound.vdevices == module.vdevices else bound
        return roles.replaced(bound, canonical)


def _canonical(module: Module, ctx: PassContext) -> dict[VirtualDevice, VirtualDevice]:
    """Return, for each declared role, the virtual device that stands for it."""
    first: dict[tuple[DeviceName, str], VirtualDevice] = {}
    canonical: dict[VirtualDevice, VirtualDevice] = {}
    problems: list[Diagnostic] = []
    for role in module.vdevices:
        mapped = ctx.device_map.get(role.role)
        if role.device is not None and mapped is not None and role.device != mapped:
            problems.append(_bound_twice(module, role, mapped))
        device = role.device or mapped or (HOST if role.role == "host" else None)
        if device is None:
            known = tuple(ctx.device_map)
            problems.append(catalog.unbound_role(role.role, known, roles.first_use(module, role)))
            continue
        bound = VirtualDevice(role.role, device, role.scope)
        canonical[role] = first.setdefault((device, role.scope), bound)
    if problems:
        raise CompileError(*problems)
    return canonical


def _bound_twice(module: Module, role: VirtualDevice, mapped: DeviceName) -> Diagnostic:
    span = roles.first_use(module, role)
    return catalog.role_bound_twice(role.role, str(role.device), str(mapped), span)


def _with_role_for(
    vdevices: tuple[VirtualDevice, ...], device: DeviceName, name: str
) -> tuple[VirtualDevice, ...]:
    if any(v.device == device and v.scope == GLOBAL_SCOPE for v in vdevices):
        return vdevices
    return (*vdevices, VirtualDevice(FreshNames({v.role for v in vdevices}).fresh(name), device))


def _role(device: DeviceName) -> str:
    return str(device).replace(":", ".").replace("-", "_")


__all__ = ["BindVdevices"]
