"""Walking and rebuilding blocks: what every pass needs and no pass should write again.

A variable carries its type and is equal only to itself, so changing a type means a new variable,
and whoever reads the old one must be told. All functions here are pure: they return new nodes.
Statements are walked by loops, nested regions by recursion; ``infer-types`` refuses programs that
nest regions deeper than `MAX_DEPTH`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from reference_vm.ir.nodes import (
    Arm,
    Binding,
    BindPattern,
    Block,
    Closure,
    ConstructorPattern,
    Dataflow,
    Expr,
    Function,
    Match,
    Pattern,
    Statement,
    TuplePattern,
    Var,
    blocks,
    operands,
    with_blocks,
    with_operands,
)
from reference_vm.types import Type, VirtualDevice

MAX_DEPTH: Final = 100
"""How deep ``if``, ``match`` and closures may nest in what the compiler accepts."""


def with_type(var: Var, type_: Type | None) -> Var:
    """Return a new variable with this type, and the name, span and source of ``var``."""
    return Var(var.name, type_, var.span, var.source, var.node)


def fresh(var: Var) -> Var:
    """Return a new variable like ``var``."""
    return with_type(var, var.type)


def walk(block: Block) -> Iterator[Binding]:
    """Yield every binding in ``block``, those of nested blocks included, in program order.

    A binding comes before those of the blocks inside its expression.
    """
    stack: list[Iterator[Binding]] = [block.bindings()]
    while stack:
        binding = next(stack[-1], None)
        if binding is None:
            stack.pop()
            continue
        yield binding
        stack.extend(inner.bindings() for inner in reversed(blocks(binding.value)))


def results(block: Block) -> Iterator[Var]:
    """Yield the results of ``block`` and of every block nested in it."""
    for binding in walk(block):
        for inner in blocks(binding.value):
            yield inner.result
    yield block.result


def pattern_vars(pattern: Pattern) -> Iterator[Var]:
    """Yield the variables that ``pattern`` binds, from left to right."""
    stack: list[Pattern] = [pattern]
    while stack:
        top = stack.pop()
        if isinstance(top, BindPattern):
            yield top.var
        elif isinstance(top, ConstructorPattern | TuplePattern):
            stack.extend(reversed(top.items))


def introduced(expr: Expr) -> Iterator[Var]:
    """Yield the variables that ``expr`` binds for its blocks: pattern variables and parameters."""
    if isinstance(expr, Match):
        for arm in expr.arms:
            yield from pattern_vars(arm.pattern)
    elif isinstance(expr, Closure):
        yield from expr.params


def bound(block: Block) -> Iterator[Var]:
    """Yield every variable bound in ``block`` or in a block nested in it."""
    for binding in walk(block):
        yield binding.var
        yield from introduced(binding.value)


def free_vars(block: Block) -> tuple[Var, ...]:
    """Return the variables that ``block`` reads and does not bind, each once, as first read."""
    own = set(bound(block))
    read: dict[Var, None] = {}
    for binding in walk(block):
        read.update(dict.fromkeys(operands(binding.value)))
        read.update(dict.fromkeys(inner.result for inner in blocks(binding.value)))
    read[block.result] = None
    return tuple(var for var in read if var not in own)


def flatten(block: Block) -> Block:
    """Return ``block`` without dataflow blocks around its own bindings."""
    if not any(isinstance(s, Dataflow) for s in block.statements):
        return block
    return Block(tuple(block.bindings()), block.result)


def substitute(expr: Expr, variables: Mapping[Var, Var]) -> Expr:
    """Return ``expr`` reading ``variables[v]`` for each ``v`` that is a key, in its blocks too."""
    if not variables:
        return expr
    inner = blocks(expr)
    read = with_operands(expr, variables)
    if not inner:
        return read
    return with_blocks(read, [substitute_block(b, variables) for b in inner])


def substitute_block(block: Block, variables: Mapping[Var, Var]) -> Block:
    """Return ``block`` reading ``variables[v]`` for each ``v`` that is a key."""

    def binding(old: Binding) -> Binding:
        return replace(old, value=substitute(old.value, variables))

    return Block(
        tuple(map_statement(s, binding, variables) for s in block.statements),
        variables.get(block.result, block.result),
    )


def map_statement(
    statement: Statement,
    change: Callable[[Binding], Binding],
    variables: Mapping[Var, Var],
) -> Statement:
    """Return ``statement`` with each binding changed and the outputs of a dataflow renamed."""
    if isinstance(statement, Binding):
        return change(statement)
    return replace(
        statement,
        bindings=tuple(map(change, statement.bindings)),
        outputs=tuple(variables.get(v, v) for v in statement.outputs),
    )


def rebuild(
    block: Block,
    change: Callable[[Binding], Iterable[Binding]],
    renamed: dict[Var, Var],
) -> Block:
    """Return ``block``, flattened, with each binding replaced by what ``change`` makes of it.

    ``change`` sees a binding whose operands are already renamed by ``renamed`` and whose nested
    blocks are already rebuilt. It may add to ``renamed`` what later readers are to read instead:
    it drops a binding by returning ``()`` and renaming its variable. The block around a nested
    block is rebuilt after it, so names found inside must not be used outside.
    """
    statements: list[Binding] = []
    for old in block.bindings():
        value = with_operands(old.value, renamed) if renamed else old.value
        inner = blocks(value)
        if inner:
            value = with_blocks(value, [rebuild(b, change, renamed) for b in inner])
        statements.extend(change(old if value is old.value else replace(old, value=value)))
    return Block(tuple(statements), renamed.get(block.result, block.result))


def clone(block: Block, variables: Mapping[Var, Var] | None = None) -> Block:
    """Return a copy of ``block`` that binds new variables, reading ``variables[v]`` for ``v``."""
    renamed = dict(variables or {})
    return _clone(block, renamed, fresh)


def renamed(function: Function, new: Callable[[Var], Var]) -> Function:
    """Return ``function`` with ``new(v)`` for each variable ``v`` that it binds."""
    variables = {param: new(param) for param in function.params}
    params = tuple(variables.values())
    return replace(function, params=params, body=_clone(function.body, variables, new))


def retype(
    function: Function,
    change: Callable[[Type], Type],
    request: Callable[[VirtualDevice], VirtualDevice] = lambda vdevice: vdevice,
) -> Function:
    """Return ``function`` with every type in it changed, and every placement suffix."""

    def new(var: Var) -> Var:
        return with_type(var, None if var.type is None else change(var.type))

    renamed = {param: new(param) for param in function.params}
    params = tuple(renamed.values())
    body = _clone(function.body, renamed, new, change, request)
    return replace(function, params=params, result=change(function.result), body=body)


def _clone(
    block: Block,
    renamed: dict[Var, Var],
    new: Callable[[Var], Var],
    change: Callable[[Type], Type] = lambda type_: type_,
    request: Callable[[VirtualDevice], VirtualDevice] = lambda vdevice: vdevice,
) -> Block:
    def binding(old: Binding) -> Binding:
        for var in introduced(old.value):
            renamed[var] = new(var)
        value = with_operands(_with_introduced(old.value, renamed), renamed)
        if isinstance(value, Closure):
            value = replace(value, result=change(value.result))
        inner = blocks(value)
        if inner:
            value = with_blocks(value, [_clone(b, renamed, new, change, request) for b in inner])
        renamed[old.var] = new(old.var)
        place = request(old.request) if old.request is not None else None
        return Binding(renamed[old.var], value, place)

    statements: list[Statement] = []
    for statement in block.statements:
        if isinstance(statement, Binding):
            statements.append(binding(statement))
        else:
            inside = tuple(map(binding, statement.bindings))
            outputs = tuple(renamed[v] for v in statement.outputs)
            statements.append(replace(statement, bindings=inside, outputs=outputs))
    return Block(tuple(statements), renamed.get(block.result, block.result))


def _with_introduced(expr: Expr, renamed: Mapping[Var, Var]) -> Expr:
    if isinstance(expr, Match):
        arms = tuple(Arm(renamed_pattern(a.pattern, renamed), a.body) for a in expr.arms)
        return replace(expr, arms=arms)
    if isinstance(expr, Closure):
        return replace(expr, params=tuple(renamed[p] for p in expr.params))
    return expr


def renamed_pattern(pattern: Pattern, renamed: Mapping[Var, Var]) -> Pattern:
    """Return ``pattern`` binding ``renamed[v]`` for each ``v`` that is a key."""
    match pattern:
        case BindPattern(var=var):
            return BindPattern(renamed.get(var, var))
        case ConstructorPattern(items=items) | TuplePattern(items=items):
            return replace(pattern, items=tuple(renamed_pattern(p, renamed) for p in items))
        case _:
            return pattern


def depth(block: Block) -> int:
    """Return how deep blocks nest in ``block``: 0 if it holds none."""
    deepest = 0
    stack = [(block, 0)]
    while stack:
        top, level = stack.pop()
        deepest = max(deepest, level)
        stack.extend((b, level + 1) for x in top.bindings() for b in blocks(x.value))
    return deepest


__all__ = [
    "MAX_DEPTH",
    "bound",
    "clone",
    "depth",
    "flatten",
    "free_vars",
    "fresh",
    "introduced",
    "map_statement",
    "pattern_vars",
    "rebuild",
    "renamed_pattern",
    "results",
    "retype",
    "substitute",
    "substitute_block",
    "walk",
    "with_type",
]
