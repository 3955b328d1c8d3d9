"""Storages that go from one tensor to the next: the plan where sizes are known only in a run.

What dies may be taken by the next binding that needs memory on the same device and in the same
scope, if it fits: its size is equal, or certainly as large and not much larger. A result that a
kernel may write over an operand that dies there takes the operand's. Whatever is not taken by that
next binding is given back where it died, so at no moment is more reserved than lives: how large
things are in a run decides nothing. A branch takes nothing from before it and leaves nothing. What
a donated parameter was given may be taken like a storage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, final

from reference_vm.analysis.dominance import at_least
from reference_vm.analysis.owners import START, Owner, Place
from reference_vm.ir.nodes import Binding, Block, blocks
from reference_vm.passes.memory_plan import Dead, Plan, Slot, Storage, Work, leaf_type
from reference_vm.types import Dim, VirtualDevice
from reference_vm.types.dim import multiply

_SLACK: Final = 16
"""A storage is taken that is larger by at most one part in so many, or by so many lines of
`_LINE` bytes."""

_LINE: Final = 64


@final
@dataclass
class HandedOver:
    """Walks the blocks of a function in program order, and completes its plan."""

    plan: Plan
    work: Work
    free: list[tuple[Dead, Place]] = field(default_factory=list)
    """What died since memory was last taken, and where; of owners only those that were given."""

    gone: set[tuple[Owner, Place]] = field(default_factory=set)
    """Whose storage was taken while it died, and where."""

    def block(self, block: Block) -> None:
        """Plan a block and those inside it."""
        number = self.plan.owners.numbers[id(block)]
        self._bury((number, START), ())
        for position, binding in enumerate(block.bindings()):
            place = (number, position)
            if blocks(binding.value):
                self._give_back()
                for inner in blocks(binding.value):
                    self.block(inner)
            elif self.work.makes_memory(binding):
                self._place(binding, place)
                self._give_back()
            self._bury(place, [self.plan.slots.get(o) for o, _, _ in self.work.results(binding)])
        self._give_back()

    def _bury(self, place: Place, made: Sequence[Slot | None]) -> None:
        """Free what dies at a place, where tensors are ``made``."""
        divided, given = self.plan.owners.divided, self.plan.owners.given
        for owner in self.plan.owners.deaths.get(place, ()):
            slot = self.plan.slots.get(owner)
            if slot is not None and slot not in made and owner not in divided:
                self.plan.dead[place].append(owner)
            if owner in self.plan.inside or (owner, place) in self.gone:
                continue
            if slot is None and (owner not in given or owner in divided):
                self.plan.kills[place].append(owner)
            elif slot is None:
                self.free.append((owner, place))
            elif owner in divided:
                self.plan.kills[place].append(slot.storage)
            else:
                self.free.append((slot.storage, place))

    def _give_back(self) -> None:
        for dead, place in self.free:
            self.plan.kills[place].append(dead)
        self.free.clear()

    def _place(self, binding: Binding, place: Place) -> None:
        for owner, type_, size in self.work.results(binding):
            if owner in self.plan.slots or type_.vdevice is None:
                continue
            storage = self._overwritten(binding, owner, size, place)
            storage = storage or self._taken(size, type_.vdevice, place)
            storage = storage or self.plan.storage(size, type_.vdevice, place)
            self.plan.slots[owner] = Slot(storage)

    def _overwritten(
        self, binding: Binding, owner: Owner, size: Dim, place: Place
    ) -> Storage | None:
        """Return the storage of an operand that dies here and may be written over."""
        dying = self.plan.owners.deaths.get(place, ())
        for other in self.work.overwritten(binding, self.plan.owners, owner[1]):
            slot = self.plan.slots.get(other)
            if other not in dying or self._is_kept(other, place):
                continue
            if slot is None and other in self.plan.owners.given:
                self.gone.add((other, place))
                return self._given(other, size, place)
            if slot is not None and self._holds(slot.storage, size):
                self.gone.add((other, place))
                return slot.storage
        return None

    def _given(self, owner: Owner, size: Dim, place: Place) -> Storage:
        """Return the memory of a donated parameter as a storage."""
        vdevice = leaf_type(owner).vdevice
        assert vdevice is not None
        storage = self.plan.storage(size, vdevice, place)
        self.plan.donors[storage] = owner
        return storage

    def _is_kept(self, owner: Owner, place: Place) -> bool:
        """Whether the storage of an owner is not its alone to hand over."""
        kept = owner in self.plan.inside or owner in self.plan.owners.divided
        return kept or (owner, place) in self.gone

    def _holds(self, storage: Storage, size: Dim) -> bool:
        return at_least(storage.size, size, self.work.lower)

    def _taken(self, size: Dim, vdevice: VirtualDevice, place: Place) -> Storage | None:
        """Return a storage that died before, and free it no more: one of equal size if there is."""
        fitting = [
            (known != size, at)
            for at, (dead, _) in enumerate(self.free)
            for known, where in (self._extent(dead),)
            if known is not None and where == vdevice and self._fits(known, size)
        ]
        if not fitting:
            return None
        dead, _ = self.free.pop(min(fitting)[1])
        return dead if isinstance(dead, Storage) else self._given(dead, size, place)

    def _extent(self, dead: Dead) -> tuple[Dim | None, VirtualDevice | None]:
        """Return how many bytes there are of what died, and where."""
        if isinstance(dead, Storage):
            return dead.size, dead.vdevice
        type_ = leaf_type(dead)
        return self.work.size(type_), type_.vdevice

    def _fits(self, large: Dim, size: Dim) -> bool:
        if large == size:
            return True
        lower = self.work.lower
        most = multiply(size, _SLACK + 1) + _SLACK * _LINE
        return at_least(large, size, lower) and at_least(most, multiply(large, _SLACK), lower)


__all__ = ["HandedOver"]
