"""Who owns each piece of memory that a function makes, and where it dies, path by path.

Each tensor of a variable is a *leaf*. What makes memory *owns* it: a kernel, a copy, an operator on
the host. A view, an alias, a tuple or an item of one is another name for what somebody owns. What a
branch yields is owned by the branch's own result: the arm hands it over if nothing else reads it
later, and otherwise both *share* it. A donated parameter that is
a tensor owns what the caller gave away. For::

    %s = @add(%a, %b)
    %r = reshape(%s, %to)
    %t = if %c { yield %r } else { %e = @exp(%a) yield %e }
    %u = @log(%t)

the memory of ``%s`` is handed over to ``%t`` in the first arm and dies where the second begins;
that of ``%e`` is handed over to ``%t``, and ``%t`` dies after ``%u``. Of values whose holds are
counted (`analysis.counted`) nothing is said here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias, final

from reference_vm.analysis.aliases import leaf_count
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Block,
    Call,
    Constant,
    Function,
    Invoke,
    MakeTuple,
    Project,
    Var,
    Weight,
    blocks,
    operands,
)
from reference_vm.ops.definition import OpDef, is_view
from reference_vm.types import TensorType, TupleType

Owner: TypeAlias = "tuple[Var, int]"
"""A variable that is given memory, and which of its leaves."""

Root: TypeAlias = "Owner | None"
"""Whose memory a leaf is; ``None``: a parameter's, a constant's, or counted."""

Place: TypeAlias = "tuple[int, int]"
"""A block, by its number in program order, and the position of a binding in it."""

START: Final = -1
"""The position before the first binding of a block."""


@final
@dataclass
class Owners:
    """The owners of one function."""

    roots: dict[Var, tuple[Root, ...]] = field(default_factory=dict)
    """Of each variable's leaves."""

    branches: dict[Owner, list[Root]] = field(default_factory=dict)
    """Of the owners that are a branch's result, what each arm yields."""

    deaths: dict[Place, list[Owner]] = field(default_factory=lambda: defaultdict(list))
    """Who dies after each binding, or at the start of a block."""

    shared: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """By the number of an arm, the leaves of its result that live on elsewhere too."""

    returned: set[Owner] = field(default_factory=set)
    """Those that the function returns, on some path."""

    given: set[Owner] = field(default_factory=set)
    """Those that the caller gave away: donated parameters."""

    divided: set[Owner] = field(default_factory=set)
    """Those that live on elsewhere where an arm yields them: their memory has other names."""

    numbers: dict[int, int] = field(default_factory=dict)
    """The number of each block, by ``id``."""

    def of_leaves(self, var: Var) -> tuple[Root, ...]:
        """Return whose memory each leaf of ``var`` is."""
        return self.roots.get(var) or (None,) * leaf_count(var.type)

    def of(self, variables: Iterable[Var]) -> set[Owner]:
        """Return the owners of all that ``variables`` name."""
        return {root for v in variables for root in self.roots.get(v, ()) if root is not None}


def owners(function: Function, ops: Mapping[str, OpDef], counted: frozenset[Var]) -> Owners:
    """Return the owners of ``function``, and where they die."""
    found = Owners()
    for position in sorted(function.donated):
        param = function.params[position]
        if param not in counted and isinstance(param.type, TensorType):
            found.roots[param] = ((param, 0),)
            found.given.add((param, 0))
    _Roots(found, ops, counted).block(function.body)
    found.returned = found.of((function.body.result,))
    deaths = _Deaths(found, {var: position for position, var in enumerate(found.roots)})
    wanted = deaths.block(function.body, set(found.returned))
    deaths.die(found.given - wanted, (0, START))
    return found


