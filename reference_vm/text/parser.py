"""Modules and their declarations, from tokens: recursive descent with one token of look-ahead."""

from __future__ import annotations

from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir import nodes
from reference_vm.ir.rules.declarations import duplicate_vdevices
from reference_vm.source import Source, Span
from reference_vm.text.body_parser import parse_body, parse_signature
from reference_vm.text.cursor import Cursor
from reference_vm.text.scope import Scope
from reference_vm.text.type_parser import parse_type
from reference_vm.text.value_parser import parse_attrs
from reference_vm.types import NO_ATTRS, DeviceName, Type, VirtualDevice
from reference_vm.types.device import GLOBAL_SCOPE


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
    scope = Scope(c)
    params, donated, result = parse_signature(scope)
    bounds = _bounds(c) if c.accept("bounds") else ()
    attrs = NO_ATTRS
    if c.accept("attrs"):
        c.take("{")
        attrs = parse_attrs(c, "}")
    body = parse_body(scope)
    return nodes.Function(name, params, result, body, bounds, attrs, donated, span)


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
