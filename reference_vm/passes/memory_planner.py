"""Decides where each tensor of a function lies: the thinking behind ``plan-memory``.

A class of tensors (`analysis.aliases`) whose sizes are all known in its home block is *simple*: it
lives in storages of that block, also where an arm of a branch makes it, and they go back to the
pool when it dies. Any other memory serves one class only. What comes from elsewhere (a called
function, a kernel that brings its own memory) is given back by a name that the home block has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, final

from reference_vm.analysis.aliases import Aliases, Leaf
from reference_vm.analysis.intervals import Interval, interval
from reference_vm.analysis.liveness import Liveness, Place
from reference_vm.ir.nodes import Binding, Block, Call, GlobalRef, Invoke, Module, Var, blocks
from reference_vm.ops.definition import OpDef, Trait
from reference_vm.passes.storage_pool import Storage, StoragePool
from reference_vm.types import Dim, TensorType, VirtualDevice, leaves
from reference_vm.types.dim import multiply, product, symbols

Slot: TypeAlias = "Storage | None"
"""Where a result lies; ``None``: in memory that the kernel brings."""


@final
@dataclass(frozen=True)
class Work:
    """What bindings allocate."""

    module: Module
    ops: Mapping[str, OpDef]
    known: Mapping[str, Interval]
    symbols: frozenset[str]
    """Those that are known throughout the function."""

    def is_kernel(self, binding: Binding) -> bool:
        """Whether a binding is a call of a primitive function."""
        value = binding.value
        if not isinstance(value, Invoke) or not isinstance(value.callee, GlobalRef):
            return False
        return self.module.by_name[value.callee.name].attrs.get("primitive") is True

    def is_copy(self, binding: Binding) -> bool:
        return isinstance(binding.value, Call) and binding.value.op == "device_copy"

    def makes_storage(self, binding: Binding) -> bool:
        return self.is_kernel(binding) or self.is_copy(binding)

    def makes_memory(self, binding: Binding) -> bool:
        """Whether a binding's tensors are new memory, placed by the planner or not."""
        value = binding.value
        if isinstance(value, Invoke):
            return True
        if not isinstance(value, Call) or value.op not in self.ops:
            return False
        return Trait.VIEW not in self.ops[value.op].traits

    def size(self, type_: TensorType) -> Dim | None:
        """Return the bytes to reserve; ``None`` if only the run tells them."""
        if not type_.is_sized or type_.shape is None or type_.vdevice is None:
            return None
        exact = multiply(product(type_.shape), type_.dtype.itemsize)
        between = interval(exact, self.known)
        return exact if between is None else max(0, between[1])


@final
@dataclass(frozen=True, slots=True)
class Owner:
    """A tensor that is new memory."""

    var: Var
    index: int
    """Which leaf of ``var``."""

    block: int
    size: Dim | None
    """``None`` when the planner does not place it."""


Owners: TypeAlias = "dict[Leaf, list[Owner]]"


@final
@dataclass
class Memories:
    """Where the memory of each class comes from, and who can name it."""

    owners: dict[Leaf, list[Owner]] = field(default_factory=dict)
    handles: dict[Leaf, list[Owner]] = field(default_factory=dict)
    """Results of work and of branches: what memory from elsewhere can be given back by."""


def memories(body: Block, found: Aliases, lives: Liveness, work: Work) -> Memories:
    """Return what is known of each class."""
    result = Memories()
    stack = [body]
    while stack:
        block = stack.pop()
        number = lives.numbers[id(block)]
        for binding in block.bindings():
            inner = blocks(binding.value)
            stack.extend(inner)
            makes = work.makes_memory(binding)
            if binding.var.type is None or not (makes or inner):
                continue
            placed = work.makes_storage(binding)
            classes = found.classes(binding.var)
            for i, type_ in enumerate(leaves(binding.var.type)):
                size = work.size(type_) if placed else None
                owner = Owner(binding.var, i, number, size)
                if makes:
                    result.owners.setdefault(classes[i], []).append(owner)
                if size is None:
                    result.handles.setdefault(classes[i], []).append(owner)
    return result


