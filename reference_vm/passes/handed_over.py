"""Storages that go from one tensor to the next: the plan where sizes are known only in a run.

What dies may be taken by the next binding that needs memory on the same device and in the same
scope, if it fits: its size is equal, or certainly as large and not much larger. A result that a
kernel may write over an operand that dies there takes the operand's. Whatever is not taken by that
next binding is given back where it died, so at no moment is more reserved than lives: how large
things are in a run decides nothing. A branch takes nothing from before it and leaves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, final

from reference_vm.analysis.dominance import at_least
from reference_vm.analysis.owners import START, Owner, Place
from reference_vm.ir.nodes import Binding, Block, blocks
from reference_vm.passes.memory_plan import Plan, Slot, Storage, Work
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
    free: list[tuple[Storage, Place]] = field(default_factory=list)
    """What died since memory was last taken, and where."""

    gone: set[tuple[Owner, Place]] = field(default_factory=set)
    """Whose storage was taken while it died, and where."""

    def block(self, block: Block) -> None:
        """Plan a block and those inside it."""
        number = self.plan.owners.numbers[id(block)]
        self._bury((number, START))
        for position, binding in enumerate(block.bindings()):
            place = (number, position)
            if blocks(binding.value):
                self._give_back()
                for inner in blocks(binding.value):
                    self.block(inner)
            elif self.work.makes_memory(binding):
                self._place(binding, place)
                self._give_back()
            self._bury(place)
        self._give_back()

    def _bury(self, place: Place) -> None:
        """Free what dies at a place."""
        for owner in self.plan.owners.deaths.get(place, ()):
            slot = self.plan.slots.get(owner)
            if owner in self.plan.inside or (owner, place) in self.gone:
                continue
            if slot is None:
                self.plan.kills[place].append(owner)
            elif owner in self.plan.owners.divided:
                self.plan.kills[place].append(slot.storage)
            else:
                self.free.append((slot.storage, place))

    def _give_back(self) -> None:
        for storage, place in self.free:
            self.plan.kills[place].append(storage)
        self.free.clear()

    def _place(self, binding: Binding, place: Place) -> None:
        for owner, type_, size in self.work.results(binding):
            if owner in self.plan.slots or type_.vdevice is None:
                continue
            storage = self._overwritten(binding, owner, size, place)
            storage = storage or self._taken(size, type_.vdevice)
            storage = storage or self.plan.storage(size, type_.vdevice, place)
            self.plan.slots[owner] = Slot(storage)

    def _overwritten(
        self, binding: Binding, owner: Owner, size: Dim, place: Place
    ) -> Storage | None:
        """Return the storage of an operand that dies here and may be written over."""
        dying = self.plan.owners.deaths.get(place, ())
        for other in self.work.overwritten(binding, self.plan.owners, owner[1]):
            slot = self.plan.slots.get(other)
            if slot is None or other not in dying or self._is_kept(other, place):
                continue
            if self._holds(slot.storage, size):
                self.gone.add((other, place))
                return slot.storage
        return None

    def _is_kept(self, owner: Owner, place: Place) -> bool:
        """Whether the storage of an owner is not its alone to hand over."""
        kept = owner in self.plan.inside or owner in self.plan.owners.divided
        return kept or (owner, place) in self.gone

    def _holds(self, storage: Storage, size: Dim) -> bool:
        return at_least(storage.size, size, self.work.lower)

    def _taken(self, size: Dim, vdevice: VirtualDevice) -> Storage | None:
        """Return a storage that died before, and free it no more: one of equal size if there is."""
        fitting = [
            entry
            for entry in self.free
            if entry[0].vdevice == vdevice and self._fits(entry[0].size, size)
        ]
        if not fitting:
            return None
        entry = next((e for e in fitting if e[0].size == size), fitting[0])
        self.free.remove(entry)
        return entry[0]

    def _fits(self, large: Dim, size: Dim) -> bool:
        if large == size:
            return True
        lower = self.work.lower
        most = multiply(size, _SLACK + 1) + _SLACK * _LINE
        return at_least(large, size, lower) and at_least(most, multiply(large, _SLACK), lower)


__all__ = ["HandedOver"]
