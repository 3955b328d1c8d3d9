"""Storages of one function, and which of them are free at a point of its planning."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from reference_vm.ir.nodes import Var
from reference_vm.types import Dim, TensorType, VirtualDevice
from reference_vm.types.dtype import U8


@final
@dataclass(eq=False)
class Storage:
    """Memory that tensors lie in, one after the other."""

    size: Dim
    """Bytes. A number may still grow while the function is planned."""

    vdevice: VirtualDevice
    block: int
    """The number of the block that allocates it, and there kills it."""

    last: int
    """The last position in that block at which it was in use."""

    shared: bool
    """Whether other tensors may come after the first."""

    kept: bool = False
    """Whether it is handed out, so that no one kills it here."""

    number: int = 0

    @property
    def is_static(self) -> bool:
        return isinstance(self.size, int)


@final
@dataclass
class StoragePool:
    """Makes storages, and hands out free ones again."""

    made: list[Storage] = field(default_factory=list)
    _free: list[Storage] = field(default_factory=list)
    """Of the blocks around the one being planned; an inner block has the greater number."""

    def take(self, size: Dim, vdevice: VirtualDevice, block: int, position: int) -> Storage:
        """Return a storage of at least ``size`` bytes for ``block``: a free one, or a new one.

        A size that only the run tells fits an equal one. Of numbers, the least that is large
        enough is taken, else the greatest, which grows.
        """
        found = self._fitting(size, vdevice, block)
        if found is None:
            return self.make(size, vdevice, block, position, shared=True)
        self._free.remove(found)
        if isinstance(size, int) and isinstance(found.size, int):
            found.size = max(found.size, size)
        return found

    def _fitting(self, size: Dim, vdevice: VirtualDevice, block: int) -> Storage | None:
        here = [s for s in self._free if s.vdevice == vdevice and s.block <= block]
        if not isinstance(size, int):
            return next((s for s in here if s.size == size), None)
        numbers = [(s.size, s.number, s) for s in here if isinstance(s.size, int)]
        enough = [found for found in numbers if found[0] >= size]
        if enough:
            return min(enough, key=lambda found: found[:2])[2]
        return max(numbers, key=lambda found: found[:2])[2] if numbers else None

    def make(
        self, size: Dim, vdevice: VirtualDevice, block: int, position: int, *, shared: bool
    ) -> Storage:
        storage = Storage(size, vdevice, block, position, shared, number=len(self.made))
        self.made.append(storage)
        return storage

    def give_back(self, storage: Storage) -> None:
        """Let later tensors have a storage whose tensor has died."""
        self._free.append(storage)

    def leave(self, block: int) -> None:
        """Forget what a block allocated: after it, it can be named no more."""
        self._free = [s for s in self._free if s.block != block]


def storage_var(storage: Storage, name: str) -> Var:
    """Return the variable of a storage, once its size is settled."""
    return Var(name, TensorType(U8, (storage.size,), storage.vdevice))
