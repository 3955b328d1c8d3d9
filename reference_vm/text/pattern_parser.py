"""Patterns of `match`, from tokens."""

from __future__ import annotations

from typing import Final

from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir import nodes
from reference_vm.ir.trampoline import Steps, run
from reference_vm.text.scope import Scope

MAX_PATTERN_DEPTH: Final = 1000
"""How deep patterns may nest."""


def parse_pattern(s: Scope) -> nodes.Pattern:
    """Read a pattern, and bind its variables."""
    return run(_pattern(s, 1))


def _pattern(s: Scope, depth: int) -> Steps[nodes.Pattern]:
    c = s.c
    if depth > MAX_PATTERN_DEPTH:
        raise CompileError(catalog.text_nests_too_deep("patterns", MAX_PATTERN_DEPTH, c.span(c.at)))
    if c.accept("_"):
        return nodes.Wildcard()
    if c.kind == "LOCAL":
        name = c.name("LOCAL", "")
        var = nodes.Var(name, None, c.span(c.at - 1))
        s.bind(var)
        return nodes.BindPattern(var)
    if c.kind == "UNAME":
        span = c.span(c.at)
        constructor = c.take("UNAME")
        items: list[nodes.Pattern] = []
        if c.accept("("):
            item: nodes.Pattern = yield _pattern(s, depth + 1)
            items.append(item)
            while c.accept(","):
                item = yield _pattern(s, depth + 1)
                items.append(item)
            c.take(")", "`,` or `)`")
        return nodes.ConstructorPattern(constructor, tuple(items), span)
    tuple_pattern: nodes.Pattern = yield _tuple_pattern(s, depth)
    return tuple_pattern


def _tuple_pattern(s: Scope, depth: int) -> Steps[nodes.TuplePattern]:
    c = s.c
    span = c.span(c.at)
    c.take("(", "a pattern: `_`, a variable, a constructor or a tuple")
    first: nodes.Pattern = yield _pattern(s, depth + 1)
    items = [first]
    c.take(",", "`,`; a tuple of one is (_,)")
    while c.kind != ")":
        item: nodes.Pattern = yield _pattern(s, depth + 1)
        items.append(item)
        if not c.accept(","):
            break
        if c.kind == ")":
            raise c.error("a pattern")
    c.take(")", "`,` or `)`")
    return nodes.TuplePattern(tuple(items), span)
