"""Telling what is about to run, one instruction at a time, so that a crash has a last word."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from reference_vm.bytecode.instructions import Copy, HostOp, Instruction, Launch
from reference_vm.runtime.frames import Frame
from reference_vm.runtime.intermediates import Intermediates


@final
class Telling:
    """An observer that tells of each kernel and copy before it runs, and gathers intermediates."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell
        self.kept = Intermediates()

    def before(self, instruction: Instruction, frame: Frame) -> None:
        if isinstance(instruction, Launch | HostOp):
            made = ", ".join(instruction.site.defines)
            self.tell(f"kernel {instruction.site.op} -> {made}")
        elif isinstance(instruction, Copy):
            self.tell(f"copy of {instruction.value} for {instruction.reader or instruction.cause}")
        self.kept.before(instruction, frame)

    def after(self, instruction: Instruction, frame: Frame) -> None:
        self.kept.after(instruction, frame)
