"""The values that calls pass and make: of functions of the module, and of functions as values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

from reference_vm.analysis.container_values import ContainerValues
from reference_vm.analysis.data_types import direct_leaves
from reference_vm.analysis.value_table import ValueTable, leaves_in
from reference_vm.analysis.values import FunctionCall, Kind, Operation, Use
from reference_vm.ir.nodes import Binding, Function, GlobalRef, Invoke, Var
from reference_vm.types import FunctionType, tensors


@final
class CallValues:
    """Finds what the calls of a function pass and make."""

    def __init__(
        self,
        table: ValueTable,
        containers: ContainerValues,
        passed_through: Callable[[Function], tuple[tuple[int, int], ...]],
    ) -> None:
        self.table = table
        self.containers = containers
        self._passed_through = passed_through
        """Which leaves of a function's result are one cell with which of its parameters."""

    def invoke(self, binding: Binding, value: Invoke) -> tuple[int, ...]:
        leaves = [
            self.containers.function_name(binding, arg.function, position)
            if isinstance(arg, GlobalRef)
            else self.table.tensor(arg)
            for position, arg in enumerate(value.args)
        ]
        if isinstance(value.callee, Var):
            return self._apply(binding, value.callee, [v for arg in leaves for v in arg])
        callee = self.containers.module.by_name.get(value.callee.function)
        if callee is None:
            return self.settled(binding)
        if callee.is_primitive:
            self._kernel_arguments(binding, callee, [v for arg in leaves for v in arg])
            return self.settled(binding)
        return self._function_call(binding, callee, [v for arg in leaves for v in arg])

    def _kernel_arguments(
        self, binding: Binding, kernel: Function, arguments: Sequence[int]
    ) -> None:
        """Note that a kernel, which is placed, reads each argument where its parameter is."""
        params = [leaf for p in kernel.params for leaf, _ in leaves_in(p.type)]
        for argument, leaf in zip(arguments, params, strict=True):
            self.table.read(argument, Use.ARGUMENT, binding, device=leaf.vdevice)

    def _apply(self, binding: Binding, callee: Var, arguments: Sequence[int]) -> tuple[int, ...]:
        """Return the values that the call of a function value makes."""
        type_ = callee.type
        assert isinstance(type_, FunctionType)
        cells = self.table.indices[callee]
        direct = [d for t in type_.params for d in direct_leaves(t)]
        for argument, cell, is_direct in zip(arguments, cells, direct, strict=False):
            self.table.put(argument, cell, is_direct, binding)
        return self.table.shared(binding, cells[len(direct) :])

    def _function_call(
        self, binding: Binding, callee: Function, arguments: Sequence[int]
    ) -> tuple[int, ...]:
        index = len(self.table.operations)
        leaves = [pair for p in callee.params for pair in leaves_in(p.type)]
        for place, (argument, (leaf, direct)) in enumerate(zip(arguments, leaves, strict=True)):
            decided = leaf.vdevice or self.containers.decided(callee.name, None, place)
            if direct:
                more = {"operation": index, "place": place, "device": decided}
                self.table.read(argument, Use.ARGUMENT, binding, **more)
            else:
                self.table.pin_cell(argument, decided)
                if callee is self.table.function:
                    self.table.cells.unite(argument, self._parameter_leaf(place))
        results = self.table.made(Operation(index, binding, Kind.CALL, ()))
        for place, (leaf, direct) in enumerate(leaves_in(callee.result)):
            own = self.table.values[results[place]]
            own.pin = self.table.pin(binding, own.type)
            if not direct:
                decided = leaf.vdevice or self.containers.decided(callee.name, place, None)
                self.table.pin_cell(own.index, decided)
            elif own.pin is None:
                own.pin = leaf.vdevice
        if callee is not self.table.function and not all(direct_leaves(callee.result)):
            for place, argument in self._passed_through(callee):
                self.table.cells.unite(results[place], arguments[argument])
        self.table.calls.append(
            FunctionCall(index, binding, callee.name, tuple(arguments), results)
        )
        return results

    def _parameter_leaf(self, place: int) -> int:
        return [v for p in self.table.function.params for v in self.table.indices[p]][place]

    def settled(self, binding: Binding) -> tuple[int, ...]:
        """Return the values of what was lowered, and hence placed, before."""
        index = len(self.table.operations)
        leaf = next(tensors(binding.var.type), None) if binding.var.type is not None else None
        operation = Operation(index, binding, Kind.OPERATOR, ())
        operation.request = None if leaf is None else leaf.vdevice
        return self.table.made(operation)


__all__ = ["CallValues"]
