"""Makes kernels of decision trees: tables checked, rows sent down, leaves joined.

What is wrong with bad tables is found by the operator's own `compute`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

from reference_vm.bytecode.kernel import Dims, Kernel, NativeCall, Stage
from reference_vm.ir.nodes import Call, Function
from reference_vm.targets.numba.making import Tools, staged_kernel
from reference_vm.targets.numba.printed import compiled
from reference_vm.targets.numba.tree_code import (
    WORDS,
    TreeForm,
    print_check,
    print_join,
    print_walk,
)
from reference_vm.types import TensorType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import F32

if TYPE_CHECKING:  # it loads LLVM, which need not be installed
    from reference_vm.jit.machine import Machine

_WORD: Final = 8

_STEP: Final = 8
"""Instructions that a node takes, about."""

_PRINTERS: Final[Mapping[str, Callable[[TreeForm], str]]] = {
    "check": print_check,
    "walk": print_walk,
    "join": print_join,
}


def make(function: Function, tools: Tools) -> Kernel | None:
    """Return the kernel of ``tree_ensemble``; see `making.Maker`."""
    bindings = tuple(function.body.bindings())
    call, type_ = bindings[0].value, bindings[0].var.type
    if len(bindings) != 1 or not isinstance(call, Call) or call.op != "tree_ensemble":
        return None
    if not isinstance(type_, TensorType) or call.args != function.params:
        return None
    kind = "float" if type_.dtype == F32 else "double"
    form = TreeForm(kind, str(call.attrs["aggregate"]))
    targets: Any = call.attrs["targets"]
    return staged_kernel(
        function,
        tools,
        _Planner(form, targets, tools.machine).plan,
        (to_numpy(type_.dtype),),
        can_fail=True,
    )


@final
@dataclass(frozen=True)
class _Planner:
    """Turns dims into stages."""

    form: TreeForm
    targets: int
    machine: Machine

    def plan(self, inputs: Sequence[Dims | Any]) -> NativeCall | None:
        """Return the stages for operands of these dims; see `staged.Planner`."""
        (rows, width), (nodes,), (trees,) = inputs[0], inputs[1], inputs[7]
        (starts,), (entries,) = inputs[8], inputs[9]
        if not starts or any(inputs[i] != (nodes,) for i in range(2, 7)):
            return None
        if inputs[10] != (entries,):
            return None
        sizes = {
            "nodes": nodes,
            "leaves": starts - 1,
            "entries": entries,
            "width": width,
            "trees": trees,
            "targets": self.targets,
        }
        walked = trees * _STEP * max(1, nodes // max(1, trees)).bit_length()
        joined = trees + self.targets
        stages = (
            self._stage("check", sizes, 1, nodes + entries + starts),
            self._stage("walk", sizes, rows, rows * walked),
            self._stage("join", sizes, rows, rows * joined, self.targets * self.form.itemsize),
        )
        workspace = (1 + math.prod((rows, trees))) * _WORD
        shape = (rows, self.targets)
        return NativeCall(
            tuple(range(len(inputs))), (shape,), stages, workspace, owner=self.machine
        )

    def _stage(
        self, kind: str, sizes: Mapping[str, int], high: int, work: int, scratch: int = 0
    ) -> Stage:
        printer = _PRINTERS[kind]
        entry = compiled(self.machine, f"tree {kind}", self.form, lambda: printer(self.form))
        return Stage(
            entry,
            WORDS.block(fault=0, scratch=0, **sizes),
            0,
            high,
            work,
            scratch=scratch,
            scratch_word=WORDS.position("scratch") if scratch else 0,
            workspace_word=WORDS.workspace,
            fault_word=0 if scratch else WORDS.position("fault"),
        )


__all__ = ["make"]
