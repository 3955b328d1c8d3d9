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
function returns is not given back. A value that is *counted* (`analysis.counted`) has memory of its
own, and code generation says when it goes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, final

from reference_vm.analysis.aliases import aliases, leaf_count
from reference_vm.analysis.counted import called, counted
from reference_vm.analysis.intervals import ranges
from reference_vm.analysis.owners import START, Owner, Place, owners
from reference_vm.analysis.recursion import CLOSURE
from reference_vm.ir.nodes import (
    Binding,
    Block,
    Call,
    Function,
    Invoke,
    Module,
    Operand,
    Project,
    Var,
    blocks,
    with_blocks,
)
from reference_vm.ir.rewrite import walk
from reference_vm.passes.context import PassContext, Property
from reference_vm.passes.handed_over import HandedOver
from reference_vm.passes.memory_plan import InPlace, Plan, Storage, Work
from reference_vm.passes.packed import pack_static
from reference_vm.types import Attrs, TensorType, TupleType, VirtualDevice
from reference_vm.types.dim import Unknown
from reference_vm.types.dtype import U8

_ALIGNMENT: Final = 64
"""Bytes, where the target of a device does not say."""

_NOTHING: Final = TupleType(())


@final
@dataclass(frozen=True)
class PlanMemory:
    """``plan-memory``: make storage explicit."""

    name: ClassVar[str] = "plan-memory"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.PRIMITIVE, Property.LIFTED})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.PLANNED})

    def run(self, module: Module, ctx: PassContext) -> Module:
        """Return ``module`` with planned functions; primitive ones stay as they are."""
        owning = called(module)
        return module.with_functions(
            [self._function(f, module, ctx, f.name in owning) for f in module.functions]
        )

    def _function(
        self, function: Function, module: Module, ctx: PassContext, is_called: bool
    ) -> Function:
        if function.attrs.get("primitive") is True or any(map(_is_planned, walk(function.body))):
            return function
        shared = aliases(function, module, ctx.ops)
        owned = owners(function, ctx.ops, counted(function, module, shared, is_called))
        plan = Plan(owned)
        work = Work(module, ctx.ops, ranges(function.bounds), _least(function), _in_place(ctx))
        pack_static(function.body, plan, work)
        HandedOver(plan, work).block(function.body)
        return replace(function, body=_Writer(plan, work, ctx).block(function.body))


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


def _is_planned(binding: Binding) -> bool:
    value = binding.value
    return isinstance(value, Call) and value.op.startswith("vm.") and value.op != CLOSURE


@final
@dataclass
class _Writer:
    """Writes a plan into the function it was made for."""

    plan: Plan
    work: Work
    ctx: PassContext
    storages: dict[Storage, Var] = field(default_factory=dict)

    def block(self, block: Block) -> Block:
        number = self.plan.owners.numbers[id(block)]
        statements = list(self._kill((number, START)))
        for position, binding in enumerate(block.bindings()):
            place = (number, position)
            statements.extend(map(self._allocate, self.plan.allocations.get(place, ())))
            statements.append(self._binding(binding))
            statements.extend(self._kill(place))
        return Block(tuple(statements), block.result)

    def _allocate(self, storage: Storage) -> Binding:
        assert not isinstance(storage.size, Unknown)
        type_ = TensorType(U8, (storage.size,), storage.vdevice)
        var = self.storages[storage] = Var(f"st{len(self.storages)}", type_)
        attrs = Attrs(size=storage.size, alignment=self._alignment(storage.vdevice))
        return Binding(var, Call("vm.alloc_storage", (), attrs))

    def _alignment(self, vdevice: VirtualDevice) -> int:
        traits = self.ctx.targets.get(vdevice.device.kind) if vdevice.device else None
        return traits.alignment() if traits else _ALIGNMENT

    def _binding(self, binding: Binding) -> Binding:
        value = binding.value
        inner = blocks(value)
        if inner:
            arms = [self._shared(binding.var, b, self.block(b)) for b in inner]
            return replace(binding, value=with_blocks(value, arms))
        if isinstance(value, Invoke) and self.work.kernel(binding) is not None:
            return replace(binding, value=self._invoke(binding.var, value))
        if isinstance(value, Call) and self.work.is_placed(binding):
            return replace(binding, value=self._copy(binding.var, value))
        return binding

    def _shared(self, var: Var, arm: Block, written: Block) -> Block:
        """Return an arm that ends in sharing what it hands to ``var`` and others have too."""
        number = self.plan.owners.numbers[id(arm)]
        leaves_ = [
            i for i in self.plan.owners.shared.get(number, ()) if (var, i) not in self.plan.inside
        ]
        statements = [*written.statements, *_naming("share", [(arm.result, i) for i in leaves_])]
        return Block(tuple(statements), written.result)

    def _places(self, var: Var) -> tuple[list[Operand], tuple[int | None, ...]]:
        """Return the storage of each leaf and the offset in it."""
        slots = [self.plan.slots.get((var, i)) for i in range(leaf_count(var.type))]
        operands: list[Operand] = [None if s is None else self.storages[s.storage] for s in slots]
        return operands, tuple(None if s is None else s.offset for s in slots)

    def _invoke(self, var: Var, value: Invoke) -> Call:
        storages, offsets = self._places(var)
        attrs = value.attrs.with_(outputs=len(storages), offsets=offsets)
        args = (value.callee, *value.args, *storages)
        return Call("vm.invoke", args, attrs, value.span)

    def _copy(self, var: Var, value: Call) -> Call:
        storages, (offset,) = self._places(var)
        return Call(
            "vm.copy", (*value.args, *storages), value.attrs.with_(offset=offset), value.span
        )

    def _kill(self, place: Place) -> Iterator[Binding]:
        """Yield what gives memory back at a place."""
        dead = self.plan.kills.get(place, ())
        storages = [self.storages[d] for d in dead if isinstance(d, Storage)]
        yield from _naming("kill", [d for d in dead if not isinstance(d, Storage)], storages)


def _naming(what: str, owners: Sequence[Owner], others: Sequence[Var] = ()) -> Iterator[Binding]:
    """Yield ``vm.kill`` or ``vm.share`` of tensors: by their variable, or by items of it."""
    named = list(others)
    whole = Counter(var for var, _ in owners)
    for var, index in owners:
        if whole[var] == leaf_count(var.type):
            if var not in named:
                named.append(var)
            continue
        for binding in _projections(var, index):
            yield binding
            last = binding.var
        named.append(last)
    if named:
        yield Binding(Var(what, _NOTHING), Call(f"vm.{what}", tuple(named)))


def _projections(var: Var, index: int) -> Iterator[Binding]:
    """Yield the bindings that lead to a leaf of a tuple; the last one names it."""
    while isinstance(var.type, TupleType):
        for place, item in enumerate(var.type.items):
            count = leaf_count(item)
            if index < count:
                inner = Var(f"{var.name}.{place}", item)
                yield Binding(inner, Project(var, place))
                var = inner
                break
            index -= count