@final
@dataclass
class Planner:
    """Gives every tensor its storage, block by block, in program order."""

    found: Aliases
    lives: Liveness
    work: Work
    memories: Memories
    pool: StoragePool = field(default_factory=StoragePool)
    slots: dict[tuple[Var, int], Slot] = field(default_factory=dict)
    """Where each leaf of a kernel's or copy's result lies."""

    allocations: dict[Place, list[Storage]] = field(default_factory=dict)
    """What is allocated before each binding."""

    position: dict[int, int] = field(default_factory=dict)
    """Where the planner stands in each block around."""

    ending: Mapping[int, Mapping[int, Sequence[Leaf]]] = field(init=False)
    """The classes that end at each position of each block."""

    held: dict[Leaf, list[Storage]] = field(default_factory=dict)
    killed: dict[Place, list[tuple[Var, int]]] = field(default_factory=dict)
    """Leaves whose own memory is given back after each binding."""

    def __post_init__(self) -> None:
        ending: dict[int, dict[int, list[Leaf]]] = {}
        for leaf, (number, position) in sorted(self.lives.end.items()):
            if leaf not in self.lives.immortal:
                ending.setdefault(number, {}).setdefault(position, []).append(leaf)
        self.ending = ending

    def block(self, block: Block) -> None:
        """Plan a block and those inside it."""
        number = self.lives.numbers[id(block)]
        ending = self.ending.get(number, {})
        for position, binding in enumerate(block.bindings()):
            self.position[number] = position
            for inner in blocks(binding.value):
                self.block(inner)
            if self.work.makes_storage(binding):
                self._place(binding, number, position)
            for leaf in ending.get(position, ()):
                self._release(leaf, (number, position))
        self.pool.leave(number)

    def _is_simple(self, leaf: Leaf) -> bool:
        """Whether a class lives only in storages of its home block, to be used again."""
        if leaf in self.lives.immortal:
            return False
        home = self.lives.home[leaf]
        return all(
            o.size is not None and (o.block == home or symbols(o.size) <= self.work.symbols)
            for o in self.memories.owners.get(leaf, ())
        )

    def _place(self, binding: Binding, number: int, position: int) -> None:
        assert binding.var.type is not None
        classes = self.found.classes(binding.var)
        for index, type_ in enumerate(leaves(binding.var.type)):
            size = self.work.size(type_)
            if size is None or type_.vdevice is None:
                self.slots[binding.var, index] = None
                continue
            storage = self._storage(classes[index], size, type_.vdevice, number, position)
            self.slots[binding.var, index] = storage

    def _storage(
        self, leaf: Leaf, size: Dim, vdevice: VirtualDevice, number: int, position: int
    ) -> Storage:
        known = len(self.pool.made)
        if self._is_simple(leaf):
            number = self.lives.home[leaf]
            position = self.position[number]
            storage = self.pool.take(size, vdevice, number, position)
        else:
            storage = self.pool.make(size, vdevice, number, position, shared=False)
            storage.kept = leaf in self.lives.immortal or self.lives.home[leaf] != number
        if len(self.pool.made) > known:
            self.allocations.setdefault((number, position), []).append(storage)
        self.held.setdefault(leaf, []).append(storage)
        return storage

    def _release(self, leaf: Leaf, place: Place) -> None:
        for storage in self.held.get(leaf, ()):
            storage.last = max(storage.last, self.position[storage.block])
            if storage.shared:
                self.pool.give_back(storage)
        if self._is_simple(leaf):
            return
        home = self.lives.home[leaf]
        for handle in self.memories.handles.get(leaf, ()):
            if handle.block == home:
                self.killed.setdefault(place, []).append((handle.var, handle.index))
