"""The names that variables have in a text: each its own, unless two share it.

A name that one variable of a function has is kept. Of several variables called ``x`` the first
is ``%x``, the others ``%x.1``, ``%x.2``, past names that are taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import final

from reference_vm.ir import nodes
from reference_vm.ir.rules.events import bound_by
from reference_vm.text.lexer import identifier


@final
class Names(dict[nodes.Var, str]):
    """From each variable of a function to its name with sigil, quoted where it must be."""

    @classmethod
    def of(cls, function: nodes.Function) -> Names:
        """Return the names of all variables of ``function``, bound or only read."""
        variables = dict.fromkeys(variables_of(function))
        taken = Counter(var.name for var in variables)
        seen: set[str] = set()
        last: dict[str, int] = {}
        names = cls()
        for var in variables:
            name = var.name
            if name in seen:
                number = last.get(name, 0) + 1
                while f"{name}.{number}" in taken:
                    number += 1
                last[name] = number
                name = f"{name}.{number}"
                taken[name] += 1
            seen.add(name)
            names[var] = f"%{identifier(name)}"
        return names


def variables_of(function: nodes.Function) -> Iterator[nodes.Var]:
    """Yield every variable of ``function`` in text order, each as often as it stands there."""
    yield from function.params
    stack: list[Iterator[nodes.Var | nodes.Block]] = [_of_block(function.body)]
    while stack:
        item = next(stack[-1], None)
        if item is None:
            stack.pop()
        elif isinstance(item, nodes.Block):
            stack.append(_of_block(item))
        else:
            yield item


def _of_block(block: nodes.Block) -> Iterator[nodes.Var | nodes.Block]:
    """Yield the variables of a block, and the blocks inside it where they stand."""
    for statement in block.statements:
        if isinstance(statement, nodes.Binding):
            yield from _of_binding(statement)
            continue
        for binding in statement.bindings:
            yield from _of_binding(binding)
        yield from statement.outputs
    yield block.result


def _of_binding(binding: nodes.Binding) -> Iterator[nodes.Var | nodes.Block]:
    yield binding.var
    value = binding.value
    yield from nodes.operands(value)
    match value:
        case nodes.If():
            yield value.then
            yield value.orelse
        case nodes.Match(arms=arms):
            for arm in arms:
                yield from bound_by(arm.pattern)
                yield arm.body
        case nodes.Closure(params=params, body=body):
            yield from params
            yield body
