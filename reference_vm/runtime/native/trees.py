"""How values lie in slots: a tensor, or whatever has no parts, in one, and a tuple in many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias, Union

from reference_vm.bytecode.executable import Executable, FunctionCode
from reference_vm.bytecode.instructions import (
    GetField,
    Instruction,
    Invoke,
    InvokeClosure,
    MakeClosure,
    MakeTuple,
    Move,
    Project,
    Register,
    writes,
)
from reference_vm.types import AdtType, FunctionType, TupleType, Type

Tree: TypeAlias = Union[tuple["Tree", ...], None]
"""How a value is made of slots: ``None`` is one slot, a tuple those of its items."""

LEAF: Final = None


def count(tree: Tree) -> int:
    """Return how many slots a tree has."""
    return 1 if tree is None else sum(map(count, tree))


def tree_of(type_: Type | None) -> Tree:
    """Return the tree of a type."""
    return tuple(map(tree_of, type_.items)) if isinstance(type_, TupleType) else LEAF


def register_trees(executable: Executable, code: FunctionCode) -> list[Tree]:
    """Return the tree of each register; a leaf where two ways disagree."""
    types = _types(executable, code)
    found: dict[Register, Tree] = {i: tree_of(p.type) for i, p in enumerate(code.params)}
    fixed: set[Register] = set()
    changed = True
    while changed:
        changed = False
        for instruction in code.instructions:
            for register in writes(instruction):
                tree = LEAF if register in fixed else _made(instruction, found, types)
                if register not in found:
                    found[register] = tree
                elif found[register] != tree:
                    found[register] = LEAF
                    fixed.add(register)
                    changed = True
    return [found.get(r) for r in range(code.registers)]


def _made(
    instruction: Instruction, trees: Mapping[Register, Tree], types: Mapping[Register, Type]
) -> Tree:
    """Return the tree of what an instruction makes."""
    match instruction:
        case MakeTuple(items=items):
            return tuple(trees.get(i) for i in items)
        case Project(source=source, index=index):
            tree = trees.get(source)
            return tree[index] if tree is not None and index < len(tree) else LEAF
        case Move(source=source):
            return trees.get(source)
        case Invoke(target=target) | InvokeClosure(target=target) | GetField(target=target):
            return tree_of(types.get(target))
        case _:
            return LEAF


def _types(executable: Executable, code: FunctionCode) -> Mapping[Register, Type]:
    """Return the types of registers, of those that are known before a run.

    A register that is set on several ways has one type on all of them, but for dims.
    """
    found: dict[Register, Type] = {i: p.type for i, p in enumerate(code.params)}
    for instruction in code.instructions:
        for register in writes(instruction):
            type_ = _type(executable, instruction, found)
            if type_ is not None:
                found.setdefault(register, type_)
    return found


def _type(
    executable: Executable, instruction: Instruction, types: Mapping[Register, Type]
) -> Type | None:
    match instruction:
        case Move(source=source):
            return types.get(source)
        case Project(source=source, index=index):
            whole = types.get(source)
            return whole.items[index] if isinstance(whole, TupleType) else None
        case Invoke(function=function):
            return executable.functions[function].result
        case MakeClosure(function=function, captured=captured):
            callee = executable.functions[function]
            return FunctionType(
                tuple(p.type for p in callee.params[len(captured) :]), callee.result
            )
        case InvokeClosure(closure=closure):
            called = types.get(closure)
            return called.result if isinstance(called, FunctionType) else None
        case GetField(source=source, data_type=data_type, tag=tag, index=index):
            whole = types.get(source)
            if not isinstance(whole, AdtType):
                return None
            return executable.field_types(data_type, tag, whole.args)[index]
        case _:
            return None


__all__ = ["LEAF", "Tree", "count", "register_trees", "tree_of"]
