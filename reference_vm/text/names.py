"""The names that variables have in a text: each its own, unless two share it.

A name that one variable of a function has is kept. Of several variables called ``x`` the first
is ``%x``, the others ``%x.1``, ``%x.2``, past names that are taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from reference_vm.ir.nodes import Binding, Block, Closure, Function, If, Match, Var, operands
from reference_vm.ir.rules.events import bound_by
from reference_vm.text.lexer import identifier

Names: TypeAlias = Mapping[Var, str]
"""From a variable to its name with sigil, quoted where it must be."""


def names_in(function: Function) -> Names:
    """Return the names of all variables of ``function``, bound or only read."""
    variables = dict.fromkeys(variables_of(function))
    taken = Counter(var.name for var in variables)
    numbers: dict[str, int] = {}
    names: dict[Var, str] = {}
    for var in variables:
        name = var.name
        if name in numbers:
            name = _numbered(name, numbers, taken)
        else:
            numbers[name] = 0
        names[var] = f"%{identifier(name)}"
    return names


def _numbered(name: str, numbers: dict[str, int], taken: Counter[str]) -> str:
    """Return the next ``name.1``, ``name.2`` … that is not taken, and take it."""
    while True:
        numbers[name] += 1
        candidate = f"{name}.{numbers[name]}"
        if candidate not in taken:
            taken[candidate] += 1
            return candidate


def variables_of(function: Function) -> Iterator[Var]:
    """Yield every variable of ``function`` in text order, each as often as it stands there."""
    yield from function.params
    stack: list[Iterator[Var | Block]] = [_of_block(function.body)]
    while stack:
        item = next(stack[-1], None)
        if item is None:
            stack.pop()
        elif isinstance(item, Block):
            stack.append(_of_block(item))
        else:
            yield item


def _of_block(block: Block) -> Iterator[Var | Block]:
    """Yield the variables of a block, and the blocks inside it where they stand."""
    for statement in block.statements:
        if isinstance(statement, Binding):
            yield from _of_binding(statement)
            continue
        for binding in statement.bindings:
            yield from _of_binding(binding)
        yield from statement.outputs
    yield block.result


def _of_binding(binding: Binding) -> Iterator[Var | Block]:
    yield binding.var
    value = binding.value
    yield from operands(value)
    match value:
        case If():
            yield value.then
            yield value.orelse
        case Match(arms=arms):
            for arm in arms:
                yield from bound_by(arm.pattern)
                yield arm.body
        case Closure(params=params, body=body):
            yield from params
            yield body
