"""Attributes from tokens: ``axis = 1``, ``pads = [0, n]``, ``to = f32``."""

from __future__ import annotations

import math
from typing import Final

from reference_vm.diagnostics import CompileError, catalog
from reference_vm.text.cursor import Cursor
from reference_vm.text.type_parser import parse_dim
from reference_vm.types import DTYPES, NO_ATTRS, Attrs, AttrValue, Unknown

MAX_LIST_DEPTH: Final = 32
"""How deep lists may nest in an attribute."""

_DIM_STARTS: Final = frozenset({"INT", "NAME", "UNAME", "?", "-", "("})


def parse_attrs(c: Cursor, closing: str) -> Attrs:
    """Read ``name = value`` pairs up to and with ``closing``."""
    values: dict[str, AttrValue] = {}
    if c.accept(closing):
        return NO_ATTRS
    while True:
        first = c.at
        name = c.take("NAME", "an attribute `name = value`")
        c.take("=")
        value = parse_value(c, name)
        if name in values:
            c.note(catalog.duplicate_attribute(name, c.span(first)))
        values[name] = value
        if not c.accept(","):
            break
    c.take(closing, f"`,` or `{closing}`")
    return Attrs(values)


def parse_value(c: Cursor, name: str) -> AttrValue:
    """Read the value of the attribute ``name``."""
    return _value(c, name, 0)


def _value(c: Cursor, name: str, depth: int) -> AttrValue:
    kind = c.kinds[c.at]
    if kind == "[":
        return _list(c, name, depth + 1)
    if kind == "FLOAT" or kind == "inf":
        return _float(c)
    if kind == "-" and c.kinds[c.at + 1] in ("FLOAT", "inf"):
        c.take("-")
        return -_float(c)
    if kind in _DIM_STARTS:
        return _dim(c, name)
    return _word(c)


def _word(c: Cursor) -> AttrValue:
    kind = c.kind
    if kind == "STRING":
        return c.string("")
    if kind == "DTYPE":
        return DTYPES[c.take(kind)]
    if kind not in ("true", "false", "none", "nan"):
        raise c.error("the value of an attribute")
    c.take(kind)
    return {"true": True, "false": False, "none": None, "nan": math.nan}[kind]


def _dim(c: Cursor, name: str) -> AttrValue:
    first, noted = c.at, len(c.found)
    dim = parse_dim(c)
    if not isinstance(dim, Unknown):
        return dim
    if len(c.found) == noted:
        c.note(catalog.unknown_attribute_dim(name, c.since(first)))
    return None


def _float(c: Cursor) -> float:
    value = float(c.take(c.kind))
    if math.isinf(value) and c.kinds[c.at - 1] != "inf":
        word, span = c.words[c.at - 1], c.span(c.at - 1)
        c.note(catalog.literal_out_of_range(word[:60], "f64", "no number so large", span))
    return value


def _list(c: Cursor, name: str, depth: int) -> AttrValue:
    if depth > MAX_LIST_DEPTH:
        raise CompileError(catalog.text_nests_too_deep("lists", MAX_LIST_DEPTH, c.span(c.at)))
    c.take("[")
    if c.accept("]"):
        return ()
    values: list[AttrValue] = []
    while True:
        values.append(_value(c, name, depth))
        if not c.accept(","):
            break
    c.take("]", "`,` or `]`")
    return tuple(values)
