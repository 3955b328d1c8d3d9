"""Makes kernels of ``arange``: numbers at equal distances, of bounds that are read on the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from reference_vm.bytecode.kernel import Kernel, NativeCall, Stage
from reference_vm.ir.nodes import Call, Function
from reference_vm.ops.definition import OpDef
from reference_vm.targets.numba.counting_code import CountForm, print_count
from reference_vm.targets.numba.making import Tools, single_call, staged_kernel
from reference_vm.targets.numba.printed import compiled
from reference_vm.types import Attrs, TensorType
from reference_vm.types.arrays import to_numpy

if TYPE_CHECKING:  # it loads LLVM, which need not be installed
    from reference_vm.jit.machine import Machine

_KINDS: Final[Mapping[str, str]] = {
    "i16": "i16",
    "i32": "i32",
    "i64": "i64",
    "f32": "float",
    "f64": "double",
}
"""LLVM's name of each dtype."""


def make(function: Function, tools: Tools) -> Kernel | None:
    """Return the kernel of ``arange``; see `making.Maker`."""
    single = single_call(function)
    if single is None:
        return None
    binding, constants = single
    call = binding.value
    if not isinstance(call, Call) or call.op != "arange":
        return None
    type_ = binding.var.tensor
    if type_.dtype.name not in _KINDS:
        return None
    places = tuple(None if a in constants else function.params.index(a) for a in call.args)
    told = tuple(constants.get(a) for a in call.args)
    plan = _Planner(tools.ops[call.op], type_, places, told, tools.machine)
    return staged_kernel(
        function,
        tools,
        plan.plan,
        (to_numpy(type_.dtype),),
        frozenset(range(len(function.params))),
        can_fail=True,
    )


@final
@dataclass(frozen=True)
class _Planner:
    """Turns the operands into a stage."""

    op: OpDef
    type: TensorType
    places: Sequence[int | None]
    """Which of the kernel's inputs each operand is."""

    told: Sequence[Any]
    """The operands that are constants, ``None`` for the others."""

    machine: Machine

    def plan(self, inputs: Sequence[Any]) -> NativeCall | None:
        """Return the stage; see `staged.Planner`."""
        pairs = zip(self.places, self.told, strict=True)
        given = [value if place is None else inputs[place] for place, value in pairs]
        assert self.op.sizes is not None
        found = self.op.sizes([self.type] * len(given), given, Attrs())
        assert isinstance(found, TensorType)
        count = found.elements
        assert isinstance(count, int)
        return NativeCall((), ((count,),), (self._stage(given, count),), owner=self.machine)

    def _stage(self, given: Sequence[Any], count: int) -> Stage:
        form = CountForm(_KINDS[self.type.dtype.name], self.type.dtype.itemsize)
        entry = compiled(self.machine, "count", form, lambda: print_count(form))
        block = form.words.block(first=_bits(given[0]), step=_bits(given[2]))
        return Stage(entry, block, 0, count, 2 * count)


def _bits(number: Any) -> int:
    """Return the bits of an element in a word."""
    data = np.asarray(number).tobytes()
    return int.from_bytes(data + bytes(8 - len(data)), "little", signed=True)


__all__ = ["make"]
