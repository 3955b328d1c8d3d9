"""From a module to a program that a session can run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from reference_vm.bytecode.executable import Executable
from reference_vm.codegen.emit import emit
from reference_vm.ir.nodes import Function, Module
from reference_vm.ops.catalog import OPS
from reference_vm.runtime.weights import WeightsFolder
from reference_vm.types import DeviceMap


@final
@dataclass(frozen=True)
class Program:
    """A compiled program."""

    module: Module
    """What the compiler made of the module: placed, and lowered as far as was asked for."""

    executable: Executable
    primitives: tuple[Function, ...]
    """What each of the executable's kernels is made from when the program is loaded."""

    device_map: DeviceMap = field(default_factory=DeviceMap)
    executor: str | None = None
    """The target that makes the kernels; ``None``: the preferred one of each device kind."""

    weights: WeightsFolder = field(default_factory=WeightsFolder)


def assemble(module: Module, executor: str | None = None) -> Program:
    """Return the program of a module that is already placed.

    Raises:
        CompileError: Something is left in it that a pass should have removed.
    """
    code = emit(module, OPS)
    return Program(module, code.executable, code.primitives, executor=executor)
