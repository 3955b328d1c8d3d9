"""The last touch on an imported block: names are put in, constants that no one reads go.

Before, with axes read from a constant while translating::

    %const = const i64[1] [1]
    %squeeze = squeeze(%x, axes = [1])      // known to be the node's output "y"
    return %squeeze

After::

    %y = squeeze(%x, axes = [1])
    return %y
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reference_vm.exchange.builder import Names
from reference_vm.ir.nodes import (
    Binding,
    Block,
    Constant,
    Expr,
    If,
    ShapeLiteral,
    Var,
    blocks,
    operands,
    with_blocks,
    with_operands,
)


def finished(block: Block, params: tuple[Var, ...], names: Names) -> tuple[Block, tuple[Var, ...]]:
    """Return the block and the parameters with their final names; nothing read is lost."""
    read = _read(block)
    _name_the_nameless(block, read, names)
    final = {var: replace(var, name=name) for var, name in names.given.items()}
    return _renamed(block, read, final), tuple(final[p] for p in params)


def _read(block: Block) -> set[Var]:
    """Return every variable read in ``block`` and the blocks inside it."""
    read: set[Var] = set()
    pending = [block]
    while pending:
        current = pending.pop()
        read.add(current.result)
        for binding in current.bindings():
            read.update(operands(binding.value))
            pending.extend(blocks(binding.value))
    return read


def _is_kept(binding: Binding, read: set[Var]) -> bool:
    return binding.var in read or not isinstance(binding.value, Constant | ShapeLiteral)


def _name_the_nameless(block: Block, read: set[Var], names: Names) -> None:
    """Call each unnamed variable after the next named one, whose translation it is part of."""
    pending = [block]
    while pending:
        current = pending.pop()
        owner = ""
        for binding in reversed(tuple(current.bindings())):
            owner = names.given.get(binding.var, owner)
            if binding.var not in names.given and _is_kept(binding, read):
                stem = f"{owner}.{binding.var.name}" if owner else binding.var.name
                names.give(binding.var, stem)
            pending.extend(blocks(binding.value))


def _renamed(block: Block, read: set[Var], final: Mapping[Var, Var]) -> Block:
    kept = (b for b in block.bindings() if _is_kept(b, read))
    statements = tuple(Binding(final[b.var], _renamed_value(b.value, read, final)) for b in kept)
    return Block(statements, final[block.result])


def _renamed_value(value: Expr, read: set[Var], final: Mapping[Var, Var]) -> Expr:
    renamed = with_operands(value, final)
    if not isinstance(renamed, If):
        return renamed
    return with_blocks(renamed, [_renamed(b, read, final) for b in blocks(renamed)])
