"""Where nodes run, in ONNX's own device configurations.

A model names its devices in one entry of ``ModelProto.configuration``. A node that runs on device
``k`` has one entry of ``device_configurations`` in which each of its tensors is whole on ``k``: as
ONNX means it, data come to where they are wanted by themselves. A copy says it of what it makes
alone.

Before::

    %t = exp(%s) @accel

After, where ``accel`` is the second device::

    t = Exp(s)    # device_configurations: s on 1, t on 1

ONNX places nodes only; what else a program says of devices is gathered in ``unsaid``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from onnx import ModelProto, NodeProto

from reference_vm.ir.nodes import Binding, Call, Function
from reference_vm.types import Type, VirtualDevice, leaves
from reference_vm.types.device import GLOBAL_SCOPE

CONFIGURATION: Final = "hettest"
"""What the configuration of devices is called."""

IR_VERSION: Final = 11
"""The first version of the model's format that has configurations."""

_MOVES: Final = frozenset({"device_copy", "to_vdevice", "hint_on_device"})


@final
@dataclass
class NodePlaces:
    """Writes the places of nodes, and gathers what ONNX cannot say."""

    devices: Sequence[str]
    roles: Mapping[str, str]
    """The device of each role that the program leaves open; an open ``host`` is the first one."""

    everywhere: str | None = None
    """The device of what the program does not place, if that is one for all of it."""

    unsaid: list[str] = field(default_factory=list)

    def declare(self, model: ModelProto) -> None:
        """Name the devices in ``model``."""
        found = model.configuration.add(name=CONFIGURATION, num_devices=len(self.devices))
        found.device.extend(self.devices)

    def signature(self, function: Function) -> None:
        """Note what a function says of its parameters, its results and its values."""
        for param in function.params:
            for role in _placed(param.type):
                self._note(f"the place of a parameter: @{function.name}, %{param.name} @{role}")
        for role in _placed(function.result):
            self._note(f"the place of a result: @{function.name}, @{role}")
        for name in function.attrs:
            if name != "entry":
                self._note(f"an attribute: @{function.name}, {name}")

    def place(self, binding: Binding, made: Sequence[NodeProto], where: str) -> None:
        """Say where the nodes of one binding run; those that say it already are left alone."""
        role, value = binding.request, binding.value
        device = self.everywhere if role is None else self._device(role)
        if device is None:
            return
        moves = isinstance(value, Call) and value.op in _MOVES
        name = f"{where}, %{binding.var.name}"
        if role is not None and not made:
            self._note(f"the place of what needs no node: {name} @{role.role}")
        if isinstance(value, Call) and value.op == "hint_on_device":
            self._note(f"that a request is a hint: {name}")
        for node in made:
            if not node.device_configurations:
                self._annotate(node, self.devices.index(device), outputs_alone=moves)

    def _annotate(self, node: NodeProto, device: int, outputs_alone: bool) -> None:
        spec = node.device_configurations.add(configuration_id=CONFIGURATION)
        tensors = node.output if outputs_alone else (*node.input, *node.output)
        for name in dict.fromkeys(filter(None, tensors)):
            spec.sharding_spec.add(tensor_name=name).device.append(device)

    def _device(self, role: VirtualDevice) -> str | None:
        if role.scope != GLOBAL_SCOPE:
            self._note(f"a memory scope: @{role.role}, {role.scope}")
        device = self.roles.get(role.role) if role.device is None else str(role.device)
        device = self.devices[0] if device is None and role.role == "host" else device
        if device not in self.devices:
            self._note(f"a device that is not among those named: @{role.role}")
            return None
        return device

    def _note(self, text: str) -> None:
        if text not in self.unsaid:
            self.unsaid.append(text)


def _placed(type_: Type | None) -> Iterator[str]:
    """Yield the role of each placed tensor in a type."""
    for leaf in () if type_ is None else leaves(type_):
        if leaf.vdevice is not None:
            yield leaf.vdevice.role


__all__ = ["CONFIGURATION", "IR_VERSION", "NodePlaces"]
