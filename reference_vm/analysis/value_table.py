"""The values and operations of a function while they are found, and what is asked of them after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from reference_vm.analysis.cells import Cells
from reference_vm.analysis.data_types import direct_leaves
from reference_vm.analysis.values import (
    FunctionCall,
    FunctionName,
    Means,
    Operation,
    Origin,
    Read,
    Use,
    Value,
)
from reference_vm.diagnostics import Diagnostic, catalog
from reference_vm.ir.nodes import Binding, Function, Operand, Project, Var
from reference_vm.types import TensorType, TupleType, Type, VirtualDevice, tensors


class ValueTable:
    """What data a function has; `FunctionValues` fills it in."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.values: list[Value] = []
        self.operations: list[Operation] = []
        self.cells = Cells()
        self.calls: list[FunctionCall] = []
        self.names: list[FunctionName] = []
        self.indices: dict[Var, tuple[int, ...]] = {}
        """The values of each variable's leaves, in their order; those in data types and in
        functions included."""

        self.other_reads: list[Read] = []
        """All that no operation reads: conditions, moves, stores, arguments, results."""

        self.problems: list[Diagnostic] = []
        self._reads_of = self.reads_of

    # What is known of them.

    def values_of(self, var: Var) -> tuple[Value, ...]:
        """Return the values of ``var``'s leaves, in order."""
        return tuple(self.values[v] for v in self.indices[var])

    def reads_of(self, value: int) -> Sequence[Read]:
        """Return who reads ``value``: operations first, each kind in program order."""
        return self._reads.get(value, ())

    @cached_property
    def _reads(self) -> dict[int, list[Read]]:
        found: dict[int, list[Read]] = {}
        for operation in self.operations:
            for read in operation.reads:
                found.setdefault(read.value, []).append(read)
        for read in self.other_reads:
            found.setdefault(read.value, []).append(read)
        return found

    def projected(self, project: Project) -> tuple[int, ...]:
        """Return the values of the item that ``project`` takes."""
        type_ = project.tuple.type
        assert isinstance(type_, TupleType)
        whole = self.indices[project.tuple]
        start = sum(1 for item in type_.items[: project.index] for _ in tensors(item))
        count = sum(1 for _ in tensors(type_.items[project.index]))
        return whole[start : start + count]

    def tensor(self, operand: Operand) -> tuple[int, ...]:
        """Return the values of an operand, none for one left out."""
        return self.indices.get(operand, ()) if isinstance(operand, Var) else ()

    # Making them.

    def new_value(
        self,
        origin: Origin,
        type_: TensorType,
        var: Var,
        pin: VirtualDevice | None,
        operation: int | None = None,
    ) -> Value:
        """Add a value, which is a cell if its origin says so."""
        value = Value(len(self.values), origin, type_, var, self._reads_of, pin, operation)
        self.values.append(value)
        if origin is Origin.CELL:
            self.cells.add(value.index)
        return value

    def new_cell(self, type_: TensorType, var: Var, pin: VirtualDevice | None) -> int:
        """Add a cell, and return its index."""
        return self.new_value(Origin.CELL, type_, var, pin).index

    def pin(self, binding: Binding, leaf: TensorType) -> VirtualDevice | None:
        """Return where the suffix or the type of ``binding`` says that ``leaf`` lives."""
        typed, suffix = leaf.vdevice, binding.request
        if typed is not None and suffix is not None and typed != suffix:
            span = binding.value.span or binding.var.span
            name = binding.var.name
            self.problems.append(
                catalog.contradicting_placement(name, typed.role, suffix.role, span)
            )
        return typed or suffix

    def read(self, value: int, use: Use, binding: Binding | None, **more: Any) -> None:
        """Note a read by no operation; ``more`` are the other fields of a `Read`."""
        self.other_reads.append(Read(value, use, binding, **more))

    def pin_cell(self, cell: int, pin: VirtualDevice | None) -> None:
        """Say that a cell lives on ``pin``."""
        if pin is None:
            return
        value = self.values[cell]
        self.cells.unite(cell, self.new_cell(value.type, value.var, pin))

    def store(self, value: int, cell: int, binding: Binding) -> None:
        """Note that ``value`` is put into ``cell``, for which it may have to be copied."""
        self.cells.stored.append((value, cell))
        self.read(value, Use.STORE, binding, place=cell)

    def put(self, value: int, cell: int, direct: bool, binding: Binding) -> None:
        """Let ``value`` be one of what ``cell`` holds."""
        if direct:
            self.store(value, cell, binding)
        else:
            self.cells.unite(value, cell)

    def made(self, operation: Operation) -> tuple[int, ...]:
        """Add ``operation``, and return the values that it makes."""
        self.operations.append(operation)
        var, index = operation.binding.var, operation.index
        type_ = var.type
        if type(type_) is TensorType:
            pin = type_.vdevice
            if pin is not None:
                self.pin(operation.binding, type_)
            number = len(self.values)
            value = Value(number, Origin.OPERATION, type_, var, self._reads_of, pin, index)
            self.values.append(value)
            operation.results = (number,)
            return operation.results
        made = []
        for leaf, direct in leaves_in(type_):
            pin = leaf.vdevice
            self.pin(operation.binding, leaf)
            origin = Origin.OPERATION if direct else Origin.CELL
            made.append(self.new_value(origin, leaf, var, pin, index if direct else None).index)
        operation.results = tuple(v for v in made if self.values[v].origin is Origin.OPERATION)
        return tuple(made)

    def shared(self, binding: Binding, sources: Sequence[int]) -> tuple[int, ...]:
        """Return the values of a variable that holds other variables' leaves."""
        pairs = zip(leaves_in(binding.var.type), sources, strict=True)
        return tuple(self.pinned(binding, leaf, v, direct) for (leaf, direct), v in pairs)

    def pinned(self, binding: Binding, leaf: TensorType, source: int, direct: bool) -> int:
        """Return ``source``, or a value moved from it if ``leaf`` lives elsewhere."""
        pin = self.pin(binding, leaf)
        if pin is None or pin == self.values[source].pin:
            return source
        if direct:
            return self.moved(binding, leaf, source, pin, Means.PIN)
        self.pin_cell(source, pin)
        return source

    def moved(
        self, binding: Binding, leaf: TensorType, source: int, pin: VirtualDevice, means: Means
    ) -> int:
        """Add the value that ``source`` is, seen on ``pin``."""
        value = self.new_value(Origin.MOVED, leaf, binding.var, pin)
        value.source, value.means = source, means
        self.read(source, Use.MOVE, binding, device=pin, means=means)
        return value.index


def leaves_in(type_: Type | None) -> Iterable[tuple[TensorType, bool]]:
    """Return the tensors in ``type_``, each with whether only tuples are around it."""
    if type(type_) is TensorType:
        return ((type_, True),)
    assert type_ is not None, "a variable has no type: run infer-types first"
    return zip(tensors(type_), direct_leaves(type_), strict=True)


__all__ = ["ValueTable", "leaves_in"]
