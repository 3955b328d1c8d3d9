"""What walking a block needs to know of it: what a pattern binds, and when values are read last."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reference_vm.ir.nodes import (
    Binding,
    BindPattern,
    Block,
    ConstructorPattern,
    Pattern,
    TuplePattern,
    Var,
    blocks,
    operands,
)


def matched(pattern: Pattern, value: Any) -> Mapping[Var, Any] | None:
    """Return what the variables of ``pattern`` are, or ``None`` if it does not match ``value``.

    A value of a data type is a tuple that begins with its constructor's name.
    """
    bound: dict[Var, Any] = {}
    stack: list[tuple[Pattern, Any]] = [(pattern, value)]
    while stack:
        top, found = stack.pop()
        match top:
            case BindPattern(var=var):
                bound[var] = found
            case TuplePattern(items=items):
                stack.extend(zip(items, found, strict=True))
            case ConstructorPattern(constructor=name, items=items):
                if found[0] != name:
                    return None
                stack.extend(zip(items, found[1:], strict=True))
            case _:
                pass
    return bound


def last_reads(block: Block) -> dict[int, list[Var]]:
    """Return, by position, the block's own variables that are read there for the last time.

    A variable is kept while a nested block may still read it; so are the block's result and all
    that was bound outside.
    """
    own: set[Var] = set()
    last: dict[Var, int] = {}
    for position, binding in enumerate(block.bindings()):
        own.add(binding.var)
        last[binding.var] = position
        for var in _reads(binding):
            last[var] = position
    ends: dict[int, list[Var]] = {}
    for var, position in last.items():
        if var in own and var is not block.result:
            ends.setdefault(position, []).append(var)
    return ends


def _reads(binding: Binding) -> Iterator[Var]:
    stack = [binding.value]
    while stack:
        expr = stack.pop()
        yield from operands(expr)
        for block in blocks(expr):
            yield block.result
            stack.extend(b.value for b in block.bindings())
