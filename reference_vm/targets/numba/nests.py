"""Makes kernels of what the loop IR can say: elementwise operators, reductions, transposes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from reference_vm.bytecode.kernel import Kernel
from reference_vm.ir.nodes import Function
from reference_vm.loops.kernel import LoopRule
from reference_vm.loops.lower import NoLoops, lower
from reference_vm.loops.nest import Nest
from reference_vm.targets.numba.kernel import CompiledKernel
from reference_vm.targets.numba.machine import nest_address
from reference_vm.targets.numba.making import Tools, operators
from reference_vm.targets.numba.turned import turned_nest
from reference_vm.types.dtype import F16


def make(function: Function, tools: Tools) -> Kernel | None:
    """Return the kernel of a function that has a loop nest; see `making.Maker`."""
    rules = {name: op.loops for name, op in tools.ops.items() if op.loops is not None}
    nest = _nest(function, rules)
    if nest is None:
        return None
    if not tools.machine.converts_f16 and any(c.dtype == F16 for c in nest.code):
        return None
    return CompiledKernel(
        function.name,
        operators(function),
        nest,
        partial(nest_address, tools.machine, nest),
        len(function.params),
        tools.launch,
        tools.machine,
        tools.pool,
    )


def _nest(function: Function, rules: Mapping[str, LoopRule]) -> Nest | None:
    """Return the loop nest of ``function``, if it has one in some way."""
    for way in (lower, turned_nest):
        try:
            return way(function, rules)
        except NoLoops:
            continue
    return None
