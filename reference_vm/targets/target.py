"""What a target is: who compiles primitive functions to kernels for a kind of device."""

from __future__ import annotations

from typing import Protocol

from reference_vm.bytecode.kernel import Kernel
from reference_vm.ir.nodes import Function
from reference_vm.passes.context import TargetTraits


class Target(Protocol):
    """Compiles for one or more kinds of device."""

    @property
    def name(self) -> str:
        """What options and reports call it: ``numpy``, ``numba``."""
        ...

    @property
    def traits(self) -> TargetTraits:
        """What passes may ask of it."""
        ...

    def compile(self, function: Function, device_kind: str) -> Kernel:
        """Return the kernel of a primitive function, for devices of this kind.

        Every variable of ``function`` has a type. Its body holds calls of operators, constants,
        tuples and projections; several results are a tuple.

        Raises:
            CompileError: The target cannot compile the function.
        """
        ...
