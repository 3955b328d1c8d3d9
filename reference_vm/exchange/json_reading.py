"""Functions from JSON: see `json_tree`.

A name is the variable last bound to it; one that nothing has bound yet becomes a variable of its
own, which `ir.verify` reports, as for text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, final

from reference_vm.diagnostics import CompileError, catalog
from reference_vm.exchange.json_place import Place
from reference_vm.exchange.json_types import (
    shape_from_json,
    type_from_json,
    vdevice_from_json,
)
from reference_vm.exchange.json_values import attrs_from_json, elements_from_json
from reference_vm.ir import nodes
from reference_vm.ir.trampoline import Steps, run
from reference_vm.text.body_parser import MAX_REGION_DEPTH
from reference_vm.text.constant_parser import is_inside
from reference_vm.types import VirtualDevice

_BINDING: Final = ("name", "kind", "args")
_OPTIONAL: Final = ("device", "type")


def function_from_json(place: Place, roles: Mapping[str, VirtualDevice]) -> nodes.Function:
    """Return the function that an object says.

    Raises:
        CompileError: It is malformed.
    """
    place.fields(("name", "params", "returns", "body"), ("bounds", "attrs"))
    reader = _Reader(roles)
    bounds = place.at("bounds")
    params = [reader.param(item, donatable=True) for item in place.at("params").items()]
    given = (item.at("donate") for item in place.at("params").items())
    donated = (index for index, item in enumerate(given) if not item.is_absent and item.truth())
    return nodes.Function(
        name=place.at("name").text(),
        params=tuple(params),
        result=type_from_json(place.at("returns"), roles),
        body=run(reader.block(place.at("body"), 1)),
        bounds=() if bounds.is_absent else tuple(map(_bound, bounds.items())),
        attrs=attrs_from_json(place.at("attrs")),
        donated=frozenset(donated),
    )


def _bound(place: Place) -> nodes.Bound:
    place.fields(("symbol", "lower"), ("upper",))
    upper = place.at("upper")
    return nodes.Bound(
        place.at("symbol").text(),
        place.at("lower").number(0),
        None if upper.is_absent else upper.number(0),
    )


@final
@dataclass(slots=True)
class _Reader:
    roles: Mapping[str, VirtualDevice]
    variables: dict[str, nodes.Var] = field(default_factory=dict)

    def param(self, place: Place, *, donatable: bool = False) -> nodes.Var:
        place.fields(("name", "type"), ("donate",) if donatable else ())
        return self._bind(place.at("name"), place.at("type"))

    def _bind(self, name: Place, type_: Place) -> nodes.Var:
        var = self._new(name, type_)
        self.variables[var.name] = var
        return var

    def _new(self, name: Place, type_: Place) -> nodes.Var:
        known = None if type_.is_absent else type_from_json(type_, self.roles)
        return nodes.Var(name.text("a variable's name"), known)

    def block(self, place: Place, depth: int) -> Steps[nodes.Block]:
        if depth > MAX_REGION_DEPTH:
            raise CompileError(catalog.text_nests_too_deep("regions", MAX_REGION_DEPTH, None))
        place.fields(("bindings", "result"), ("dataflow",))
        bindings: list[nodes.Binding] = []
        for item in place.at("bindings").items():
            binding: nodes.Binding = yield self._binding(item, depth)
            bindings.append(binding)
        statements = self._statements(place.at("dataflow"), bindings)
        return nodes.Block(statements, self._read(place.at("result")))

    def _statements(
        self, place: Place, bindings: list[nodes.Binding]
    ) -> tuple[nodes.Statement, ...]:
        """Return the bindings of a block, those in dataflow blocks put into these again."""
        statements: list[nodes.Statement] = []
        done = 0
        for item in () if place.is_absent else place.items():
            item.fields(("first", "count", "outputs"))
            first = item.at("first").number(done)
            end = first + item.at("count").number(0)
            if end > len(bindings):
                item.fail(f"a part of the {len(bindings)} bindings")
            outputs = tuple(map(self._read, item.at("outputs").items()))
            statements += bindings[done:first]
            statements.append(nodes.Dataflow(tuple(bindings[first:end]), outputs))
            done = end
        return (*statements, *bindings[done:])

    def _binding(self, place: Place, depth: int) -> Steps[nodes.Binding]:
        if not isinstance(place.value, Mapping):
            place.fail("an object that is a binding")
        value: nodes.Expr = yield self._expr(place, depth)
        var = self._bind(place.at("name"), place.at("type"))
        device = place.at("device")
        request = None if device.is_absent else vdevice_from_json(device, self.roles)
        return nodes.Binding(var, value, request)

    def _expr(self, place: Place, depth: int) -> Steps[nodes.Expr]:
        kind = place.at("kind").value
        match kind:
            case "if":
                self._fields(place, "then", "else")
                condition = self._one(place)
                then: nodes.Block = yield self.block(place.at("then"), depth + 1)
                orelse: nodes.Block = yield self.block(place.at("else"), depth + 1)
                return nodes.If(condition, then, orelse)
            case "match":
                matched: nodes.Match = yield self._match(place, depth)
                return matched
            case "closure":
                self._fields(place, "params", "returns", "body")
                params = tuple(self.param(item) for item in place.at("params").items())
                returns = type_from_json(place.at("returns"), self.roles)
                body: nodes.Block = yield self.block(place.at("body"), depth + 1)
                return nodes.Closure(params, returns, body)
            case str() if kind in _FLAT:
                return _FLAT[kind](self, place)
            case _:
                known = (*_FLAT, "if", "match", "closure")
                place.at("kind").fail(f"one of {', '.join(known)}")

    def _match(self, place: Place, depth: int) -> Steps[nodes.Match]:
        self._fields(place, "arms")
        scrutinee = self._one(place)
        arms: list[nodes.Arm] = []
        for item in place.at("arms").items():
            item.fields(("pattern", "body"))
            pattern: nodes.Pattern = yield self._pattern(item.at("pattern"), 1)
            body: nodes.Block = yield self.block(item.at("body"), depth + 1)
            arms.append(nodes.Arm(pattern, body))
        return nodes.Match(scrutinee, tuple(arms))

    def _pattern(self, place: Place, depth: int) -> Steps[nodes.Pattern]:
        if depth > MAX_REGION_DEPTH:
            raise CompileError(catalog.text_nests_too_deep("patterns", MAX_REGION_DEPTH, None))
        if not isinstance(place.value, Mapping):
            place.fail("an object that is a pattern")
        kind = place.at("kind").value
        if kind == "any":
            place.fields(("kind",))
            return nodes.Wildcard()
        if kind == "bind":
            place.fields(("kind", "name"))
            return nodes.BindPattern(self._bind(place.at("name"), Place(None)))
        if kind not in ("constructor", "tuple"):
            place.at("kind").fail("one of any, bind, constructor, tuple")
        place.fields(("kind", "items"), ("constructor",) if kind == "constructor" else ())
        items: list[nodes.Pattern] = []
        for item in place.at("items").items():
            inner: nodes.Pattern = yield self._pattern(item, depth + 1)
            items.append(inner)
        if kind == "tuple":
            return nodes.TuplePattern(tuple(items))
        return nodes.ConstructorPattern(place.at("constructor").text(), tuple(items))

    def _fields(self, place: Place, *own: str, optional: tuple[str, ...] = ()) -> None:
        place.fields((*_BINDING, *own), (*_OPTIONAL, *optional))

    def _read(self, place: Place) -> nodes.Var:
        name = place.text("a variable's name")
        if name not in self.variables:
            self.variables[name] = nodes.Var(name)
        return self.variables[name]

    def _one(self, place: Place) -> nodes.Var:
        args = self._variables(place)
        return args[0] if len(args) == 1 else place.at("args").fail("one name")

    def _variables(self, place: Place) -> tuple[nodes.Var, ...]:
        return tuple(map(self._read, place.at("args").items()))

    def _operands(self, place: Place) -> tuple[nodes.Operand, ...]:
        return tuple(map(self._operand, place.at("args").items()))

    def _operand(self, place: Place) -> nodes.Operand:
        if place.is_absent:
            return None
        if isinstance(place.value, Mapping):
            place.fields(("function",))
            return nodes.GlobalRef(place.at("function").text())
        return self._read(place)

    def call(self, place: Place) -> nodes.Expr:
        self._fields(place, "op", optional=("attrs",))
        op, attrs = place.at("op").text("an operator's name"), attrs_from_json(place.at("attrs"))
        return nodes.Call(op, self._operands(place), attrs)

    def invoke(self, place: Place) -> nodes.Expr:
        self._fields(place, "function", optional=("attrs",))
        callee = nodes.GlobalRef(place.at("function").text())
        return nodes.Invoke(callee, self._operands(place), attrs_from_json(place.at("attrs")))

    def apply(self, place: Place) -> nodes.Expr:
        self._fields(place, optional=("attrs",))
        callee, *args = self._operands(place) or (None,)
        if not isinstance(callee, nodes.Var):
            place.at("args").fail("the closure's name, then its arguments")
        return nodes.Invoke(callee, tuple(args), attrs_from_json(place.at("attrs")))

    def construct(self, place: Place) -> nodes.Expr:
        self._fields(place, "constructor")
        return nodes.Construct(place.at("constructor").text(), self._variables(place))

    def alias(self, place: Place) -> nodes.Expr:
        self._fields(place)
        return nodes.Alias(self._one(place))

    def function(self, place: Place) -> nodes.Expr:
        self._fields(place, "function")
        return nodes.FunctionValue(nodes.GlobalRef(place.at("function").text()))

    def tuple_(self, place: Place) -> nodes.Expr:
        self._fields(place)
        return nodes.MakeTuple(self._variables(place))

    def project(self, place: Place) -> nodes.Expr:
        self._fields(place, "index")
        return nodes.Project(self._one(place), place.at("index").number(0))

    def shape(self, place: Place) -> nodes.Expr:
        self._fields(place, "shape")
        dims = shape_from_json(place.at("shape"))
        return (
            place.at("shape").fail("a list of dims") if dims is None else nodes.ShapeLiteral(dims)
        )

    def constant(self, place: Place) -> nodes.Expr:
        self._fields(place, "dtype", "shape", optional=("data", "hex"))
        dtype, shape = place.at("dtype").dtype(), _sizes(place.at("shape"))
        return nodes.Constant(dtype, shape, elements_from_json(place, dtype, shape))

    def weight(self, place: Place) -> nodes.Expr:
        self._fields(place, "dtype", "shape", "file", "key")
        file = place.at("file").text()
        if not is_inside(file):
            place.at("file").fail("the path of a file beside the module, with / and without ..")
        dtype, shape = place.at("dtype").dtype(), _sizes(place.at("shape"))
        return nodes.Weight(dtype, shape, file, place.at("key").text())


def _sizes(place: Place) -> tuple[int, ...]:
    return tuple(item.number(0) for item in place.items())


_FLAT: Final[Mapping[str, Callable[[_Reader, Place], nodes.Expr]]] = {
    "call": _Reader.call,
    "invoke": _Reader.invoke,
    "apply": _Reader.apply,
    "construct": _Reader.construct,
    "alias": _Reader.alias,
    "function": _Reader.function,
    "tuple": _Reader.tuple_,
    "project": _Reader.project,
    "shape": _Reader.shape,
    "constant": _Reader.constant,
    "weight": _Reader.weight,
}
"""The kinds of bindings without blocks."""
