"""Make memory explicit: which storage each tensor lies in, and when storages are given back.

Before::

    %s: f32[n] @cpu = @add(%a, %b, defines = ["main/%s"])
    %t: f32[n] @cpu = @exp(%s, defines = ["main/%t"])
    %u: f32[n] @cpu = @log(%t, defines = ["main/%u"])
    return %u

After::

    %st0: u8[4*n] @cpu = vm.alloc_storage(alignment = 64, size = 4*n)
    %s: f32[n] @cpu = vm.invoke(@add, %a, %b, %st0, defines = …, offsets = [0], outputs = 1)
    %st1: u8[4*n] @cpu = vm.alloc_storage(alignment = 64, size = 4*n)
    %t: f32[n] @cpu = vm.invoke(@exp, %s, %st1, defines = …, offsets = [0], outputs = 1)
    %kill: () = vm.kill(%st0)
    %st2: u8[4*n] @cpu = vm.alloc_storage(alignment = 64, size = 4*n)
    %u: f32[n] @cpu = vm.invoke(@log, %t, %st2, defines = …, offsets = [0], outputs = 1)
    %kill: () = vm.kill(%st1)
    return %u

A storage is on one device and in one scope. Where all sizes are known, tensors lie side by side in
one (`passes.packed`); elsewhere it goes from one tensor to the next (`passes.handed_over`), and may
go to a result from an operand that dies in the same kernel. A symbolic size takes its upper bound
where the function states the bounds of all its symbols; a size that only the run tells is ``none``,
and the kernel brings its memory.

Each memory dies on each path where nobody reads it any more, through whatever alias
(`analysis.owners`): after a binding, or at the start of an arm that does not want it. What an arm
yields is its own to hand over, or is shared, ``vm.share``, where others have it too. What the
function returns is not given back. Memory that a donated parameter brought is taken like a
storage, ``vm.take_storage``, or given back when it dies. A value that is *counted*
(`analysis.counted`) has memory of its own, and code generation says when it goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final, final

from reference_vm.analysis.aliases import aliases
from reference_vm.analysis.counted import called, counted
from reference_vm.analysis.intervals import ranges
from reference_vm.analysis.owners import owners
from reference_vm.analysis.recursion import CLOSURE
from reference_vm.ir.nodes import Binding, Call, Function, Module
from reference_vm.ir.rewrite import walk
from reference_vm.passes.context import PassContext, Property
from reference_vm.passes.handed_over import HandedOver
from reference_vm.passes.memory_plan import InPlace, Plan, Work
from reference_vm.passes.packed import pack_static
from reference_vm.passes.plan_writer import written
from reference_vm.types import VirtualDevice

_ALIGNMENT: Final = 64
"""Bytes, where the target of a device does not say."""


@final
@dataclass(frozen=True)
class PlanMemory:
    """``plan-memory``: make storage explicit."""

    name: ClassVar[str] = "plan-memory"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.PRIMITIVE, Property.LIFTED})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.PLANNED})

    poison: bool = False
    """Whether deaths are said with ``vm.poison``, so that checked runs see a tensor read after."""

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` with planned functions; primitive ones stay as they are."""
        owning = called(module)
        return module.with_functions(
            [self._function(f, module, ctx, f.name in owning) for f in module.functions]
        )

    def _function(
        self, function: Function, module: Module, ctx: PassContext, is_called: bool
    ) -> Function:
        if function.is_primitive or any(map(_is_planned, walk(function.body))):
            return function
        shared = aliases(function, module, ctx.ops)
        owned = owners(function, ctx.ops, counted(function, module, shared, is_called))
        plan = Plan(owned)
        work = Work(module, ctx.ops, ranges(function.bounds), _least(function), _in_place(ctx))
        pack_static(function.body, plan, work)
        HandedOver(plan, work).block(function.body)
        return written(function, plan, work, partial(_alignment, ctx), self.poison)


def _least(function: Function) -> dict[str, int]:
    return {b.symbol: b.lower for b in function.bounds}


def _in_place(ctx: PassContext) -> InPlace:
    """Return what says which results a kernel may write over its operands."""
    known: dict[tuple[str, str], frozenset[tuple[int, int]]] = {}

    def pairs(kernel: Function, kind: str) -> frozenset[tuple[int, int]]:
        key = (kernel.name, kind)
        if key not in known:
            traits = ctx.targets.get(kind)
            known[key] = traits.in_place(kernel) if traits else frozenset()
        return known[key]

    return pairs


def _alignment(ctx: PassContext, vdevice: VirtualDevice) -> int:
    traits = ctx.targets.get(vdevice.device.kind) if vdevice.device else None
    return traits.alignment() if traits else _ALIGNMENT


def _is_planned(binding: Binding) -> bool:
    value = binding.value
    return isinstance(value, Call) and value.op.startswith("vm.") and value.op != CLOSURE
