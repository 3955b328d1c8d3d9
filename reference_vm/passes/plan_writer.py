"""Writes a memory plan into the function it was made for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, final

from reference_vm.analysis.aliases import leaf_count
from reference_vm.analysis.owners import START, Owner, Place, owners
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
from reference_vm.ops.definition import OpDef
from reference_vm.passes.memory_plan import Plan, Storage, Work
from reference_vm.types import Attrs, TensorType, TupleType, VirtualDevice
from reference_vm.types.dim import Unknown
from reference_vm.types.dtype import U8

_NOTHING: Final = TupleType(())


def written(
    function: Function,
    plan: Plan,
    work: Work,
    alignment: Callable[[VirtualDevice], int],
    poison: bool = False,
) -> Function:
    """Return ``function`` with its plan.

    ``alignment`` says how storages on a device lie. With ``poison``, each tensor's death is said
    where its memory lives on, so that a checked run can make the tensor unreadable.
    """
    return replace(function, body=_Writer(plan, work, alignment, poison).block(function.body))


def with_deaths(
    function: Function, module: Module, ops: Mapping[str, OpDef], variables: Collection[Var]
) -> Function:
    """Return ``function`` with only this planned: where memory of each value's own is given back.

    Nothing is said of the counted ``variables``.
    """
    plan = Plan(owners(function, ops, frozenset(variables)))
    for place, dying in plan.owners.deaths.items():
        plan.kills[place].extend(dying)
    work = Work(module, ops, {}, {}, lambda kernel, kind: frozenset())
    return written(function, plan, work, lambda vdevice: 0)


@final
@dataclass
class _Writer:
    """Writes a plan into the function it was made for."""

    plan: Plan
    work: Work
    alignment: Callable[[VirtualDevice], int]
    poison: bool
    storages: dict[Storage, Var] = field(default_factory=dict)

    def block(self, block: Block) -> Block:
        number = self.plan.owners.numbers[id(block)]
        statements = [*self._poison((number, START)), *self._kill((number, START))]
        for position, binding in enumerate(block.bindings()):
            place = (number, position)
            statements.extend(map(self._allocate, self.plan.allocations.get(place, ())))
            statements.append(self._binding(binding))
            statements.extend(self._poison(place))
            statements.extend(self._kill(place))
        return Block(tuple(statements), block.result)

    def _allocate(self, storage: Storage) -> Binding:
        assert not isinstance(storage.size, Unknown)
        type_ = TensorType(U8, (storage.size,), storage.vdevice)
        var = self.storages[storage] = Var(f"st{len(self.storages)}", type_)
        attrs = Attrs(size=storage.size, alignment=self.alignment(storage.vdevice))
        donor = self.plan.donors.get(storage)
        if donor is None:
            return Binding(var, Call("vm.alloc_storage", (), attrs))
        return Binding(var, Call("vm.take_storage", (donor[0],), attrs))

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

    def _poison(self, place: Place) -> Iterator[Binding]:
        """Yield what says that tensors are read no more."""
        if self.poison:
            yield from _naming("poison", self.plan.dead.get(place, ()))

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


__all__ = ["with_deaths", "written"]
