"""What data a function has: each value, who makes it, and who reads it where.

A *value* is one tensor's data together with all its views: a reshape, an alias, a projection or a
``match_cast`` of it is the same value, unless a suffix or a placed type says where the view lives;
then it is a value of its own, *moved* from the one it shows. Tuples are their leaves. The merged
result of an ``if`` is a value made by an *operation* of no cost that reads all arms. Data types and
functions as values hold `cells`.

For the body::

    %s = add(%a, %b)
    %v = reshape(%s, %shape)
    %t = exp(%v)

the values are those of ``%a``, ``%b``, ``%s`` (which is ``%v``'s too) and ``%t``; the operations
are ``add`` and ``exp``. Device planning rests on this reading of a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from reference_vm.analysis.cells import Cells
from reference_vm.analysis.data_types import DataTypes, Declared, Slot, direct_leaves
from reference_vm.analysis.signature import OPEN, Signature
from reference_vm.analysis.values import (
    MOVES,
    FunctionCall,
    FunctionName,
    Kind,
    Means,
    Operation,
    Origin,
    Read,
    Reading,
    Use,
    Value,
)
from reference_vm.diagnostics import CompileError, Diagnostic, catalog
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    BindPattern,
    Block,
    Call,
    Closure,
    Constant,
    Construct,
    ConstructorPattern,
    Function,
    FunctionValue,
    GlobalRef,
    If,
    Invoke,
    MakeTuple,
    Match,
    Module,
    Operand,
    Pattern,
    Project,
    ShapeLiteral,
    TuplePattern,
    Var,
    Weight,
)
from reference_vm.ops.definition import OpDef
from reference_vm.ops.typing import operator
from reference_vm.types import (
    AdtType,
    FunctionType,
    ShapeType,
    TensorType,
    TupleType,
    Type,
    VirtualDevice,
    tensors,
)

NO_MODULE: Final = Module()


class FunctionValues:
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
    ) -> None:
        self.ops = ops
        self._reads_of = self.reads_of
        self.function = function
        self.module = module
        self.settled = settled
        self.types = DataTypes(module)
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
        self._readings: dict[str, Reading] = {}
        self._declared: dict[tuple[str, int], int] = {}
        self._rules: dict[type[Any], Callable[[Binding, Any], tuple[int, ...]]] = {
            Call: self._call,
            Alias: lambda b, v: self._shared(b, self.indices[v.var]),
            MakeTuple: self._tuple,
            Project: lambda b, v: self._shared(b, self.projected(v)),
            Constant: self._constant,
            Weight: self._constant,
            ShapeLiteral: lambda b, v: (),
            If: self._if,
            Match: self._match,
            Closure: self._closure,
            FunctionValue: lambda b, v: self._function_name(b, v.ref.name, None),
            Construct: self._construct,
            Invoke: self._invoke,
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

    # Making values.

    def _params(self, function: Function, signature: Signature) -> None:
        leaf = 0
        for param in function.params:
            made = []
            for type_, direct in _leaves(param.type):
                origin = Origin.PARAMETER if direct else Origin.CELL
                value = self._value(origin, type_, param, type_.vdevice)
                decided = signature.param(leaf)
                if value.pin is None and decided is not None:
                    value.pin, value.pulls = decided.device, decided.pulls
                made.append(value.index)
                leaf += 1
            self.indices[param] = tuple(made)

    def _value(
        self,
        origin: Origin,
        type_: TensorType,
        var: Var,
        pin: VirtualDevice | None,
        operation: int | None = None,
    ) -> Value:
        value = Value(len(self.values), origin, type_, var, self._reads_of, pin, operation)
        self.values.append(value)
        if origin is Origin.CELL:
            self.cells.add(value.index)
        return value

    def _cell(self, type_: TensorType, var: Var, pin: VirtualDevice | None) -> int:
        return self._value(Origin.CELL, type_, var, pin).index

    def _pin(self, binding: Binding, leaf: TensorType) -> VirtualDevice | None:
        """Return where the suffix or the type of ``binding`` says that ``leaf`` lives."""
        typed, suffix = leaf.vdevice, binding.request
        if typed is not None and suffix is not None and typed != suffix:
            span = binding.value.span or binding.var.span
            name = binding.var.name
            self.problems.append(
                catalog.contradicting_placement(name, typed.role, suffix.role, span)
            )
        return typed or suffix

    def _read(self, value: int, use: Use, binding: Binding | None, **more: Any) -> None:
        self.other_reads.append(Read(value, use, binding, **more))

    def _pin_cell(self, cell: int, pin: VirtualDevice | None) -> None:
        """Say that a cell lives on ``pin``."""
        if pin is None:
            return
        value = self.values[cell]
        self.cells.unite(cell, self._cell(value.type, value.var, pin))

    def _store(self, value: int, cell: int, binding: Binding) -> None:
        self.cells.stored.append((value, cell))
        self._read(value, Use.STORE, binding, place=cell)

    def _put(self, value: int, cell: int, direct: bool, binding: Binding) -> None:
        """Let ``value`` be one of what ``cell`` holds."""
        if direct:
            self._store(value, cell, binding)
        else:
            self.cells.unite(value, cell)

    # One method a kind of expression; each says what the bound variable's values are.

    def _block(self, block: Block) -> None:
        rules, indices = self._rules, self.indices
        for binding in block.bindings():
            value = binding.value
            indices[binding.var] = rules[type(value)](binding, value)

    def _constant(self, binding: Binding, value: Constant | Weight) -> tuple[int, ...]:
        made = self._value(Origin.CONSTANT, binding.var.tensor, binding.var, None)
        made.pulls = binding.var.tensor.vdevice is not None
        made.pin = self._pin(binding, made.type)
        return (made.index,)

    def _tuple(self, binding: Binding, value: MakeTuple) -> tuple[int, ...]:
        return self._shared(binding, [v for item in value.items for v in self.indices[item]])

    def _shared(self, binding: Binding, sources: Sequence[int]) -> tuple[int, ...]:
        """Return the values of a variable that holds other variables' leaves."""
        pairs = zip(_leaves(binding.var.type), sources, strict=True)
        return tuple(self._pinned(binding, leaf, v, direct) for (leaf, direct), v in pairs)

    def _pinned(self, binding: Binding, leaf: TensorType, source: int, direct: bool) -> int:
        """Return ``source``, or a value moved from it if ``leaf`` lives elsewhere."""
        pin = self._pin(binding, leaf)
        if pin is None or pin == self.values[source].pin:
            return source
        if direct:
            return self._moved(binding, leaf, source, pin, Means.PIN)
        self._pin_cell(source, pin)
        return source

    def _moved(
        self, binding: Binding, leaf: TensorType, source: int, pin: VirtualDevice, means: Means
    ) -> int:
        value = self._value(Origin.MOVED, leaf, binding.var, pin)
        value.source, value.means = source, means
        self._read(source, Use.MOVE, binding, device=pin, means=means)
        return value.index

    def _call(self, binding: Binding, call: Call) -> tuple[int, ...]:
        if call.op in MOVES:
            return self._move(binding, call)
        reading = self._readings.get(call.op)
        if reading is None:
            if call.op.startswith("vm."):
                return self._settled(binding)
            reading = Reading.of(operator(self.ops, call.op, call.span))
            self._readings[call.op] = reading
        if reading.shows and (binding.request is None or call.op == "match_cast"):
            return self._view(binding, call, reading)
        return self._operator(binding, call, reading)

    def _move(self, binding: Binding, call: Call) -> tuple[int, ...]:
        leaf, source = binding.var.tensor, call.args[0]
        pin = self._pin(binding, leaf)
        if pin is None:
            raise CompileError(catalog.copy_without_destination(call.op, call.span))
        assert isinstance(source, Var)
        (value,) = self.indices[source]
        means = MOVES[call.op]
        if means is not Means.COPY and self.values[value].pin == pin:
            return (value,)
        return (self._moved(binding, leaf, value, pin, means),)

    def _settled(self, binding: Binding) -> tuple[int, ...]:
        """Return the values of what was lowered, and hence placed, before."""
        index = len(self.operations)
        leaf = next(tensors(binding.var.type), None) if binding.var.type is not None else None
        operation = Operation(index, binding, Kind.OPERATOR, ())
        operation.request = None if leaf is None else leaf.vdevice
        return self._made(operation)

    def _made(self, operation: Operation) -> tuple[int, ...]:
        """Add ``operation``, and return the values that it makes."""
        self.operations.append(operation)
        var, index = operation.binding.var, operation.index
        type_ = var.type
        if type(type_) is TensorType:
            pin = type_.vdevice
            if pin is not None:
                self._pin(operation.binding, type_)
            value = self._value(Origin.OPERATION, type_, var, pin, index)
            operation.results = (value.index,)
            return operation.results
        made = []
        for leaf, direct in _leaves(type_):
            pin = leaf.vdevice
            self._pin(operation.binding, leaf)
            origin = Origin.OPERATION if direct else Origin.CELL
            made.append(self._value(origin, leaf, var, pin, index if direct else None).index)
        operation.results = tuple(v for v in made if self.values[v].origin is Origin.OPERATION)
        return tuple(made)

    def _view(self, binding: Binding, call: Call, reading: Reading) -> tuple[int, ...]:
        for index, var in enumerate(call.args):
            if reading.is_host(index):
                for value in self._tensor(var):
                    self._read(value, Use.HOST, binding)
        source, type_ = call.args[0], binding.var.type
        if not isinstance(source, Var) or not isinstance(type_, TensorType):
            return ()
        (value,) = self.indices[source]
        return (self._pinned(binding, type_, value, direct=True),)

    def _tensor(self, operand: Operand) -> tuple[int, ...]:
        return self.indices.get(operand, ()) if isinstance(operand, Var) else ()

    def _operator(self, binding: Binding, call: Call, reading: Reading) -> tuple[int, ...]:
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
        return self._made(operation)

    def _if(self, binding: Binding, value: If) -> tuple[int, ...]:
        for condition in self.indices[value.condition]:
            self._read(condition, Use.HOST, binding)
        for arm in (value.then, value.orelse):
            self._block(arm)
        return self._merged(binding, [value.then.result, value.orelse.result])

    def _match(self, binding: Binding, value: Match) -> tuple[int, ...]:
        assert value.scrutinee.type is not None
        for arm in value.arms:
            self._pattern(arm.pattern, value.scrutinee.type, self.indices[value.scrutinee])
            self._block(arm.body)
        return self._merged(binding, [arm.body.result for arm in value.arms])

    def _merged(self, binding: Binding, arms: Sequence[Var]) -> tuple[int, ...]:
        made = []
        for number, (leaf, direct) in enumerate(_leaves(binding.var.type)):
            pin = self._pin(binding, leaf)
            sources = tuple(self.indices[arm][number] for arm in arms)
            if not direct:
                cell = self._cell(leaf, binding.var, pin)
                for source in sources:
                    self.cells.unite(source, cell)
                made.append(cell)
                continue
            index = len(self.operations)
            value = self._value(Origin.OPERATION, leaf, binding.var, pin, index)
            merge = Operation(index, binding, Kind.MERGE, sources, (value.index,))
            self.operations.append(merge)
            made.append(value.index)
        return tuple(made)

    def _pattern(self, pattern: Pattern, type_: Type, sources: Sequence[int]) -> None:
        """Say what the variables of ``pattern`` are, for a value with these leaves."""
        stack: list[tuple[Pattern, Type, Sequence[int]]] = [(pattern, type_, sources)]
        while stack:
            top, asked, leaves = stack.pop()
            if isinstance(top, BindPattern):
                self.indices[top.var] = tuple(leaves)
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
            self._declared[key] = self._cell(slot.type, var, slot.type.vdevice)
        return self._declared[key]

    def _construct(self, binding: Binding, value: Construct) -> tuple[int, ...]:
        type_ = binding.var.type
        assert isinstance(type_, AdtType)
        made = tuple(self._cell(t, binding.var, t.vdevice) for t in tensors(type_))
        fields = self.types.field_leaves(value.constructor, type_.args)
        for arg, leaves in zip(value.args, fields, strict=True):
            for source, leaf in zip(self.indices[arg], leaves, strict=True):
                self._put(source, self._slot(leaf.slot, made), leaf.direct, binding)
        return made

    def _closure(self, binding: Binding, value: Closure) -> tuple[int, ...]:
        type_ = binding.var.type
        assert isinstance(type_, FunctionType)
        params: list[int] = []
        for param in value.params:
            assert param.type is not None
            cells = [self._cell(t, param, t.vdevice) for t in tensors(param.type)]
            self.indices[param] = tuple(cells)
            params.extend(cells)
        results = [self._cell(t, binding.var, t.vdevice) for t in tensors(value.result)]
        self._block(value.body)
        pairs = zip(
            self.indices[value.body.result], results, direct_leaves(value.result), strict=True
        )
        for source, cell, direct in pairs:
            self._put(source, cell, direct, binding)
        made = (*params, *results)
        for cell, leaf in zip(made, tensors(type_), strict=True):
            self._pin_cell(cell, leaf.vdevice)
        return made

    def _function_name(self, binding: Binding, name: str, operand: int | None) -> tuple[int, ...]:
        function = self.module.by_name[name]
        types = [p.type for p in function.params if p.type is not None]
        cells = [
            self._cell(leaf, binding.var, leaf.vdevice or self._decided(name, None, i))
            for i, leaf in enumerate(leaf for t in types for leaf in tensors(t))
        ]
        cells += [
            self._cell(leaf, binding.var, leaf.vdevice or self._decided(name, i, None))
            for i, leaf in enumerate(tensors(function.result))
        ]
        self.names.append(FunctionName(binding, operand, name, tuple(cells)))
        return tuple(cells)

    def _decided(self, name: str, result: int | None, param: int | None) -> VirtualDevice | None:
        """Return what is decided about a leaf of a function that is being planned."""
        signature = self.settled.get(name, OPEN)
        if result is not None:
            return signature.result(result)
        assert param is not None
        pin = signature.param(param)
        return None if pin is None else pin.device

    def _invoke(self, binding: Binding, value: Invoke) -> tuple[int, ...]:
        leaves = [
            self._function_name(binding, arg.name, position)
            if isinstance(arg, GlobalRef)
            else self._tensor(arg)
            for position, arg in enumerate(value.args)
        ]
        if isinstance(value.callee, Var):
            return self._apply(binding, value.callee, [v for arg in leaves for v in arg])
        callee = self.module.by_name.get(value.callee.name)
        if callee is None or callee.attrs.get("primitive") is True:
            return self._settled(binding)
        return self._function_call(binding, callee, [v for arg in leaves for v in arg])

    def _apply(self, binding: Binding, callee: Var, arguments: Sequence[int]) -> tuple[int, ...]:
        """Return the values that the call of a function value makes."""
        type_ = callee.type
        assert isinstance(type_, FunctionType)
        cells = self.indices[callee]
        direct = [d for t in type_.params for d in direct_leaves(t)]
        for argument, cell, is_direct in zip(arguments, cells, direct, strict=False):
            self._put(argument, cell, is_direct, binding)
        return self._shared(binding, cells[len(direct) :])

    def _function_call(
        self, binding: Binding, callee: Function, arguments: Sequence[int]
    ) -> tuple[int, ...]:
        index = len(self.operations)
        leaves = [pair for p in callee.params for pair in _leaves(p.type)]
        for place, (argument, (leaf, direct)) in enumerate(zip(arguments, leaves, strict=True)):
            decided = leaf.vdevice or self._decided(callee.name, None, place)
            if direct:
                more = {"operation": index, "place": place, "device": decided}
                self._read(argument, Use.ARGUMENT, binding, **more)
            else:
                self._pin_cell(argument, decided)
                if callee is self.function:
                    self.cells.unite(argument, self._parameter_leaf(place))
        results = self._made(Operation(index, binding, Kind.CALL, ()))
        for place, (leaf, direct) in enumerate(_leaves(callee.result)):
            own = self.values[results[place]]
            own.pin = self._pin(binding, own.type)
            if not direct:
                decided = leaf.vdevice or self._decided(callee.name, place, None)
                self._pin_cell(own.index, decided)
            elif own.pin is None:
                own.pin = leaf.vdevice
        self.calls.append(FunctionCall(index, binding, callee.name, tuple(arguments), results))
        return results

    def _parameter_leaf(self, place: int) -> int:
        return [v for p in self.function.params for v in self.indices[p]][place]

    def _returned(self, function: Function, signature: Signature) -> None:
        for number, ((leaf, direct), value) in enumerate(
            zip(_leaves(function.result), self.result, strict=True)
        ):
            pin = leaf.vdevice or signature.result(number)
            if not direct:
                self._pin_cell(value, pin)
            elif pin is not None:
                self._read(value, Use.RESULT, None, device=pin)
        for call in self.calls:
            if call.callee == function.name:
                for made, value in zip(call.results, self.result, strict=True):
                    if made in self.cells:
                        self.cells.unite(made, value)


def _leaves(type_: Type | None) -> Iterable[tuple[TensorType, bool]]:
    """Return the tensors in ``type_``, each with whether only tuples are around it."""
    if type(type_) is TensorType:
        return ((type_, True),)
    assert type_ is not None, "a variable has no type: run infer-types first"
    return zip(tensors(type_), direct_leaves(type_), strict=True)


def _split(types: Sequence[Type], leaves: Sequence[int]) -> list[Sequence[int]]:
    """Return the leaves of each of ``types``."""
    found, start = [], 0
    for type_ in types:
        stop = start + sum(1 for _ in tensors(type_))
        found.append(leaves[start:stop])
        start = stop
    return found


def _is_fact(operand: Operand) -> bool:
    """Whether ``operand`` is a shape value that only a run knows."""
    if not isinstance(operand, Var) or not isinstance(operand.type, ShapeType):
        return False
    dims = operand.type.dims
    return dims is None or not all(isinstance(d, int) for d in dims)


__all__ = ["NO_MODULE", "FunctionValues"]
