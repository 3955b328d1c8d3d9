"""What the makers of native kernels have in common: what they are given and what they return.

A maker looks at one primitive function and compiles it if it is of the maker's kind. They stand in
`makers`, in the order in which they are asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from reference_vm.bytecode.kernel import Kernel
from reference_vm.ir.nodes import Binding, Call, Constant, Function, Operand
from reference_vm.ops.definition import OpDef
from reference_vm.targets.numba.staged import Planner, StagedKernel
from reference_vm.targets.numpy import NUMPY
from reference_vm.types.arrays import to_numpy

if TYPE_CHECKING:  # they load LLVM, which need not be installed
    from reference_vm.jit.machine import Machine
    from reference_vm.jit.pool import Pool
    from reference_vm.targets.numba.launch import Launch


@final
@dataclass(frozen=True, slots=True, eq=False)
class Tools:
    """What a kernel is made with."""

    machine: Machine
    launch: Launch | None
    """The fast way to call a kernel from Python, where there is one."""

    pool: Pool
    ops: Mapping[str, OpDef]


class Maker(Protocol):
    """Compiles primitive functions of one kind."""

    def __call__(self, function: Function, tools: Tools) -> Kernel | None:
        """Return the kernel of ``function``; ``None`` if it is of another kind.

        Every variable has a type. No operator of ``function`` may fail, but for the makers in
        `makers.REPORTING`.
        """
        ...


def single_call(function: Function) -> tuple[Binding, Mapping[Operand, Any]] | None:
    """Return the one call that ``function`` makes, and the constants beside it as arrays."""
    *others, last = function.body.bindings()
    if not isinstance(last.value, Call) or last.var != function.body.result:
        return None
    constants: dict[Operand, Any] = {}
    for binding in others:
        if not isinstance(binding.value, Constant):
            return None
        value = binding.value
        array = np.frombuffer(value.data, to_numpy(value.dtype))
        constants[binding.var] = array.reshape(value.shape)
    return last, constants


def operators(function: Function) -> tuple[str, ...]:
    """Return the names of the operators that ``function`` calls, in order."""
    return tuple(b.value.op for b in function.body.bindings() if isinstance(b.value, Call))


def staged_kernel(
    function: Function,
    tools: Tools,
    plan: Planner,
    dtypes: tuple[Any, ...],
    hosts: frozenset[int] = frozenset(),
    *,
    can_fail: bool = False,
) -> StagedKernel:
    """Return a kernel in stages, with the library's for what ``plan`` leaves to it.

    Args:
        function: The primitive function.
        tools: What kernels are made with.
        plan: From dims to stages.
        dtypes: NumPy's, of the results.
        hosts: Which inputs are values that the plan reads.
        can_fail: Whether the stages note bad data.
    """
    return StagedKernel(
        function.name,
        operators(function),
        plan,
        dtypes,
        NUMPY.compile(function, "cpu"),
        tools.pool,
        hosts,
        tools.launch,
        can_fail=can_fail,
    )
