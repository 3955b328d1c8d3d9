"""What ``plan-memory`` decides about a function, and what it may ask of the function's bindings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, Union, final

from reference_vm.analysis.intervals import Interval, interval
from reference_vm.analysis.owners import Owner, Owners, Place
from reference_vm.ir.nodes import Binding, Call, Function, GlobalRef, Invoke, Module, Var
from reference_vm.ops.definition import OpDef, Trait
from reference_vm.types import Dim, TensorType, VirtualDevice, leaves
from reference_vm.types.dim import multiply, product

InPlace: TypeAlias = "Callable[[Function, str], frozenset[tuple[int, int]]]"
"""Of a primitive function and a device kind: parameters, each with a result that may be written
over it while the kernel runs."""


@final
@dataclass(eq=False, slots=True)
class Storage:
    """Memory that tensors lie in, one after the other or side by side."""

    size: Dim
    vdevice: VirtualDevice
    number: int


@final
@dataclass(frozen=True, slots=True)
class Slot:
    """Where a tensor lies."""

    storage: Storage
    offset: int = 0


Result: TypeAlias = "tuple[Owner, TensorType, Dim]"
"""A tensor that a binding makes, its type, and how many bytes to reserve."""

Dead: TypeAlias = "Union[Storage, Owner]"
"""What is given back: by its storage, or by the name of a tensor that has memory of its own."""


@final
@dataclass
class Plan:
    """Where the tensors of a function lie."""

    owners: Owners
    slots: dict[Owner, Slot] = field(default_factory=dict)
    """Of each result of a kernel or copy that the plan places; others bring their memory."""

    allocations: dict[Place, list[Storage]] = field(default_factory=lambda: defaultdict(list))
    """What is allocated before each binding."""

    kills: dict[Place, list[Dead]] = field(default_factory=lambda: defaultdict(list))
    """What is given back after each binding, or at the start of a block."""

    donors: dict[Storage, Owner] = field(default_factory=dict)
    """The storages that are memory which the caller gave away."""

    dead: dict[Place, list[Owner]] = field(default_factory=lambda: defaultdict(list))
    """Whose tensor nobody reads after each binding, or from the start of a block on, though its
    memory may serve others."""

    inside: set[Owner] = field(default_factory=set)
    """Those that lie side by side with others in one storage, and are not given back alone."""

    made: int = 0

    def storage(self, size: Dim, vdevice: VirtualDevice, place: Place) -> Storage:
        """Return a new storage, allocated before the binding at ``place``."""
        storage = Storage(size, vdevice, self.made)
        self.made += 1
        self.allocations[place].append(storage)
        return storage


@final
@dataclass(frozen=True)
class Work:
    """What the bindings of a function do with memory."""

    module: Module
    ops: Mapping[str, OpDef]
    bounds: Mapping[str, Interval]
    """The least and greatest value of the symbols that have both."""

    lower: Mapping[str, int]
    """The least value of every symbol that has one."""

    in_place: InPlace
    _results: dict[Var, tuple[Result, ...]] = field(default_factory=dict)

    def kernel(self, binding: Binding) -> Function | None:
        """Return the primitive function that a binding calls."""
        value = binding.value
        if not isinstance(value, Invoke) or not isinstance(value.callee, GlobalRef):
            return None
        found = self.module.by_name[value.callee.function]
        return found if found.is_primitive else None

    def is_placed(self, binding: Binding) -> bool:
        """Whether a binding writes its results where a plan says."""
        is_copy = isinstance(binding.value, Call) and binding.value.op == "device_copy"
        return is_copy or self.kernel(binding) is not None

    def makes_memory(self, binding: Binding) -> bool:
        """Whether memory is taken while a binding runs."""
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
        between = interval(exact, self.bounds)
        return exact if between is None else max(0, between[1])

    def results(self, binding: Binding) -> Sequence[Result]:
        """Return each result of a placed binding whose size is known before it is computed."""
        known = self._results.get(binding.var)
        if known is None:
            known = self._results[binding.var] = tuple(self._sized(binding))
        return known

    def _sized(self, binding: Binding) -> Iterator[Result]:
        if not self.is_placed(binding) or binding.var.type is None:
            return
        for index, type_ in enumerate(leaves(binding.var.type)):
            size = self.size(type_)
            if size is not None:
                yield (binding.var, index), type_, size

    def overwritten(self, binding: Binding, owners: Owners, index: int) -> Iterator[Owner]:
        """Yield the owners of operands that result ``index`` may be written over.

        That they die there is for the caller to see.
        """
        kernel, value = self.kernel(binding), binding.value
        vdevice = tuple(leaves(binding.var.type))[index].vdevice if binding.var.type else None
        if kernel is None or not isinstance(value, Invoke) or vdevice is None:
            return
        if vdevice.device is None:
            return
        pairs = self.in_place(kernel, vdevice.device.kind)
        fitting = [i for i, result in sorted(pairs) if result == index]
        for place in fitting:
            owner = _owner(owners, value.args[place])
            others = (a for i, a in enumerate(value.args) if i not in fitting)
            if owner is not None and all(_owner(owners, a) != owner for a in others):
                yield owner


def leaf_type(owner: Owner) -> TensorType:
    """Return the type of an owner's tensor."""
    assert owner[0].type is not None
    return tuple(leaves(owner[0].type))[owner[1]]


def _owner(owners: Owners, operand: object) -> Owner | None:
    """Return the owner of an operand that is one tensor."""
    roots = owners.roots.get(operand, ()) if isinstance(operand, Var) else ()
    return roots[0] if len(roots) == 1 else None


__all__ = ["Dead", "InPlace", "Plan", "Slot", "Storage", "Work", "leaf_type"]
