"""Gathering what a run computes: each kernel's results and inputs, by source variable.

Nothing is changed by looking: a value that lives only inside a fused kernel is not seen, nor is a
constant that is kept in panels.
"""

from __future__ import annotations

from typing import Any

from reference_vm.bytecode.instructions import HostOp, Instruction, Launch, Target
from reference_vm.devices.api import Tensor
from reference_vm.runtime.frames import Frame


class Intermediates:
    """An observer that keeps a copy of every value it sees; of a loop, the last."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}

    def before(self, instruction: Instruction, frame: Frame) -> None:
        if not isinstance(instruction, Launch):
            return
        for value, register in zip(instruction.values, instruction.args, strict=True):
            if value is not None and value not in self.found:
                self._keep(value, frame.registers[register])

    def after(self, instruction: Instruction, frame: Frame) -> None:
        if isinstance(instruction, Launch):
            targets = instruction.targets
        elif isinstance(instruction, HostOp) and isinstance(instruction.target, Target):
            targets = (instruction.target,)
        else:
            return
        for target in targets:
            if target.value is not None:
                self._keep(target.value, frame.registers[target.register])

    def _keep(self, value: str, held: Any) -> None:
        if isinstance(held, Tensor) and held.buffer.in_order:
            self.found[value] = held.buffer.device.peek(held)
