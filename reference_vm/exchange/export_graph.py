"""Walks a typed function and writes the ONNX graph that computes the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from onnx import GraphProto, ValueInfoProto, helper

from reference_vm.exchange import export_ops_elementwise, export_ops_movement, export_ops_nn
from reference_vm.exchange.element_types import to_element_type
from reference_vm.exchange.export_dims import DimWriter
from reference_vm.exchange.export_loops import LoopForm, loop_form
from reference_vm.exchange.export_placement import NodePlaces
from reference_vm.exchange.export_scope import (
    Named,
    Scope,
    bound,
    known,
    leaves,
    loose,
    nested,
)
from reference_vm.exchange.export_writer import (
    ExportCall,
    ExportTable,
    GraphWriter,
    inexpressible,
)
from reference_vm.exchange.value_types import to_type_proto
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Block,
    Call,
    Constant,
    Expr,
    Function,
    GlobalRef,
    If,
    Invoke,
    MakeTuple,
    Module,
    Project,
    ShapeLiteral,
    Var,
)
from reference_vm.types import (
    DType,
    ShapeType,
    TensorType,
    TupleType,
    Type,
)
from reference_vm.types.dtype import BOOL, I64

OPSET: Final = 21
"""The version of ONNX's operator set that is written."""

RULES: Final[ExportTable] = {
    **export_ops_elementwise.RULES,
    **export_ops_movement.RULES,
    **export_ops_nn.RULES,
}


@final
@dataclass(slots=True)
class Exporter:
    """Exports one function, and those that it calls in place."""

    module: Module
    places: NodePlaces | None = None
    """Where nodes are said to run; ``None`` to leave that out."""

    calling: list[str] = field(default_factory=list)

    def graph(self, function: Function) -> GraphProto:
        """Return the graph of one function of the module.

        Raises:
            CompileError: ``inexpressible``.
        """
        writer, scope = GraphWriter(), Scope(f"function @{function.name}")
        inputs: list[ValueInfoProto] = []
        for param in function.params:
            scope.bind(param, self._input(param.name, known(param), writer, inputs, scope.where))
        result = self._body(function, writer, scope)
        outputs = _outputs(result, known(function.body.result), writer)
        nodes, constants = writer.nodes, writer.initializers
        return helper.make_graph(nodes, function.name, inputs, outputs, constants)

    def _input(
        self, name: str, type_: Type, writer: GraphWriter, inputs: list[ValueInfoProto], where: str
    ) -> Named:
        """Append the graph inputs for a parameter: one for each tensor in it."""
        if isinstance(type_, TupleType):
            items = enumerate(type_.items)
            return tuple(self._input(f"{name}.{i}", t, writer, inputs, where) for i, t in items)
        if not isinstance(type_, TensorType | ShapeType):
            raise inexpressible(where, f"parameter %{name} is {type_}")
        found = writer.names.fresh(name or "v")
        inputs.append(_value_info(found, type_))
        return found

    def _block(self, block: Block, writer: GraphWriter, scope: Scope) -> Named:
        self._bindings(block.bindings(), writer, scope)
        return scope.values[block.result]

    def _bindings(self, bindings: Iterable[Binding], writer: GraphWriter, scope: Scope) -> None:
        for binding in bindings:
            writer.hint = binding.var.name
            scope.bind(binding.var, self._binding(binding, writer, scope))

    def _binding(self, binding: Binding, writer: GraphWriter, scope: Scope) -> Named:
        start, name = len(writer.nodes), binding.var.name
        value = self._expr(binding.value, known(binding.var), name, writer, scope)
        named = _renamed(value, name, start, writer)
        if self.places is not None:
            self.places.place(binding, writer.nodes[start:], scope.where)
        return named

    def _expr(self, expr: Expr, type_: Type, name: str, writer: GraphWriter, scope: Scope) -> Named:
        where = f"{scope.where}, %{name}"
        match expr:
            case Call():
                return self._call(expr, type_, where, writer, scope)
            case Constant():
                return writer.bind_constant(expr, name)
            case ShapeLiteral(dims=dims):
                return DimWriter(writer, scope.symbols, where).shape(dims)
            case MakeTuple(items=items):
                return tuple(scope.values[item] for item in items)
            case Project(tuple=source, index=index):
                return scope.values[source][index]
            case Alias(var=source):
                return scope.values[source]
            case If():
                return self._if(expr, type_, writer, scope)
            case Invoke(callee=GlobalRef(function=callee), args=args):
                return self._invoke(callee, args, where, writer, scope)
            case _:
                what = _WORDS.get(type(expr).__name__, "a call of a function value")
                raise inexpressible(where, f"ONNX has no word for {what}")

    def _call(
        self, call: Call, type_: Type, where: str, writer: GraphWriter, scope: Scope
    ) -> Named:
        rule = RULES.get(call.op)
        if rule is None:
            raise inexpressible(where, f"ONNX {OPSET} has no operator for {call.op}")
        names, types = [], []
        for arg in call.args:
            if isinstance(arg, GlobalRef):
                raise inexpressible(where, f"{call.op} takes the function @{arg.function}")
            value = "" if arg is None else scope.values[arg]
            assert isinstance(value, str), f"{where}: operand of {call.op} is a tuple"
            names.append(value)
            types.append(None if arg is None else known(arg))
        return rule(
            ExportCall(call.op, tuple(names), tuple(types), call.attrs, type_, writer, where)
        )

    def _if(self, expr: If, type_: Type, writer: GraphWriter, scope: Scope) -> Named:
        condition = _truth(expr.condition, writer, scope)
        graphs = []
        for word, block in (("then", expr.then), ("else", expr.orelse)):
            inner, around = writer.nested(), scope.inner()
            result = self._block(block, inner, around)
            outputs = _outputs(result, known(block.result), inner)
            graphs.append(helper.make_graph(inner.nodes, word, [], outputs))
        count = len(graphs[0].output)
        then, orelse = graphs
        names = writer.emit("If", (condition,), count, then_branch=then, else_branch=orelse)
        return nested(type_, iter(names))

    def _invoke(
        self,
        callee: str,
        args: Sequence[object],
        where: str,
        writer: GraphWriter,
        scope: Scope,
    ) -> Named:
        """Write a function of the module out in place of its call."""
        if callee in self.calling:
            raise inexpressible(where, f"@{callee} calls itself, and is no loop")
        function = self.module.by_name[callee]
        given: list[Named] = []
        for arg in args:
            if not isinstance(arg, Var):
                raise inexpressible(where, f"@{callee} is given a function")
            given.append(scope.values[arg])
        form = loop_form(function)
        if form is not None:
            return self._loop(function, form, given, where, writer)
        return self._body(function, writer, bound(function, given, where))

    def _loop(
        self,
        function: Function,
        form: LoopForm,
        given: Sequence[Named],
        where: str,
        writer: GraphWriter,
    ) -> Named:
        """Write a function that is a loop: decide, go round while it says so, then leave."""
        if self.places is not None:
            self.places.signature(function)
        self.calling.append(function.name)
        first = bound(function, given, where)
        go = self._decided(form, writer, first)
        inner, inputs = writer.nested(), [_scalar_info(writer, "trip", I64)]
        inputs.append(_scalar_info(writer, "go", BOOL))
        carried = [
            self._input(p.name, loose(known(p)), inner, inputs, where) for p in function.params
        ]
        scope = bound(function, carried, where)
        self._bindings(form.before, inner, scope)
        self._bindings(form.again, inner, scope)
        following = tuple(scope.values[a] for a in form.arguments)
        again = self._decided(form, inner, bound(function, following, where))
        types = tuple(loose(known(p)) for p in function.params)
        kinds = TupleType((TensorType(BOOL, ()), *types))
        outputs = _outputs((again, *following), kinds, inner)
        graph = helper.make_graph(inner.nodes, function.name, inputs, outputs)
        flat = [name for value, t in zip(given, types, strict=True) for name, _ in leaves(value, t)]
        names = writer.emit("Loop", ("", go, *flat), len(flat), body=graph)
        rest = iter(names)
        last = bound(function, [nested(t, rest) for t in types], where)
        self._bindings(form.before, writer, last)
        result = self._block(form.leaving, writer, last)
        self.calling.pop()
        return result

    def _decided(self, form: LoopForm, writer: GraphWriter, scope: Scope) -> str:
        """Write what comes before the decision, and return whether the loop goes on."""
        self._bindings(form.before, writer, scope)
        go = _truth(form.condition, writer, scope)
        return go if form.goes_on else writer.emit("Not", (go,))[0]

    def _body(self, function: Function, writer: GraphWriter, scope: Scope) -> Named:
        if self.places is not None:
            self.places.signature(function)
        self.calling.append(function.name)
        result = self._block(function.body, writer, scope)
        self.calling.pop()
        return result


