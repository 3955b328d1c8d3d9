"""What makes cells.

There is one record for all values that a constructor makes of fields that lie alike, and one for
all closures of a function with so many arguments captured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from reference_vm.bytecode.executable import FunctionCode
from reference_vm.runtime.native.heap import Heap
from reference_vm.runtime.native.layout import SLOT, WORD, Cell, Maker
from reference_vm.runtime.native.memory import size_class
from reference_vm.runtime.native.trees import Tree, count, tree_of


@final
@dataclass(frozen=True, slots=True)
class Constructor:
    """What makes a value of a data type."""

    data_type: int
    tag: int
    trees: tuple[Tree, ...]
    """Of the fields."""


@final
@dataclass(frozen=True, slots=True)
class Lambda:
    """What makes a closure."""

    function: int
    trees: tuple[Tree, ...]
    """Of the captured values."""


@final
class Makers:
    """The makers of a program, and the numbers of trees."""

    def __init__(self, functions: Sequence[FunctionCode], records: Sequence[int]) -> None:
        self._functions = functions
        self._records = records
        self._heap = Heap()
        self._addresses: dict[Constructor | Lambda, int] = {}
        self._made: dict[int, Constructor | Lambda] = {}
        self._trees: dict[Tree, int] = {}

    def __getitem__(self, address: int) -> Constructor | Lambda:
        """Return what a maker is."""
        return self._made[address]

    def tree(self, tree: Tree) -> int:
        """Return the number of a tree."""
        return self._trees.setdefault(tree, len(self._trees))

    def address(self, maker: Constructor | Lambda) -> int:
        """Return where the record of a maker stands."""
        found = self._addresses.get(maker)
        if found is None:
            found = self._addresses[maker] = self._heap.put(self._words(maker))
            self._made[found] = maker
        return found

    def closure(self, function: int, captured: int) -> Lambda:
        """Return what makes closures of a function that have so many arguments."""
        params = self._functions[function].params
        return Lambda(function, tuple(tree_of(p.type) for p in params[:captured]))

    def _words(self, maker: Constructor | Lambda) -> Sequence[int]:
        slots = sum(map(count, maker.trees))
        words = [0] * Maker.PARTS
        words[Maker.NUMBER] = len(self._made)
        words[Maker.SLOTS] = slots
        words[Maker.CLASS] = size_class((Cell.SLOTS + SLOT * slots) * WORD)
        words[Maker.FIELDS] = len(maker.trees)
        if isinstance(maker, Constructor):
            words[Maker.TAG] = maker.tag
        else:
            code = self._functions[maker.function]
            rest = tuple(tree_of(p.type) for p in code.params[len(maker.trees) :])
            words[Maker.TAG] = -1
            words[Maker.FUNCTION] = self._records[maker.function]
            words[Maker.REST] = self.tree(rest)
            words[Maker.RESULT] = self.tree(tree_of(code.result))
        at = int(Cell.SLOTS)
        for tree in maker.trees:
            words += [at, self.tree(tree)]
            at += SLOT * count(tree)
        return words


__all__ = ["Constructor", "Lambda", "Makers"]
