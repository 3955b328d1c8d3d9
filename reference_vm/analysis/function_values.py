"""What data a function has: each value, who makes it, and who reads it where.

A *value* is one tensor's data together with all its views: a reshape, an alias, a projection or a
``match_cast`` of it is the same value, unless a suffix or a placed type says where the view lives;
then it is a value of its own, *moved* from the one it shows. Tuples are their leaves. The merged
result of an ``if`` is a value made by an *operation* of no cost that reads both arms.

For the body::

    %s = add(%a, %b)
    %v = reshape(%s, %shape)
    %t = exp(%v)

the values are those of ``%a``, ``%b``, ``%s`` (which is ``%v``'s too) and ``%t``; the operations
are ``add`` and ``exp``. Device planning and copy insertion both rest on this reading of a function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reference_vm.analysis.values import (
    MOVES,
    Face,
    Means,
    Operation,
    Origin,
    Read,
    Use,
    Value,
    View,
    is_view,
    operand_reads,
)
from reference_vm.diagnostics import CompileError, Diagnostic, catalog
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Block,
    Call,
    Constant,
    Expr,
    Function,
    If,
    Invoke,
    MakeTuple,
    Project,
    ShapeLiteral,
    Var,
    Weight,
)
from reference_vm.ops.definition import OpDef, Trait
from reference_vm.ops.typing import operator
from reference_vm.types import ShapeType, TensorType, TupleType, VirtualDevice, leaves


class FunctionValues:
    """The values, operations and faces of one typed function.

    Raises:
        CompileError: ``not-yet-lowered`` for a construct that has none, or a contradicting
            placement.
    """

    def __init__(self, function: Function, ops: Mapping[str, OpDef]) -> None:
        self.ops = ops
        self.values: list[Value] = []
        self.operations: list[Operation] = []
        self.faces: list[Face] = []
        self.faces_of: dict[Var, tuple[int, ...]] = {}
        """The faces of each variable's leaves, in their order."""

        self.returned: frozenset[int] = frozenset()
        """The values that the function returns."""

        self.problems: list[Diagnostic] = []
        for param in function.params:
            self._new_leaves(param, Origin.PARAMETER, None)
        self._block(function.body)
        self._returned(function)
        if self.problems:
            raise CompileError(*self.problems)

    def values_of(self, var: Var) -> tuple[Value, ...]:
        """Return the values of ``var``'s leaves, in order."""
        return tuple(self.values[self.faces[f].value] for f in self.faces_of[var])

    # One method a kind of expression; each says what the bound variable's faces are.

    def _block(self, block: Block) -> None:
        for binding in block.bindings():
            self.faces_of[binding.var] = self._faces(binding, binding.value)

    def _faces(self, binding: Binding, value: Expr) -> tuple[int, ...]:
        match value:
            case Call():
                return self._call(binding, value)
            case Alias(var=var):
                return self._shared(binding, self.faces_of[var])
            case MakeTuple(items=items):
                return self._shared(binding, [f for v in items for f in self.faces_of[v]])
            case Project():
                return self._shared(binding, self.projected(value))
            case Constant() | Weight():
                return self._constant(binding)
            case ShapeLiteral():
                return ()
            case If():
                return self._if(binding, value)
            case Invoke():
                raise CompileError(catalog.not_inlined(value.span))
            case other:
                construct = type(other).__name__.lower()
                raise CompileError(catalog.not_yet_lowered(construct, other.span))

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

    def _value(
        self, origin: Origin, type_: TensorType, var: Var, pin: VirtualDevice | None
    ) -> Value:
        value = Value(len(self.values), origin, type_, var, pin)
        self.values.append(value)
        return value

    def _face(self, value: int, view: View | None = None) -> int:
        self.faces.append(Face(value, view))
        return len(self.faces) - 1

    def _new_leaves(self, var: Var, origin: Origin, operation: int | None) -> tuple[Value, ...]:
        """Make a value for each leaf of ``var``, pinned where its type says."""
        assert var.type is not None, f"%{var.name} has no type: run infer-types first"
        made = []
        for leaf in leaves(var.type):
            value = self._value(origin, leaf, var, leaf.vdevice)
            value.operation = operation
            made.append(value)
        self.faces_of[var] = tuple(self._face(v.index) for v in made)
        return tuple(made)

    def _constant(self, binding: Binding) -> tuple[int, ...]:
        (value,) = self._new_leaves(binding.var, Origin.CONSTANT, None)
        value.pulls = value.pin is not None
        value.pin = self._pin(binding, value.type)
        return self.faces_of[binding.var]

    def _shared(self, binding: Binding, sources: Sequence[int]) -> tuple[int, ...]:
        """Return the faces of a variable that holds other variables' leaves."""
        assert binding.var.type is not None
        pairs = zip(leaves(binding.var.type), sources, strict=True)
        return tuple(self._pinned(binding, leaf, source) for leaf, source in pairs)

    def _pinned(self, binding: Binding, leaf: TensorType, source: int) -> int:
        """Return ``source``, or the face of a value moved from it if ``leaf`` lives elsewhere."""
        pin = self._pin(binding, leaf)
        shown = self.values[self.faces[source].value]
        if pin is None or pin == shown.pin:
            return source
        return self._moved(binding, leaf, source, pin, Means.PIN)

    def _moved(
        self, binding: Binding, leaf: TensorType, source: int, pin: VirtualDevice, means: Means
    ) -> int:
        value = self._value(Origin.MOVED, leaf, binding.var, pin)
        value.source, value.means = self.faces[source].value, means
        self._read(value.source, Use.MOVE, binding, device=pin, means=means)
        return self._face(value.index)

    def _read(
        self,
        value: int,
        use: Use,
        binding: Binding | None,
        operation: int | None = None,
        device: VirtualDevice | None = None,
        means: Means | None = None,
    ) -> Read:
        read = Read(value, use, binding, operation, device, means)
        self.values[value].reads.append(read)
        return read

    def projected(self, project: Project) -> tuple[int, ...]:
        """Return the faces of the item that ``project`` takes."""
        type_ = project.tuple.type
        assert isinstance(type_, TupleType)
        start = sum(1 for item in type_.items[: project.index] for _ in leaves(item))
        count = sum(1 for _ in leaves(type_.items[project.index]))
        return self.faces_of[project.tuple][start : start + count]

    def _call(self, binding: Binding, call: Call) -> tuple[int, ...]:
        if call.op in MOVES:
            return self._move(binding, call)
        op = operator(self.ops, call.op, call.span)
        if is_view(binding, call, op):
            return self._view(binding, call, op)
        return self._operation(binding, call, op)

    def _move(self, binding: Binding, call: Call) -> tuple[int, ...]:
        leaf, source = binding.var.tensor, call.args[0]
        pin = self._pin(binding, leaf)
        if pin is None:
            raise CompileError(catalog.copy_without_destination(call.op, call.span))
        assert isinstance(source, Var)
        (face,) = self.faces_of[source]
        means, shown = MOVES[call.op], self.values[self.faces[face].value]
        if means is not Means.COPY and shown.pin == pin:
            return (face,)
        return (self._moved(binding, leaf, face, pin, means),)

    def _view(self, binding: Binding, call: Call, op: OpDef) -> tuple[int, ...]:
        for var, host in operand_reads(call, op):
            if host:
                for face in self.faces_of[var]:
                    self._read(self.faces[face].value, Use.HOST, binding)
        source, type_ = call.args[0], binding.var.type
        if not isinstance(source, Var) or not isinstance(type_, TensorType):
            return ()
        (face,) = self.faces_of[source]
        pinned = self._pinned(binding, type_, face)
        return (
            pinned if pinned != face else self._face(self.faces[face].value, View(face, binding)),
        )

    def _operation(self, binding: Binding, call: Call, op: OpDef) -> tuple[int, ...]:
        index = len(self.operations)
        reads = tuple(
            self._read(self.faces[face].value, Use.HOST if host else Use.OPERAND, binding, index)
            for var, host in operand_reads(call, op)
            for face in self.faces_of[var]
        )
        facts = sum(1 for a in call.args if isinstance(a, Var) and _is_fact(a))
        operation = Operation(index, binding, False, reads, facts, (), binding.request)
        operation.on_host = op.has(Trait.HOST)
        self.operations.append(operation)
        made = self._new_leaves(binding.var, Origin.OPERATION, index)
        for value in made:
            self._pin(binding, value.type)
        operation.results = tuple(v.index for v in made)
        return self.faces_of[binding.var]

    def _if(self, binding: Binding, value: If) -> tuple[int, ...]:
        for face in self.faces_of[value.condition]:
            self._read(self.faces[face].value, Use.HOST, binding)
        self._block(value.then)
        self._block(value.orelse)
        made = self._new_leaves(binding.var, Origin.OPERATION, None)
        arms = (value.then.result, value.orelse.result)
        for leaf, result in enumerate(made):
            result.pin = self._pin(binding, result.type)
            result.operation = self._merge(binding, [self.faces_of[a][leaf] for a in arms])
            self.operations[result.operation].results = (result.index,)
        return self.faces_of[binding.var]

    def _merge(self, binding: Binding, arms: Sequence[int]) -> int:
        index = len(self.operations)
        reads = tuple(
            self._read(self.faces[face].value, Use.OPERAND, binding, index) for face in arms
        )
        self.operations.append(Operation(index, binding, True, reads, 0))
        return index

    def _returned(self, function: Function) -> None:
        result = self.faces_of[function.body.result]
        self.returned = frozenset(self.faces[face].value for face in result)
        for leaf, face in zip(leaves(function.result), result, strict=True):
            if leaf.vdevice is not None:
                self._read(self.faces[face].value, Use.RESULT, None, device=leaf.vdevice)


def _is_fact(var: Var) -> bool:
    """Whether ``var`` is a shape value that only a run knows."""
    if not isinstance(var.type, ShapeType):
        return False
    dims = var.type.dims
    return dims is None or not all(isinstance(d, int) for d in dims)


__all__ = ["FunctionValues"]
