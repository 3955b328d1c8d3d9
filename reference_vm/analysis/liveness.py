"""Where memory is used for the last time.

For the body::

    %s = @add(%a, %b)
    %r = reshape(%s, %to)
    %t = @exp(%r)              // last use of %s's memory
    %u = @multiply(%t, %t)     // last use of %t's memory
    return %u

the memory of ``%s`` is at home in the body and ends after binding 2, that of ``%t`` after binding
3; what the function returns ends nowhere. Memory that an arm of an ``if`` hands out is at home in
the block around it and ends there, after the last binding that uses it on any path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, final

from reference_vm.analysis.aliases import Aliases, Leaf
from reference_vm.ir.nodes import Block, Function, Var, blocks, operands

Place: TypeAlias = "tuple[int, int]"
"""A block, by its number in program order, and a position in it."""


@final
@dataclass
class Liveness:
    """The life of each class of `aliases`, named by its leaf."""

    home: dict[Leaf, int] = field(default_factory=dict)
    """The number of the outermost block that binds a variable of the class."""

    end: dict[Leaf, Place] = field(default_factory=dict)
    """The last binding of the home block that uses the class."""

    immortal: set[Leaf] = field(default_factory=set)
    """Classes that outlive the function: what it returns, and what it was given."""

    numbers: dict[int, int] = field(default_factory=dict)
    """The number of each block, by ``id``; the blocks are those of the function analysed."""


def liveness(function: Function, found: Aliases) -> Liveness:
    """Return the life of every class in ``function``."""
    analysis = _Liveness(found)
    for var in (*function.params, function.body.result):
        analysis.result.immortal.update(found.classes(var))
    analysis.block(function.body, 0)
    return analysis.result


@final
@dataclass
class _Liveness:
    found: Aliases
    result: Liveness = field(default_factory=Liveness)
    depth: dict[Leaf, int] = field(default_factory=dict)

    def block(self, block: Block, depth: int) -> set[Leaf]:
        """Note what happens in ``block``; return the classes that it uses."""
        number = len(self.result.numbers)
        self.result.numbers[id(block)] = number
        for binding in block.bindings():
            self._bind(binding.var, number, depth)
        last: dict[Leaf, int] = {}
        for position, binding in enumerate(block.bindings()):
            used = self._classes((binding.var, *operands(binding.value)))
            for inner in blocks(binding.value):
                used |= self.block(inner, depth + 1)
            last.update(dict.fromkeys(used, position))
        last.update(dict.fromkeys(self._classes((block.result,)), len(block.statements) - 1))
        for leaf, position in last.items():
            if self.result.home.get(leaf) == number:
                self.result.end[leaf] = (number, position)
        return set(last)

    def _bind(self, var: Var, number: int, depth: int) -> None:
        for leaf in self.found.classes(var):
            if depth < self.depth.get(leaf, depth + 1):
                self.depth[leaf] = depth
                self.result.home[leaf] = number

    def _classes(self, variables: tuple[Var, ...]) -> set[Leaf]:
        return {leaf for v in variables for leaf in self.found.classes(v)}


def last_uses(function: Function, found: Aliases) -> Mapping[Place, list[Leaf]]:
    """Return the classes that end after each binding, in the order of their leaves."""
    lives = liveness(function, found)
    ending: dict[Place, list[Leaf]] = {}
    for leaf, place in sorted(lives.end.items()):
        if leaf not in lives.immortal:
            ending.setdefault(place, []).append(leaf)
    return ending


__all__ = ["Liveness", "Place", "last_uses", "liveness"]