_WORDS: Final[Mapping[str, str]] = {
    "Construct": "a constructor",
    "FunctionValue": "a function value",
    "Weight": "a tensor in a weights file",
    "Match": "match",
    "Closure": "a closure",
}


def _truth(condition: Var, writer: GraphWriter, scope: Scope) -> str:
    """Return a condition as a bool."""
    name, kind = scope.values[condition], known(condition)
    assert isinstance(name, str)
    if isinstance(kind, TensorType) and kind.dtype != BOOL:
        return writer.emit("Cast", (name,), to=to_element_type(BOOL))[0]
    return name


def _scalar_info(writer: GraphWriter, name: str, dtype: DType) -> ValueInfoProto:
    return _value_info(writer.names.fresh(name), TensorType(dtype, ()))


def _renamed(value: Named, name: str, start: int, writer: GraphWriter) -> Named:
    """Call what the last nodes made after the variable that it is bound to."""
    if isinstance(value, str):
        return writer.rename(start, value, name)
    return tuple(_renamed(v, f"{name}.{i}", start, writer) for i, v in enumerate(value))


def _outputs(value: Named, type_: Type, writer: GraphWriter) -> list[ValueInfoProto]:
    """Return a graph's outputs; what no node of the graph makes, or twice, goes through one."""
    found: list[ValueInfoProto] = []
    made = {name for node in writer.nodes for name in node.output}
    for name, kind in leaves(value, type_):
        taken = {info.name for info in found}
        if name not in made or name in taken:
            writer.hint = name
            name = writer.emit("Identity", (name,))[0]
        found.append(_value_info(name, kind))
    return found


def _value_info(name: str, type_: Type) -> ValueInfoProto:
    if isinstance(type_, ShapeType):
        type_ = TensorType(I64, None if type_.dims is None else (len(type_.dims),))
    assert isinstance(type_, TensorType), f"{name} is {type_}"
    return helper.make_value_info(name, to_type_proto(type_))


__all__ = ["OPSET", "RULES", "Exporter"]
