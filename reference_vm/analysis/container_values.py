"""The values that data types and functions as values hold: cells, and what is put there.

Between two cells nothing is moved, so what flows from one to the other makes them one. A tensor is
put into a cell, and found there by a pattern or as the parameter of a closure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import final

from reference_vm.analysis.data_types import DataTypes, Declared, Slot, direct_leaves
from reference_vm.analysis.signature import OPEN, Signature
from reference_vm.analysis.value_table import ValueTable
from reference_vm.analysis.values import FunctionName
from reference_vm.ir.nodes import (
    Binding,
    BindPattern,
    Block,
    Closure,
    Construct,
    ConstructorPattern,
    Module,
    Pattern,
    TuplePattern,
    Var,
)
from reference_vm.types import (
    AdtType,
    FunctionType,
    TupleType,
    Type,
    VirtualDevice,
    tensors,
)


@final
class ContainerValues:
    """Finds the cells of a function; ``block`` finds what the body of a closure has."""

    def __init__(
        self,
        table: ValueTable,
        module: Module,
        settled: Mapping[str, Signature],
        block: Callable[[Block], None],
    ) -> None:
        self.table = table
        self.module = module
        self.settled = settled
        self.types = DataTypes(module)
        self._block = block
        self._declared: dict[tuple[str, int], int] = {}

    def construct(self, binding: Binding, value: Construct) -> tuple[int, ...]:
        type_ = binding.var.type
        assert isinstance(type_, AdtType)
        made = tuple(self.table.new_cell(t, binding.var, t.vdevice) for t in tensors(type_))
        fields = self.types.field_leaves(value.constructor, type_.args)
        for arg, leaves in zip(value.args, fields, strict=True):
            for source, leaf in zip(self.table.indices[arg], leaves, strict=True):
                self.table.put(source, self._slot(leaf.slot, made), leaf.direct, binding)
        return made

    def pattern(self, pattern: Pattern, type_: Type, sources: Sequence[int]) -> None:
        """Say what the variables of ``pattern`` are, for a value with these leaves."""
        stack: list[tuple[Pattern, Type, Sequence[int]]] = [(pattern, type_, sources)]
        while stack:
            top, asked, leaves = stack.pop()
            if isinstance(top, BindPattern):
                self.table.indices[top.var] = tuple(leaves)
            elif isinstance(top, TuplePattern):
                assert isinstance(asked, TupleType)
                stack.extend(zip(top.items, asked.items, _split(asked.items, leaves), strict=True))
            elif isinstance(top, ConstructorPattern):
                assert isinstance(asked, AdtType)
                types = self.types.field_types(top.constructor, asked.args)
                fields = self.types.field_leaves(top.constructor, asked.args)
                slots = [[self._slot(leaf.slot, leaves) for leaf in field] for field in fields]
                stack.extend(zip(top.items, types, slots, strict=True))

    def _slot(self, slot: Slot, leaves: Sequence[int]) -> int:
        if isinstance(slot, int):
            return leaves[slot]
        return self._declared_cell(slot)

    def _declared_cell(self, slot: Declared) -> int:
        key = (slot.constructor, slot.index)
        if key not in self._declared:
            var = Var(slot.constructor, slot.type)
            self._declared[key] = self.table.new_cell(slot.type, var, slot.type.vdevice)
        return self._declared[key]

    def closure(self, binding: Binding, value: Closure) -> tuple[int, ...]:
        type_ = binding.var.type
        assert isinstance(type_, FunctionType)
        params: list[int] = []
        for param in value.params:
            assert param.type is not None
            cells = [self.table.new_cell(t, param, t.vdevice) for t in tensors(param.type)]
            self.table.indices[param] = tuple(cells)
            params.extend(cells)
        results = [self.table.new_cell(t, binding.var, t.vdevice) for t in tensors(value.result)]
        self._block(value.body)
        pairs = zip(
            self.table.indices[value.body.result], results, direct_leaves(value.result), strict=True
        )
        for source, cell, direct in pairs:
            self.table.put(source, cell, direct, binding)
        made = (*params, *results)
        for cell, leaf in zip(made, tensors(type_), strict=True):
            self.table.pin_cell(cell, leaf.vdevice)
        return made

    def function_name(self, binding: Binding, name: str, operand: int | None) -> tuple[int, ...]:
        function = self.module.by_name[name]
        types = [p.type for p in function.params if p.type is not None]
        cells = [
            self.table.new_cell(leaf, binding.var, leaf.vdevice or self.decided(name, None, i))
            for i, leaf in enumerate(leaf for t in types for leaf in tensors(t))
        ]
        cells += [
            self.table.new_cell(leaf, binding.var, leaf.vdevice or self.decided(name, i, None))
            for i, leaf in enumerate(tensors(function.result))
        ]
        self.table.names.append(FunctionName(binding, operand, name, tuple(cells)))
        return tuple(cells)

    def decided(self, name: str, result: int | None, param: int | None) -> VirtualDevice | None:
        """Return what is decided about a leaf of a function that is being planned."""
        signature = self.settled.get(name, OPEN)
        if result is not None:
            return signature.result(result)
        assert param is not None
        pin = signature.param(param)
        return None if pin is None else pin.device


def _split(types: Sequence[Type], leaves: Sequence[int]) -> list[Sequence[int]]:
    """Return the leaves of each of ``types``."""
    found, start = [], 0
    for type_ in types:
        stop = start + sum(1 for _ in tensors(type_))
        found.append(leaves[start:stop])
        start = stop
    return found


__all__ = ["ContainerValues"]
