"""Signatures and bodies of functions, from tokens.

Regions nest by `ir.trampoline`, not by Python's stack.
"""

from __future__ import annotations

from typing import Final

from reference_vm.diagnostics import CompileError, catalog
from reference_vm.ir import nodes
from reference_vm.ir.trampoline import Steps, run
from reference_vm.text.expression_parser import parse_call, parse_flat
from reference_vm.text.pattern_parser import parse_pattern
from reference_vm.text.scope import Scope
from reference_vm.text.type_parser import parse_type
from reference_vm.types import Type

MAX_REGION_DEPTH: Final = 1000
"""How deep regions may nest."""


def parse_body(s: Scope) -> nodes.Block:
    """Read the block of a function of the module."""
    return run(_block(s, "return", 1))


def parse_signature(s: Scope) -> tuple[tuple[nodes.Var, ...], frozenset[int], Type]:
    """Read parameters and result type; return also which parameters are donated."""
    c = s.c
    params: list[nodes.Var] = []
    donated: set[int] = set()
    c.take("(")
    while c.kind == "LOCAL":
        var = s.typed()
        s.bind(var)
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


def _block(s: Scope, ending: str, depth: int) -> Steps[nodes.Block]:
    """Read ``{ … return %x }``, or with ``yield`` for ``return``."""
    c = s.c
    if depth > MAX_REGION_DEPTH:
        raise CompileError(catalog.text_nests_too_deep("regions", MAX_REGION_DEPTH, c.span(c.at)))
    c.take("{")
    statements: list[nodes.Statement] = []
    while not c.accept(ending):
        if c.kinds[c.at] == "LOCAL":
            binding: nodes.Binding = yield _binding(s, depth)
            statements.append(binding)
        elif c.kind == "dataflow":
            dataflow: nodes.Dataflow = yield _dataflow(s, depth)
            statements.append(dataflow)
        else:
            raise c.error(f"a statement or `{ending}`")
    result = s.read()
    span = c.span(c.at - 1)
    c.take("}")
    return nodes.Block(tuple(statements), result, span)


def _dataflow(s: Scope, depth: int) -> Steps[nodes.Dataflow]:
    c = s.c
    first = c.at
    c.take("dataflow")
    c.take("{")
    bindings: list[nodes.Binding] = []
    while not c.accept("output"):
        if c.kind != "LOCAL":
            raise c.error("a binding or `output`")
        binding: nodes.Binding = yield _binding(s, depth)
        bindings.append(binding)
    outputs: list[nodes.Var] = []
    if c.kind == "LOCAL":
        outputs.append(s.read())
        while c.accept(","):
            outputs.append(s.read())
    c.take("}", "`,` or `}`" if outputs else "a variable or `}`")
    return nodes.Dataflow(tuple(bindings), tuple(outputs), c.span(first))


def _binding(s: Scope, depth: int) -> Steps[nodes.Binding]:
    c = s.c
    var = s.target()
    value: nodes.Expr
    match c.kinds[c.at]:
        case "NAME":
            value = parse_call(s)
        case "if":
            value = yield _if(s, depth)
        case "match":
            value = yield _match(s, depth)
        case "fn":
            value = yield _closure(s, depth)
        case _:
            value = parse_flat(s)
    s.bind(var)
    return nodes.Binding(var, value, c.role() if c.kinds[c.at] == "GLOBAL" else None)


def _if(s: Scope, depth: int) -> Steps[nodes.If]:
    c = s.c
    first = c.at
    c.take("if")
    condition = s.read()
    then: nodes.Block = yield _block(s, "yield", depth + 1)
    c.take("else")
    orelse: nodes.Block = yield _block(s, "yield", depth + 1)
    return nodes.If(condition, then, orelse, c.span(first, first + 1))


def _match(s: Scope, depth: int) -> Steps[nodes.Match]:
    c = s.c
    first = c.at
    c.take("match")
    scrutinee = s.read()
    c.take("{")
    arms: list[nodes.Arm] = []
    while not arms or not c.accept("}"):
        start = c.at
        pattern = parse_pattern(s)
        span = c.since(start)
        c.take("=>")
        body: nodes.Block = yield _block(s, "yield", depth + 1)
        arms.append(nodes.Arm(pattern, body, span))
    return nodes.Match(scrutinee, tuple(arms), c.span(first, first + 1))


def _closure(s: Scope, depth: int) -> Steps[nodes.Closure]:
    c = s.c
    first = c.at
    c.take("fn")
    params, donated, result = parse_signature(s)
    if donated:
        c.note(catalog.donated_to_closure(c.span(first)))
    body: nodes.Block = yield _block(s, "return", depth + 1)
    return nodes.Closure(params, result, body, c.span(first))
