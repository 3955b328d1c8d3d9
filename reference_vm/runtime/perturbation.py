"""Doubling all that one device computes, to show by its results that it computes it.

After each kernel on the device every floating result is doubled where it lies, which is exact. The
doubling is itself a launch there; nothing else of the run changes. Only a program that is not fused
shows each operator's result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from reference_vm.bytecode.instructions import Instruction, Launch
from reference_vm.devices.api import Tensor
from reference_vm.runtime.frames import Frame
from reference_vm.types import DeviceName


@final
class Doubling:
    """An observer that doubles what one device computes."""

    def __init__(self, device: DeviceName) -> None:
        self.device = device

    def before(self, instruction: Instruction, frame: Frame) -> None:
        """Do nothing: there is no result yet."""

    def after(self, instruction: Instruction, frame: Frame) -> None:
        if not isinstance(instruction, Launch):
            return
        for target in instruction.targets:
            made: Tensor = frame.registers[target.register]
            device = made.buffer.device
            if device.name == self.device and made.dtype.is_float and made.nbytes:
                device.launch(_double, [made], [made])


def _double(xp: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> Sequence[Any]:
    (x,), (out,) = inputs, outputs
    out[...] = x + x
    return outputs