@final
@dataclass
class _Roots:
    """Says of each variable who owns it, in program order."""

    found: Owners
    ops: Mapping[str, OpDef]
    counted: frozenset[Var]

    def block(self, block: Block) -> None:
        self.found.numbers[id(block)] = len(self.found.numbers)
        for binding in block.bindings():
            for inner in blocks(binding.value):
                self.block(inner)
            self.found.roots[binding.var] = self._roots(binding)

    def _roots(self, binding: Binding) -> tuple[Root, ...]:
        var = binding.var
        if var in self.counted:
            return (None,) * leaf_count(var.type)
        match binding.value:
            case Alias(var=source):
                return self.found.of_leaves(source)
            case MakeTuple(items=items):
                return tuple(root for item in items for root in self.found.of_leaves(item))
            case Project(tuple=source, index=index):
                return self._item(source, index)
            case Call(op=op, args=(Var() as viewed, *_)) if is_view(self.ops, op):
                return self.found.of_leaves(viewed)
            case Call() | Invoke():
                return tuple((var, i) for i in range(leaf_count(var.type)))
            case Constant() | Weight():
                return (None,) * leaf_count(var.type)
            case value if blocks(value):
                return self._branch(var, blocks(value))
            case _:
                return (None,) * leaf_count(var.type)

    def _item(self, source: Var, index: int) -> tuple[Root, ...]:
        assert isinstance(source.type, TupleType)
        start = sum(leaf_count(t) for t in source.type.items[:index])
        return self.found.of_leaves(source)[start : start + leaf_count(source.type.items[index])]

    def _branch(self, var: Var, arms: tuple[Block, ...]) -> tuple[Root, ...]:
        yielded = [self.found.of_leaves(arm.result) for arm in arms]
        roots: list[Root] = []
        for i in range(leaf_count(var.type)):
            sources = [leaves[i] for leaves in yielded]
            if all(source is None for source in sources):
                roots.append(None)
                continue
            self.found.branches[var, i] = sources
            roots.append((var, i))
        return tuple(roots)


@final
@dataclass
class _Deaths:
    """Walks blocks backwards, knowing whose memory is still wanted."""

    found: Owners
    order: Mapping[Var, int]
    """Where each variable is bound, in program order: that in which those die that die at once."""

    def block(self, block: Block, after: set[Owner]) -> set[Owner]:
        """Note the deaths in a block; return who is wanted before it, ``after`` being wanted then.

        ``after`` is changed.
        """
        number = self.found.numbers[id(block)]
        for position, binding in reversed(tuple(enumerate(block.bindings()))):
            place = (number, position)
            inner = blocks(binding.value)
            if inner:
                self._branch(binding, inner, place, after)
            else:
                self._binding(binding, place, after)
        return after

    def _binding(self, binding: Binding, place: Place, after: set[Owner]) -> None:
        used = self.found.of(operands(binding.value))
        made = {o for o in self.found.of((binding.var,)) if o[0] is binding.var}
        self.die((used | made) - after, place)
        after |= used
        after -= made

    def _branch(
        self, binding: Binding, arms: tuple[Block, ...], place: Place, after: set[Owner]
    ) -> None:
        made = {o for o in self.found.of((binding.var,)) if o[0] is binding.var}
        self.die(made - after, place)
        after -= made
        wanted = [self._arm(binding.var, arm, after) for arm in arms]
        before = after.union(*wanted, self.found.of(operands(binding.value)))
        for arm, within in zip(arms, wanted, strict=True):
            self.die(before - within, (self.found.numbers[id(arm)], START))
        after |= before

    def _arm(self, var: Var, arm: Block, after: set[Owner]) -> set[Owner]:
        """Settle what an arm hands over; return who is wanted before it."""
        number = self.found.numbers[id(arm)]
        wanted = set(after)
        for i, root in enumerate(self.found.of_leaves(arm.result)):
            if self.found.roots[var][i] is None:
                continue
            if root is None or root in wanted:
                self.found.shared[number].append(i)
                self.found.divided.update(() if root is None else (root,))
            else:
                wanted.add(root)
        # What is handed over is wanted up to the arm's end, and nobody's to give back there.
        return self.block(arm, wanted)

    def die(self, dying: set[Owner], place: Place) -> None:
        """Note who dies at a place."""
        self.found.deaths[place] += sorted(dying, key=lambda o: (self.order[o[0]], o[1]))


__all__ = ["START", "Owner", "Owners", "Place", "Root", "owners"]
