"""Walks a typed function and writes the ONNX graph that computes the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, Union, final

from onnx import GraphProto, ValueInfoProto, helper

from reference_vm.exchange import export_ops_elementwise, export_ops_movement, export_ops_nn
from reference_vm.exchange.element_types import to_element_type
from reference_vm.exchange.export_dims import DimWriter, SymbolSource
from reference_vm.exchange.export_placement import NodePlaces
from reference_vm.exchange.export_writer import (
    ExportCall,
    ExportTable,
    GraphNames,
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
from reference_vm.types import Poly, ShapeType, TensorType, TupleType, Type
from reference_vm.types.dtype import BOOL, I64

OPSET: Final = 21
"""The version of ONNX's operator set that is written."""

RULES: Final[ExportTable] = {
    **export_ops_elementwise.RULES,
    **export_ops_movement.RULES,
    **export_ops_nn.RULES,
}

Named: TypeAlias = Union[str, tuple["Named", ...]]
"""The name of a value in the graph, nested as tuples are."""


@final
@dataclass(slots=True)
class _Scope:
    """What the names of one function stand for."""

    where: str
    values: dict[Var, Named] = field(default_factory=dict)
    symbols: dict[str, SymbolSource] = field(default_factory=dict)

    def inner(self) -> _Scope:
        return _Scope(self.where, dict(self.values), dict(self.symbols))

    def bind(self, var: Var, value: Named) -> None:
        self.values[var] = value
        self._note_symbols(var.type, value)

    def _note_symbols(self, type_: Type | None, value: Named) -> None:
        if isinstance(type_, TupleType) and isinstance(value, tuple):
            for item, name in zip(type_.items, value, strict=True):
                self._note_symbols(item, name)
        if not isinstance(type_, TensorType) or not isinstance(value, str):
            return
        for axis, dim in enumerate(type_.shape or ()):
            if isinstance(dim, Poly) and str(dim) in dim.symbols:
                self.symbols.setdefault(str(dim), SymbolSource(value, axis))


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
        writer, scope = GraphWriter(GraphNames()), _Scope(f"function @{function.name}")
        inputs: list[ValueInfoProto] = []
        for param in function.params:
            scope.bind(param, self._input(param.name, _known(param), writer, inputs, scope.where))
        result = self._body(function, writer, scope)
        outputs = _outputs(result, _known(function.body.result), writer)
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
        found = writer.names.fresh(name)
        inputs.append(_value_info(found, type_))
        return found

    def _block(self, block: Block, writer: GraphWriter, scope: _Scope) -> Named:
        for binding in block.bindings():
            writer.hint = binding.var.name
            scope.bind(binding.var, self._binding(binding, writer, scope))
        return scope.values[block.result]

    def _binding(self, binding: Binding, writer: GraphWriter, scope: _Scope) -> Named:
        start, name = len(writer.nodes), binding.var.name
        value = self._expr(binding.value, _known(binding.var), name, writer, scope)
        named = _renamed(value, name, start, writer)
        if self.places is not None:
            self.places.place(binding, writer.nodes[start:], scope.where)
        return named

    def _expr(
        self, expr: Expr, type_: Type, name: str, writer: GraphWriter, scope: _Scope
    ) -> Named:
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
            case Invoke(callee=GlobalRef(name=callee), args=args):
                return self._invoke(callee, args, where, writer, scope)
            case _:
                what = _WORDS.get(type(expr).__name__, "a call of a function value")
                raise inexpressible(where, f"ONNX has no word for {what}")

    def _call(
        self, call: Call, type_: Type, where: str, writer: GraphWriter, scope: _Scope
    ) -> Named:
        rule = RULES.get(call.op)
        if rule is None:
            raise inexpressible(where, f"ONNX {OPSET} has no operator for {call.op}")
        names, types = [], []
        for arg in call.args:
            if isinstance(arg, GlobalRef):
                raise inexpressible(where, f"{call.op} takes the function @{arg.name}")
            value = "" if arg is None else scope.values[arg]
            assert isinstance(value, str), f"{where}: operand of {call.op} is a tuple"
            names.append(value)
            types.append(None if arg is None else _known(arg))
        return rule(
            ExportCall(call.op, tuple(names), tuple(types), call.attrs, type_, writer, where)
        )

    def _if(self, expr: If, type_: Type, writer: GraphWriter, scope: _Scope) -> Named:
        condition = scope.values[expr.condition]
        assert isinstance(condition, str)
        kind = _known(expr.condition)
        if isinstance(kind, TensorType) and kind.dtype != BOOL:
            condition = writer.emit("Cast", (condition,), to=to_element_type(BOOL))[0]
        graphs = []
        for word, block in (("then", expr.then), ("else", expr.orelse)):
            inner, around = writer.nested(), scope.inner()
            result = self._block(block, inner, around)
            outputs = _outputs(result, _known(block.result), inner)
            graphs.append(helper.make_graph(inner.nodes, word, [], outputs))
        count = len(graphs[0].output)
        then, orelse = graphs
        names = writer.emit("If", (condition,), count, then_branch=then, else_branch=orelse)
        return _nested(type_, iter(names))

    def _invoke(
        self,
        callee: str,
        args: Sequence[object],
        where: str,
        writer: GraphWriter,
        scope: _Scope,
    ) -> Named:
        """Write a function of the module out in place of its call."""
        if callee in self.calling:
            raise inexpressible(where, f"@{callee} calls itself")
        function = self.module.by_name[callee]
        inner = _Scope(where)
        for param, arg in zip(function.params, args, strict=True):
            if not isinstance(arg, Var):
                raise inexpressible(where, f"@{callee} is given a function")
            inner.bind(param, scope.values[arg])
        return self._body(function, writer, inner)

    def _body(self, function: Function, writer: GraphWriter, scope: _Scope) -> Named:
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


def _known(var: Var) -> Type:
    assert var.type is not None, f"%{var.name} has no type"
    return var.type


def _renamed(value: Named, name: str, start: int, writer: GraphWriter) -> Named:
    """Call what the last nodes made after the variable that it is bound to."""
    if isinstance(value, str):
        return writer.rename(start, value, name)
    return tuple(_renamed(v, f"{name}.{i}", start, writer) for i, v in enumerate(value))


def _nested(type_: Type, names: Iterator[str]) -> Named:
    """Return names nested as ``type_`` is."""
    if isinstance(type_, TupleType):
        return tuple(_nested(item, names) for item in type_.items)
    return next(names)


def _leaves(value: Named, type_: Type) -> Iterator[tuple[str, Type]]:
    if isinstance(value, tuple) and isinstance(type_, TupleType):
        for item, kind in zip(value, type_.items, strict=True):
            yield from _leaves(item, kind)
    elif isinstance(value, str):
        yield value, type_


def _outputs(value: Named, type_: Type, writer: GraphWriter) -> list[ValueInfoProto]:
    """Return a graph's outputs; what no node of the graph makes, or twice, goes through one."""
    found: list[ValueInfoProto] = []
    made = {name for node in writer.nodes for name in node.output}
    for name, kind in _leaves(value, type_):
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
