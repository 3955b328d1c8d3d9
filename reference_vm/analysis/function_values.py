"""What data a function has: each value, who makes it, and who reads it where.

A *value* is one tensor's data together with all its views: a reshape, an alias, a projection or a
``match_cast`` of it is the same value, unless a suffix or a placed type says where the view lives;
then it is a value of its own, *moved* from the one it shows. Tuples are their leaves. The merged
result of an ``if`` is a value made by an *operation* of no cost that reads all arms. Data types and
functions as values hold `cells` (`container_values`), calls are those of `call_values`.

For the body::

    %s = add(%a, %b)
    %v = reshape(%s, %shape)
    %t = exp(%v)

the values are those of ``%a``, ``%b``, ``%s`` (which is ``%v``'s too) and ``%t``; the operations
are ``add`` and ``exp``. Device planning rests on this reading of a function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from reference_vm.analysis.call_values import CallValues
from reference_vm.analysis.container_values import ContainerValues
from reference_vm.analysis.signature import OPEN, Signature
from reference_vm.analysis.value_table import ValueTable, leaves_in
from reference_vm.analysis.values import MOVES, Kind, Means, Operation, Origin, Reading, Use
from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Block,
    Call,
    Closure,
    Constant,
    Construct,
    Function,
    FunctionValue,
    If,
    Invoke,
    MakeTuple,
    Match,
    Module,
    Operand,
    Project,
    ShapeLiteral,
    Var,
    Weight,
)
from reference_vm.ops.definition import OpDef
from reference_vm.ops.typing import operator
from reference_vm.types import ShapeType, TensorType

NO_MODULE: Final = Module()


class FunctionValues(ValueTable):
    """The values and operations of one typed function, called as ``signature`` says.

    ``module`` has the functions that it calls and the data types that it builds; ``settled`` says
    what is decided about those that are being planned, which this one may call.

    Raises:
        CompileError: A placement that contradicts another, or a move without destination.
    """

    def __init__(
        self,
        function: Function,
        ops: Mapping[str, OpDef],
        module: Module = NO_MODULE,
        signature: Signature = OPEN,
        settled: Mapping[str, Signature] = MappingProxyType({}),
        passed: dict[str, tuple[tuple[int, int], ...]] | None = None,
    ) -> None:
        super().__init__(function)
        self.ops = ops
        self._module = module
        self._passed = {} if passed is None else passed
        self._readings: dict[str, Reading] = {}
        containers = ContainerValues(self, module, settled, self._block)
        self._containers = containers
        self._calls = CallValues(self, containers, self._passed_through)
        self._rules: dict[type[Any], Callable[[Binding, Any], tuple[int, ...]]] = {
            Call: self._call,
            Alias: lambda b, v: self.shared(b, self.indices[v.var]),
            MakeTuple: self._tuple,
            Project: lambda b, v: self.shared(b, self.projected(v)),
            Constant: self._constant,
            Weight: self._constant,
            ShapeLiteral: lambda b, v: (),
            If: self._if,
            Match: self._match,
            Closure: containers.closure,
            FunctionValue: lambda b, v: containers.function_name(b, v.ref.function, None),
            Construct: containers.construct,
            Invoke: self._calls.invoke,
        }
        self._params(function, signature)
        self._block(function.body)
        self.result = self.indices[function.body.result]
        """The values that the function returns, leaf by leaf."""

        self._returned(function, signature)
        if self.problems:
            raise CompileError(*self.problems)

    @cached_property
    def returned(self) -> frozenset[int]:
        """The values that the function returns."""
        return frozenset(self.result)

    def _passed_through(self, callee: Function) -> tuple[tuple[int, int], ...]:
        """Return the cells of a function's result that are cells of its parameters, by leaves.

        A function that is looked at already, since it calls itself through others, passes none.
        """
        known = self._passed.get(callee.name)
        if known is None:
            self._passed[callee.name] = ()
            inner = FunctionValues(callee, self.ops, self._module, passed=self._passed)
            params = [v for p in callee.params for v in inner.indices[p]]
            cells = inner.cells
            known = self._passed[callee.name] = tuple(
                (place, leaf)
                for place, result in enumerate(inner.result)
                for leaf, param in enumerate(params)
                if result in cells and param in cells and cells.root(result) == cells.root(param)
            )
        return known

    def _params(self, function: Function, signature: Signature) -> None:
        leaf = 0
        for param in function.params:
            made = []
            for type_, direct in leaves_in(param.type):
                origin = Origin.PARAMETER if direct else Origin.CELL
                value = self.new_value(origin, type_, param, type_.vdevice)
                decided = signature.param(leaf)
                if value.pin is None and decided is not None:
                    value.pin, value.pulls = decided.device, decided.pulls
                made.append(value.index)
                leaf += 1
            self.indices[param] = tuple(made)

    # One method a kind of expression; each says what the bound variable's values are.

    def _block(self, block: Block) -> None:
        rules, indices = self._rules, self.indices
        for binding in block.bindings():
            value = binding.value
            indices[binding.var] = rules[type(value)](binding, value)

    def _constant(self, binding: Binding, value: Constant | Weight) -> tuple[int, ...]:
        made = self.new_value(Origin.CONSTANT, binding.var.tensor, binding.var, None)
        made.pulls = binding.var.tensor.vdevice is not None
        made.pin = self.pin(binding, made.type)
        return (made.index,)

    def _tuple(self, binding: Binding, value: MakeTuple) -> tuple[int, ...]:
        return self.shared(binding, [v for item in value.items for v in self.indices[item]])

    def _call(self, binding: Binding, call: Call) -> tuple[int, ...]:
        if call.op in MOVES:
            return self._move(binding, call)
        reading = self._readings.get(call.op)
        if reading is None:
            if call.op.startswith("vm."):
                return self._calls.settled(binding)
            reading = Reading.of(operator(self.ops, call.op, call.span))
            self._readings[call.op] = reading
        if reading.shows and (binding.request is None or call.op == "match_cast"):
            return self._view(binding, call, reading)
        return self._operator(binding, call, reading)

    def _move(self, binding: Binding, call: Call) -> tuple[int, ...]:
        leaf, source = binding.var.tensor, call.args[0]
        pin = self.pin(binding, leaf)
        if pin is None:
            raise CompileError(catalog.copy_without_destination(call.op, call.span))
        assert isinstance(source, Var)
        (value,) = self.indices[source]
        means = MOVES[call.op]
        if means is not Means.COPY and self.values[value].pin == pin:
            return (value,)
        return (self.moved(binding, leaf, value, pin, means),)

    def _view(self, binding: Binding, call: Call, reading: Reading) -> tuple[int, ...]:
        for index, var in enumerate(call.args):
            if reading.is_host(index):
                for value in self.tensor(var):
                    self.read(value, Use.HOST, binding)
        source, type_ = call.args[0], binding.var.type
        if not isinstance(source, Var) or not isinstance(type_, TensorType):
            return ()
        (value,) = self.indices[source]
        return (self.pinned(binding, type_, value, direct=True),)

    def _operator(self, binding: Binding, call: Call, reading: Reading) -> tuple[int, ...]:
        if reading.is_plain:
            return self._plain_operator(binding, call)
        args = call.args[1:] if reading.metadata else call.args
        indices = self.indices
        operands: list[int] = []
        hosted: list[int] = []
        facts = 0
        for position, arg in enumerate(args):
            found = indices.get(arg) if isinstance(arg, Var) else None
            if found:
                is_host = reading.host and reading.is_host(position + reading.metadata)
                (hosted if is_host else operands).extend(found)
            elif found is not None:
                facts += _is_fact(arg)
        if reading.metadata:
            facts += _is_fact(call.args[0])
        operation = Operation(
            len(self.operations), binding, Kind.OPERATOR, tuple(operands), (), binding.request
        )
        if hosted or facts or reading.on_host:
            operation.host_operands = tuple(hosted)
            operation.host_facts = facts
            operation.on_host = reading.on_host
        return self.made(operation)

    def _plain_operator(self, binding: Binding, call: Call) -> tuple[int, ...]:
        """Return what an operator makes that reads all its operands where it runs."""
        indices = self.indices
        operands: list[int] = []
        facts = 0
        for arg in call.args:
            found = indices.get(arg)  # type: ignore[arg-type] # what is no variable is not there
            if found:
                operands += found
            elif found is not None:
                facts += _is_fact(arg)
        number, request = len(self.operations), binding.request
        operation = Operation(number, binding, Kind.OPERATOR, tuple(operands), (), request)
        operation.host_facts = facts
        return self.made(operation)

    def _if(self, binding: Binding, value: If) -> tuple[int, ...]:
        for condition in self.indices[value.condition]:
            self.read(condition, Use.HOST, binding)
        for arm in (value.then, value.orelse):
            self._block(arm)
        return self._merged(binding, [value.then.result, value.orelse.result])

    def _match(self, binding: Binding, value: Match) -> tuple[int, ...]:
        assert value.scrutinee.type is not None
        for arm in value.arms:
            self._containers.pattern(
                arm.pattern, value.scrutinee.type, self.indices[value.scrutinee]
            )
            self._block(arm.body)
        return self._merged(binding, [arm.body.result for arm in value.arms])

    def _merged(self, binding: Binding, arms: Sequence[Var]) -> tuple[int, ...]:
        made = []
        for number, (leaf, direct) in enumerate(leaves_in(binding.var.type)):
            pin = self.pin(binding, leaf)
            sources = tuple(self.indices[arm][number] for arm in arms)
            if not direct:
                cell = self.new_cell(leaf, binding.var, pin)
                for source in sources:
                    self.cells.unite(source, cell)
                made.append(cell)
                continue
            index = len(self.operations)
            value = self.new_value(Origin.OPERATION, leaf, binding.var, pin, index)
            merge = Operation(index, binding, Kind.MERGE, sources, (value.index,))
            self.operations.append(merge)
            made.append(value.index)
        return tuple(made)

    def _returned(self, function: Function, signature: Signature) -> None:
        for number, ((leaf, direct), value) in enumerate(
            zip(leaves_in(function.result), self.result, strict=True)
        ):
            pin = leaf.vdevice or signature.result(number)
            if not direct:
                self.pin_cell(value, pin)
            elif pin is not None:
                self.read(value, Use.RESULT, None, device=pin)
        for call in self.calls:
            if call.callee == function.name:
                for made, value in zip(call.results, self.result, strict=True):
                    if made in self.cells:
                        self.cells.unite(made, value)


def _is_fact(operand: Operand) -> bool:
    """Whether ``operand`` is a shape value that only a run knows."""
    if not isinstance(operand, Var) or not isinstance(operand.type, ShapeType):
        return False
    dims = operand.type.dims
    return dims is None or not all(isinstance(d, int) for d in dims)


__all__ = ["NO_MODULE", "FunctionValues"]
