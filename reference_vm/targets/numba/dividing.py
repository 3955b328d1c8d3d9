"""Makes kernels of divisions of integers: quotients and rests, broadcast.

A result may be written over an operand. Where a divisor is 0 the result is 0, so that the
operator's own `compute`, asked what is wrong, finds a 0 there as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np

from reference_vm.bytecode.kernel import Dims, Kernel, NativeCall, Stage
from reference_vm.ir.nodes import Call, Function, Var
from reference_vm.ops.definition import DataError
from reference_vm.targets.numba.copies import MAX_AXES, joined_axes, strides
from reference_vm.targets.numba.division_code import DivisionForm, print_division
from reference_vm.targets.numba.making import Tools, single_call, staged_kernel
from reference_vm.targets.numba.printed import compiled
from reference_vm.types import DType
from reference_vm.types.arrays import to_numpy

if TYPE_CHECKING:  # it loads LLVM, which need not be installed
    from reference_vm.jit.machine import Machine

_RULES: Final[Mapping[str, tuple[bool, bool]]] = {
    "trunc_divide": (False, False),
    "floor_divide": (True, False),
    "fmod": (False, True),
    "remainder": (True, True),
}
"""Whether the quotient is rounded down, and whether the rest is asked for."""

_WORK: Final = 12
"""Instructions that an element takes, about."""


def make(function: Function, tools: Tools) -> Kernel | None:
    """Return the kernel of a division of integers; see `making.Maker`."""
    single = single_call(function)
    if single is None or single[1]:
        return None
    call = single[0].value
    if not isinstance(call, Call) or call.op not in _RULES:
        return None
    dtype = single[0].var.tensor.dtype
    if dtype.is_float or dtype.bits < 8:
        return None
    places = tuple(function.params.index(a) for a in call.args if isinstance(a, Var))
    plan = _Planner(call.op, places, dtype, tools.machine)
    return staged_kernel(function, tools, plan.plan, (to_numpy(dtype),), can_fail=True)


@final
@dataclass(frozen=True)
class _Planner:
    """Turns dims into a stage."""

    op: str
    places: tuple[int, ...]
    """Which of the kernel's inputs each operand is."""

    dtype: DType
    machine: Machine

    def plan(self, inputs: Sequence[Dims]) -> NativeCall | None:
        """Return the stage; see `staged.Planner`."""
        given = [inputs[p] for p in self.places]
        try:
            shape = np.broadcast_shapes(*given)
        except ValueError:
            raise DataError(
                "shape-mismatch", f"shapes {given[0]} and {given[1]} do not broadcast"
            ) from None
        left, right = (_steps(dims, shape) for dims in given)
        axes = joined_axes(shape, left, right, strides(shape))
        if len(axes) > MAX_AXES:
            return None
        return NativeCall(self._operands, (shape,), (self._stage(axes),), owner=self.machine)

    @property
    def _operands(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(self.places))

    def _stage(self, axes: Sequence[tuple[int, ...]]) -> Stage:
        operands = self._operands
        left, right = map(operands.index, self.places)
        form = DivisionForm(
            self.dtype.itemsize,
            self.dtype.is_signed,
            *_RULES[self.op],
            len(axes),
            len(operands) + 1,
            left,
            right,
            len(operands),
        )
        entry = compiled(self.machine, "division", form, lambda: print_division(form))
        values = {"fault": 0}
        for i, (dim, *steps) in enumerate(axes):
            names = ("left", "right", "to")
            values |= {f"dim{i}": dim}
            values |= {f"{name}{i}": step for name, step in zip(names, steps, strict=True)}
        words = form.words
        work = _WORK * int(np.prod([axis[0] for axis in axes]))
        fault = words.position("fault")
        return Stage(entry, words.block(**values), 0, axes[0][0], work, fault_word=fault)


def _steps(dims: Dims, shape: Dims) -> Dims:
    """Return the distances between elements of an operand, 0 where it is broadcast."""
    padded = (1,) * (len(shape) - len(dims)) + tuple(dims)
    own = strides(padded)
    return tuple(0 if n == 1 else s for n, s in zip(padded, own, strict=True))


__all__ = ["make"]
