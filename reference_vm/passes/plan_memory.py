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

A storage is used by one tensor after the other, on one device and in one scope, as long as none of
them can still be read, through whatever alias, on any path. What the function returns has storages
of its own. A symbolic size takes its upper bound where the function states the bounds of all its
symbols, and otherwise fits equal sizes only; a size that only the run tells is ``none``, and the
kernel brings its memory. A storage made in an arm of a branch stays in that arm; what an arm hands
out lies in a storage made before the branch. Memory that shares a name, by way of a branch, with an
argument or the function's result is left to the run's end. A value that is *counted*
(`analysis.counted`) has memory of its own: code generation says when it goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, final

from reference_vm.analysis.aliases import aliases, leaf_count
from reference_vm.analysis.counted import called, counted, counted_leaves
from reference_vm.analysis.intervals import ranges
from reference_vm.analysis.liveness import Place, liveness
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
from reference_vm.passes.memory_planner import Planner, Work, memories
from reference_vm.passes.storage_pool import Storage, storage_var
from reference_vm.types import Attrs, TupleType, VirtualDevice, leaves
from reference_vm.types.dim import Unknown, symbols

_ALIGNMENT: Final = 64
"""Bytes, where the target of a device does not say."""

_NOTHING: Final = TupleType(())


@final
@dataclass(frozen=True)
class PlanMemory:
    """``plan-memory``: make storage explicit."""

    name: ClassVar[str] = "plan-memory"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.PRIMITIVE})
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
        found = aliases(function, module, ctx.ops)
        lives = liveness(function, found)
        variables = counted(function, module, found, is_called)
        lives.immortal.update(counted_leaves(variables, found))
        work = Work(module, ctx.ops, ranges(function.bounds), _symbols(function))
        planner = Planner(found, lives, work, memories(function.body, found, lives, work))
        planner.block(function.body)
        return replace(function, body=_Writer(planner, ctx).block(function.body))


def _symbols(function: Function) -> frozenset[str]:
    """Return the symbols that the parameters bind."""
    types = [leaf for p in function.params if p.type is not None for leaf in leaves(p.type)]
    return frozenset(s for t in types for dim in t.shape or () for s in symbols(dim))


def _is_planned(binding: Binding) -> bool:
    return isinstance(binding.value, Call) and binding.value.op.startswith("vm.")


@final
@dataclass
class _Writer:
    """Writes a plan into the function it was made for."""

    planner: Planner
    ctx: PassContext
    storages: dict[Storage, Var] = field(default_factory=dict)
    dying: dict[Place, list[Storage]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for storage in self.planner.pool.made:
            if not storage.kept:
                self.dying.setdefault((storage.block, storage.last), []).append(storage)

    def block(self, block: Block) -> Block:
        number = self.planner.lives.numbers[id(block)]
        statements: list[Binding] = []
        for position, binding in enumerate(block.bindings()):
            place = (number, position)
            statements.extend(map(self._allocate, self.planner.allocations.get(place, ())))
            statements.append(self._binding(binding))
            statements.extend(self._kill(place))
        return Block(tuple(statements), block.result)

    def _allocate(self, storage: Storage) -> Binding:
        var = self.storages[storage] = storage_var(storage, f"st{storage.number}")
        assert not isinstance(storage.size, Unknown)
        attrs = Attrs(size=storage.size, alignment=self._alignment(storage.vdevice))
        return Binding(var, Call("vm.alloc_storage", (), attrs))

    def _alignment(self, vdevice: VirtualDevice) -> int:
        traits = self.ctx.targets.get(vdevice.device.kind) if vdevice.device else None
        return traits.alignment() if traits else _ALIGNMENT

    def _binding(self, binding: Binding) -> Binding:
        value, work = binding.value, self.planner.work
        inner = blocks(value)
        if inner:
            return replace(binding, value=with_blocks(value, [self.block(b) for b in inner]))
        if isinstance(value, Invoke) and work.is_kernel(binding):
            return replace(binding, value=self._invoke(binding.var, value))
        if isinstance(value, Call) and work.is_copy(binding):
            return replace(binding, value=self._copy(binding.var, value))
        return binding

    def _places(self, var: Var) -> tuple[list[Operand], tuple[int | None, ...]]:
        """Return the storage of each leaf and the offset in it."""
        slots = [self.planner.slots[var, i] for i in range(leaf_count(var.type))]
        operands: list[Operand] = [None if s is None else self.storages[s] for s in slots]
        return operands, tuple(None if s is None else 0 for s in slots)

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
        """Yield what gives memory back after a binding."""
        dead: list[Operand] = [self.storages[s] for s in self.dying.get(place, ())]
        handles = self.planner.killed.get(place, [])
        whole: dict[Var, int] = {}
        for var, _ in handles:
            whole[var] = whole.get(var, 0) + 1
        for var, index in handles:
            if whole[var] == leaf_count(var.type):
                if var not in dead:
                    dead.append(var)
                continue
            for binding in _projections(var, index):
                yield binding
                last = binding.var
            dead.append(last)
        if dead:
            yield Binding(Var("kill", _NOTHING), Call("vm.kill", tuple(dead)))


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
