"""Modules from tokens: declarations, functions, statements and expressions.

Recursive descent with one token of look-ahead. Names become variables here: within a function a
name is the variable last bound to it, and one that nothing has bound yet becomes a variable of
its own, which `ir.verify` reports. Regions nest by `ir.trampoline`, not by Python's stack.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, final

from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir import nodes
from reference_vm.ir.rules.declarations import duplicate_vdevices
from reference_vm.ir.trampoline import Steps, run
from reference_vm.source import Source, Span
from reference_vm.text import value_parser
from reference_vm.text.constant_parser import parse_constant
from reference_vm.text.cursor import Cursor
from reference_vm.text.type_parser import parse_dim_list, parse_type
from reference_vm.types import Attrs, AttrValue, DeviceName, Type, VirtualDevice
from reference_vm.types.attrs import NO_ATTRS
from reference_vm.types.device import GLOBAL_SCOPE

MAX_DEPTH: Final = 1000
"""How deep regions may nest, and patterns."""

EXPRESSION: Final = "an expression"
OPERAND: Final = "an operand: a variable, a function or `none`"


def parse_module(source: Source) -> nodes.Module:
    """Read a module.

    Raises:
        CompileError: The first syntax error alone, or all that is wrong beyond the grammar.
    """
    c = Cursor.over(source)
    c.roles = _declared_roles(c)
    module = _module(c)
    if c.found:
        raise CompileError(*sorted(c.found, key=lambda d: d.span.start if d.span else 0))
    return module


def _declared_roles(c: Cursor) -> dict[str, VirtualDevice]:
    """Return the roles of all ``vdevice`` declarations, wherever in the module they stand.

    Syntax errors and notes are left for the parse proper to find again.
    """
    roles: dict[str, VirtualDevice] = {}
    for at, kind in enumerate(c.kinds):
        if kind != "vdevice":
            continue
        ahead = Cursor(c.source, c.kinds, c.words, c.starts, at=at)
        try:
            declared = _vdevices(ahead)
        except CompileError:
            return roles
        for vdevice, _ in declared:
            roles.setdefault(vdevice.role, vdevice)
    return roles


def _module(c: Cursor) -> nodes.Module:
    c.take("module")
    version = _version(c) if c.accept("version") else 1
    c.take("{")
    vdevices: list[tuple[VirtualDevice, Span]] = []
    adts: list[nodes.Adt] = []
    functions: list[nodes.Function] = []
    while not c.accept("}"):
        if c.kind == "vdevice":
            vdevices.extend(_vdevices(c))
        elif c.kind == "type":
            adts.append(_adt(c))
        elif c.kind == "fn":
            functions.append(_function(c))
        else:
            raise c.error("`vdevice`, `type`, `fn` or `}`")
    if c.kind != "END":
        raise c.error("the end of the text")
    roles = tuple(vdevice for vdevice, _ in vdevices)
    for problem in duplicate_vdevices(vdevices):
        c.note(problem)
    return nodes.Module(roles, tuple(adts), tuple(functions), version)


def _version(c: Cursor) -> int:
    version = c.integer("the version of the language, a number")
    if version != 1:
        c.note(catalog.unsupported_version(str(version), c.span(c.at - 1)))
    return version


def _vdevices(c: Cursor) -> list[tuple[VirtualDevice, Span]]:
    """Read a declaration of roles; return each with the place of its name."""
    c.take("vdevice")
    declared = [_vdevice(c)]
    while c.accept(","):
        declared.append(_vdevice(c))
    return declared


def _vdevice(c: Cursor) -> tuple[VirtualDevice, Span]:
    first = c.at
    role = c.name("GLOBAL", "a role such as @host")
    device, scope = None, GLOBAL_SCOPE
    if c.accept("="):
        text = c.string('a device such as "cpu:0"')
        try:
            device = DeviceName.parse(text)
        except ValueError as error:
            c.note(catalog.invalid_device(str(error), c.span(c.at - 1)))
    if c.accept("scope"):
        scope = c.string('a memory scope such as "global"')
    return VirtualDevice(role, device, scope), c.span(first)


def _adt(c: Cursor) -> nodes.Adt:
    c.take("type")
    first = c.at
    name = c.take("UNAME", "the name of a type, with a capital")
    span = c.span(first)
    params: list[str] = []
    if c.accept("["):
        params.append(c.take("UNAME", "a type parameter, with a capital"))
        while c.accept(","):
            params.append(c.take("UNAME", "a type parameter, with a capital"))
        c.take("]", "`,` or `]`")
    c.take("{")
    constructors = [_constructor(c)]
    while c.accept(",") and c.kind != "}":
        constructors.append(_constructor(c))
    c.take("}", "`,` or `}`")
    return nodes.Adt(name, tuple(params), tuple(constructors), span)


def _constructor(c: Cursor) -> nodes.Constructor:
    first = c.at
    name = c.take("UNAME", "a constructor, with a capital")
    span = c.span(first)
    fields: list[Type] = []
    if c.accept("("):
        fields.append(parse_type(c))
        while c.accept(","):
            fields.append(parse_type(c))
        c.take(")", "`,` or `)`")
    return nodes.Constructor(name, tuple(fields), span)


def _function(c: Cursor) -> nodes.Function:
    c.take("fn")
    first = c.at
    name = c.name("GLOBAL", "the name of a function such as @main")
    span = c.span(first)
    body = _Body(c)
    params, donated, result = body.signature()
    bounds = _bounds(c) if c.accept("bounds") else ()
    attrs = NO_ATTRS
    if c.accept("attrs"):
        c.take("{")
        attrs = _attrs(c, "}")
    block = run(body.block("return", 1))
    return nodes.Function(name, params, result, block, bounds, attrs, donated, span)


def _bounds(c: Cursor) -> tuple[nodes.Bound, ...]:
    bounds = [_bound(c)]
    while c.accept(","):
        bounds.append(_bound(c))
    return tuple(bounds)


def _bound(c: Cursor) -> nodes.Bound:
    if c.kind not in ("NAME", "UNAME"):
        raise c.error("a symbol")
    symbol = c.take(c.kind)
    c.take("in")
    lower = c.integer("the least value, a number")
    c.take("..")
    upper = c.integer("the greatest value") if c.kind == "INT" else None
    return nodes.Bound(symbol, lower, upper)


def _attrs(c: Cursor, closing: str) -> Attrs:
    """Read ``name = value`` pairs up to and with ``closing``."""
    values: dict[str, AttrValue] = {}
    if c.accept(closing):
        return NO_ATTRS
    while True:
        first = c.at
        name = c.take("NAME", "an attribute `name = value`")
        c.take("=")
        value = value_parser.parse_value(c, name)
        if name in values:
            c.note(catalog.duplicate_attribute(name, c.span(first)))
        values[name] = value
        if not c.accept(","):
            break
    c.take(closing, f"`,` or `{closing}`")
    return Attrs(values)


@final
@dataclass(slots=True)
class _Body:
    """The statements of one function, and the variables that its names stand for."""

    c: Cursor
    variables: dict[str, nodes.Var] = field(default_factory=dict)

    def signature(self) -> tuple[tuple[nodes.Var, ...], frozenset[int], Type]:
        """Read parameters and result type; return also which parameters are donated."""
        c = self.c
        params: list[nodes.Var] = []
        donated: set[int] = set()
        c.take("(")
        while c.kind == "LOCAL":
            var = self._typed()
            self.variables[var.name] = var
            if c.accept("donate"):
                donated.add(len(params))
            params.append(var)
            if not c.accept(","):
                break
            if c.kind != "LOCAL":
                raise c.error("a parameter such as %x")
        c.take(")", "`,` or `)`" if params else "a parameter such as %x, or `)`")
        c.take("->")
        return tuple(params), frozenset(donated), parse_type(c)

    def _typed(self) -> nodes.Var:
        """Read ``%x: type``."""
        c = self.c
        first = c.at
        name = c.name("LOCAL", "a variable")
        span = c.span(first)
        c.take(":")
        return nodes.Var(name, parse_type(c), span)

    def _target(self) -> nodes.Var:
        """Read what a binding names, up to and with the ``=``."""
        c = self.c
        first = c.at
        name = c.name("LOCAL", "a variable")
        span = c.span(first)
        type_ = parse_type(c) if c.accept(":") else None
        c.take("=", "`=`" if type_ else "`:` or `=`")
        return nodes.Var(name, type_, span)

    def _read(self) -> nodes.Var:
        """Read a variable that is used."""
        c = self.c
        at = c.at
        if c.kinds[at] != "LOCAL":
            raise c.error("a variable such as %x")
        c.at = at + 1
        word = c.words[at]
        var = self.variables.get(word[1:])
        return self._read_slowly(at) if var is None or word[1] == '"' else var

    def _read_slowly(self, at: int) -> nodes.Var:
        """Return the variable of a name that is quoted or not bound."""
        c = self.c
        c.at = at
        name = c.name("LOCAL", "a variable")
        known = self.variables.get(name)
        if known is None:
            known = self.variables[name] = nodes.Var(name, None, c.span(at))
        return known

    def block(self, ending: str, depth: int) -> Steps[nodes.Block]:
        """Read ``{ … return %x }``, or with ``yield`` for ``return``."""
        c = self.c
        if depth > MAX_DEPTH:
            raise CompileError(catalog.text_nests_too_deep("regions", MAX_DEPTH, c.span(c.at)))
        c.take("{")
        statements: list[nodes.Statement] = []
        while not c.accept(ending):
            if c.kinds[c.at] == "LOCAL":
                binding: nodes.Binding = yield self._binding(depth)
                statements.append(binding)
            elif c.kind == "dataflow":
                dataflow: nodes.Dataflow = yield self._dataflow(depth)
                statements.append(dataflow)
            else:
                raise c.error(f"a statement or `{ending}`")
        result = self._read()
        span = c.span(c.at - 1)
        c.take("}")
        return nodes.Block(tuple(statements), result, span)

    def _dataflow(self, depth: int) -> Steps[nodes.Dataflow]:
        c = self.c
        first = c.at
        c.take("dataflow")
        c.take("{")
        bindings: list[nodes.Binding] = []
        while not c.accept("output"):
            if c.kind != "LOCAL":
                raise c.error("a binding or `output`")
            binding: nodes.Binding = yield self._binding(depth)
            bindings.append(binding)
        outputs: list[nodes.Var] = []
        if c.kind == "LOCAL":
            outputs.append(self._read())
            while c.accept(","):
                outputs.append(self._read())
        c.take("}", "`,` or `}`" if outputs else "a variable or `}`")
        return nodes.Dataflow(tuple(bindings), tuple(outputs), c.span(first))

    def _binding(self, depth: int) -> Steps[nodes.Binding]:
        c = self.c
        var = self._target()
        value: nodes.Expr
        match c.kinds[c.at]:
            case "NAME":
                value = self._call()
            case "if":
                value = yield self._if(depth)
            case "match":
                value = yield self._match(depth)
            case "fn":
                value = yield self._closure(depth)
            case _:
                value = self._flat()
        self.variables[var.name] = var
        return nodes.Binding(var, value, c.role() if c.kinds[c.at] == "GLOBAL" else None)

    def _flat(self) -> nodes.Expr:
        """Read an expression without regions that is no call of an operator."""
        c = self.c
        match c.kind:
            case "LOCAL" | "GLOBAL" if c.kinds[c.at + 1] == "(":
                return self._invoke()
            case "LOCAL":
                return self._projection() if c.kinds[c.at + 1] == "[" else self._alias()
            case "GLOBAL":
                name = c.name("GLOBAL", "")
                return nodes.FunctionValue(nodes.GlobalRef(name), c.span(c.at - 1))
            case "UNAME":
                return self._construct()
            case "(":
                return self._tuple()
            case "const":
                return parse_constant(c)
            case "shape":
                return self._shape()
            case _:
                raise c.error(EXPRESSION)

    def _call(self) -> nodes.Call:
        c = self.c
        first = c.at
        op = c.take("NAME")
        args, attrs = self._args()
        return nodes.Call(op, args, attrs, c.since(first))

    def _invoke(self) -> nodes.Invoke:
        c = self.c
        first = c.at
        is_global = c.kind == "GLOBAL"
        callee = nodes.GlobalRef(c.name("GLOBAL", "")) if is_global else self._read()
        args, attrs = self._args()
        return nodes.Invoke(callee, args, attrs, c.since(first))

    def _args(self) -> tuple[tuple[nodes.Operand, ...], Attrs]:
        """Read operands and attributes between parentheses."""
        c = self.c
        c.take("(")
        args: list[nodes.Operand] = []
        if c.accept(")"):
            return (), NO_ATTRS
        kinds = c.kinds
        while kinds[c.at] != "NAME":
            args.append(self._read() if kinds[c.at] == "LOCAL" else self._operand())
            if not c.accept(","):
                c.take(")", "`,` or `)`")
                return tuple(args), NO_ATTRS
        if kinds[c.at + 1] == "(":
            raise c.error("an operand; give the inner call a name first")
        return tuple(args), _attrs(c, ")")

    def _operand(self) -> nodes.Operand:
        """Read an operand that is no variable."""
        c = self.c
        if c.kind == "GLOBAL":
            return nodes.GlobalRef(c.name("GLOBAL", ""))
        c.take("none", OPERAND)
        return None

    def _construct(self) -> nodes.Construct:
        c = self.c
        first = c.at
        name = c.take("UNAME")
        args, attrs = self._args()
        span = c.since(first)
        items = tuple(a for a in args if isinstance(a, nodes.Var))
        if len(items) != len(args):
            found = "none" if None in args else "a function"
            c.note(catalog.constructor_operand(name, found, span))
        elif attrs:
            c.note(catalog.constructor_operand(name, "an attribute", span))
        return nodes.Construct(name, items, span)

    def _alias(self) -> nodes.Alias:
        first = self.c.at
        return nodes.Alias(self._read(), self.c.span(first))

    def _projection(self) -> nodes.Project:
        c = self.c
        first = c.at
        var = self._read()
        c.take("[")
        index = c.integer("the number of an item")
        c.take("]")
        return nodes.Project(var, index, c.since(first))

    def _tuple(self) -> nodes.MakeTuple:
        c = self.c
        first = c.at
        c.take("(")
        items: list[nodes.Var] = []
        if not c.accept(")"):
            items.append(self._read())
            c.take(",", "`,`; a tuple of one is (%x,)")
            while not c.accept(")"):
                items.append(self._read())
                if not c.accept(","):
                    c.take(")", "`,` or `)`")
                    break
        return nodes.MakeTuple(tuple(items), c.since(first))

    def _shape(self) -> nodes.ShapeLiteral:
        c = self.c
        first = c.at
        c.take("shape")
        c.take("[")
        return nodes.ShapeLiteral(parse_dim_list(c), c.since(first))

    def _if(self, depth: int) -> Steps[nodes.If]:
        c = self.c
        first = c.at
        c.take("if")
        condition = self._read()
        then: nodes.Block = yield self.block("yield", depth + 1)
        c.take("else")
        orelse: nodes.Block = yield self.block("yield", depth + 1)
        return nodes.If(condition, then, orelse, c.span(first, first + 1))

    def _match(self, depth: int) -> Steps[nodes.Match]:
        c = self.c
        first = c.at
        c.take("match")
        scrutinee = self._read()
        c.take("{")
        arms: list[nodes.Arm] = []
        while not arms or not c.accept("}"):
            pattern: nodes.Pattern = yield self._pattern(1)
            c.take("=>")
            body: nodes.Block = yield self.block("yield", depth + 1)
            arms.append(nodes.Arm(pattern, body))
        return nodes.Match(scrutinee, tuple(arms), c.span(first, first + 1))

    def _pattern(self, depth: int) -> Steps[nodes.Pattern]:
        c = self.c
        if depth > MAX_DEPTH:
            raise CompileError(catalog.text_nests_too_deep("patterns", MAX_DEPTH, c.span(c.at)))
        if c.accept("_"):
            return nodes.Wildcard()
        if c.kind == "LOCAL":
            name = c.name("LOCAL", "")
            var = self.variables[name] = nodes.Var(name, None, c.span(c.at - 1))
            return nodes.BindPattern(var)
        if c.kind == "UNAME":
            span = c.span(c.at)
            constructor = c.take("UNAME")
            items: list[nodes.Pattern] = []
            if c.accept("("):
                item: nodes.Pattern = yield self._pattern(depth + 1)
                items.append(item)
                while c.accept(","):
                    item = yield self._pattern(depth + 1)
                    items.append(item)
                c.take(")", "`,` or `)`")
            return nodes.ConstructorPattern(constructor, tuple(items), span)
        tuple_pattern: nodes.Pattern = yield self._tuple_pattern(depth)
        return tuple_pattern

    def _tuple_pattern(self, depth: int) -> Steps[nodes.TuplePattern]:
        c = self.c
        span = c.span(c.at)
        c.take("(", "a pattern: `_`, a variable, a constructor or a tuple")
        first: nodes.Pattern = yield self._pattern(depth + 1)
        items = [first]
        c.take(",", "`,`; a tuple of one is (_,)")
        while c.kind != ")":
            item: nodes.Pattern = yield self._pattern(depth + 1)
            items.append(item)
            if not c.accept(","):
                break
            if c.kind == ")":
                raise c.error("a pattern")
        c.take(")", "`,` or `)`")
        return nodes.TuplePattern(tuple(items), span)

    def _closure(self, depth: int) -> Steps[nodes.Closure]:
        c = self.c
        first = c.at
        c.take("fn")
        params, donated, result = self.signature()
        if donated:
            c.note(catalog.donated_to_closure(c.span(first)))
        body: nodes.Block = yield self.block("return", depth + 1)
        return nodes.Closure(params, result, body, c.span(first))
