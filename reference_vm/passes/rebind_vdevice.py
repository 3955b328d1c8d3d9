"""Give one role another device, wherever the program names it.

``rebind-vdevice{role="a", device="sim:1"}``, before::

    vdevice @host = "cpu:0", @a = "sim:0"
    fn @main(%x: (f32[4] @a, f32[4])) -> f32[4] @a {
      %p = %x[0]
      %y = exp(%p) @a

After::

    vdevice @host = "cpu:0", @a = "sim:1"
    fn @main(%x: (f32[4] @a, f32[4])) -> f32[4] @a {
      %p = %x[0]
      %y = exp(%p) @a

Types of variables, items of tuples, fields of data types, suffixes and the destinations of copies
all name the role, so all of them are on the other device. If another role has that device and
scope already, it stands for both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, final

from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir.nodes import Module
from reference_vm.passes import roles
from reference_vm.passes.context import PassContext, Property
from reference_vm.types import DeviceName, VirtualDevice


@final
@dataclass(frozen=True)
class RebindVdevice:
    """``rebind-vdevice``: give a role another device."""

    name: ClassVar[str] = "rebind-vdevice"
    requires: ClassVar[frozenset[Property]] = frozenset()
    establishes: ClassVar[frozenset[Property]] = frozenset()

    role: str
    device: str

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` with the role on the device.

        Raises:
            CompileError: ``unknown-vdevice`` or ``invalid-device``.
        """
        old = self._role(module)
        new = replace(old, device=self._device())
        if new == old:
            return module
        new = _same_place(module, new) or new
        vdevices = tuple(dict.fromkeys(new if v == old else v for v in module.vdevices))
        return roles.replaced(replace(module, vdevices=vdevices), {old: new})

    def _role(self, module: Module) -> VirtualDevice:
        wanted = self.role.removeprefix("@")
        for vdevice in module.vdevices:
            if vdevice.role == wanted:
                return vdevice
        known = tuple(v.role for v in module.vdevices)
        problem = catalog.unknown_vdevice(wanted, known, None)
        raise CompileError(replace(problem, help="name one of these: a role keeps its name"))

    def _device(self) -> DeviceName:
        try:
            return DeviceName.parse(self.device)
        except ValueError as error:
            raise CompileError(catalog.invalid_device(str(error), None)) from error


def _same_place(module: Module, wanted: VirtualDevice) -> VirtualDevice | None:
    """Return the role that has the device and scope already, if there is one."""
    for vdevice in module.vdevices:
        if (vdevice.device, vdevice.scope) == (wanted.device, wanted.scope):
            return vdevice
    return None


__all__ = ["RebindVdevice"]
