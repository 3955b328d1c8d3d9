"""Expressions without regions, from tokens."""

from __future__ import annotations

from typing import Final

from reference_vm.diagnostics import catalog
from reference_vm.ir import nodes
from reference_vm.text.constant_parser import parse_constant
from reference_vm.text.scope import Scope
from reference_vm.text.type_parser import parse_dim_list
from reference_vm.text.value_parser import parse_attrs
from reference_vm.types import NO_ATTRS, Attrs

EXPRESSION: Final = "an expression"
OPERAND: Final = "an operand: a variable, a function or `none`"


def parse_flat(s: Scope) -> nodes.Expr:
    """Read an expression without regions that is no call of an operator."""
    c = s.c
    match c.kind:
        case "LOCAL" | "GLOBAL" if c.kinds[c.at + 1] == "(":
            return _invoke(s)
        case "LOCAL":
            return _projection(s) if c.kinds[c.at + 1] == "[" else _alias(s)
        case "GLOBAL":
            name = c.name("GLOBAL", "")
            return nodes.FunctionValue(nodes.GlobalRef(name), c.span(c.at - 1))
        case "UNAME":
            return _construct(s)
        case "(":
            return _tuple(s)
        case "const":
            return parse_constant(c)
        case "shape":
            return _shape(s)
        case _:
            raise c.error(EXPRESSION)


def parse_call(s: Scope) -> nodes.Call:
    c = s.c
    first = c.at
    op = c.take("NAME")
    args, attrs = _args(s)
    return nodes.Call(op, args, attrs, c.since(first))


def _invoke(s: Scope) -> nodes.Invoke:
    c = s.c
    first = c.at
    is_global = c.kind == "GLOBAL"
    callee = nodes.GlobalRef(c.name("GLOBAL", "")) if is_global else s.read()
    args, attrs = _args(s)
    return nodes.Invoke(callee, args, attrs, c.since(first))


def _args(s: Scope) -> tuple[tuple[nodes.Operand, ...], Attrs]:
    """Read operands and attributes between parentheses."""
    c = s.c
    c.take("(")
    args: list[nodes.Operand] = []
    if c.accept(")"):
        return (), NO_ATTRS
    kinds = c.kinds
    while kinds[c.at] != "NAME":
        args.append(s.read() if kinds[c.at] == "LOCAL" else _operand(s))
        if not c.accept(","):
            c.take(")", "`,` or `)`")
            return tuple(args), NO_ATTRS
    if kinds[c.at + 1] == "(":
        raise c.error("an operand; give the inner call a name first")
    return tuple(args), parse_attrs(c, ")")


def _operand(s: Scope) -> nodes.Operand:
    """Read an operand that is no variable."""
    c = s.c
    if c.kind == "GLOBAL":
        return nodes.GlobalRef(c.name("GLOBAL", ""))
    c.take("none", OPERAND)
    return None


def _construct(s: Scope) -> nodes.Construct:
    c = s.c
    first = c.at
    name = c.take("UNAME")
    args, attrs = _args(s)
    span = c.since(first)
    items = tuple(a for a in args if isinstance(a, nodes.Var))
    if len(items) != len(args):
        found = "none" if None in args else "a function"
        c.note(catalog.constructor_operand(name, found, span))
    elif attrs:
        c.note(catalog.constructor_operand(name, "an attribute", span))
    return nodes.Construct(name, items, span)


def _alias(s: Scope) -> nodes.Alias:
    first = s.c.at
    return nodes.Alias(s.read(), s.c.span(first))


def _projection(s: Scope) -> nodes.Project:
    c = s.c
    first = c.at
    var = s.read()
    c.take("[")
    index = c.integer("the number of an item")
    c.take("]")
    return nodes.Project(var, index, c.since(first))


def _tuple(s: Scope) -> nodes.MakeTuple:
    c = s.c
    first = c.at
    c.take("(")
    items: list[nodes.Var] = []
    if not c.accept(")"):
        items.append(s.read())
        c.take(",", "`,`; a tuple of one is (%x,)")
        while not c.accept(")"):
            items.append(s.read())
            if not c.accept(","):
                c.take(")", "`,` or `)`")
                break
    return nodes.MakeTuple(tuple(items), c.since(first))


def _shape(s: Scope) -> nodes.ShapeLiteral:
    c = s.c
    first = c.at
    c.take("shape")
    c.take("[")
    return nodes.ShapeLiteral(parse_dim_list(c), c.since(first))
