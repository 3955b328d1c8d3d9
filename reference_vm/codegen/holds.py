"""Which holds a function takes and gives up, and where (`bytecode.instructions`).

Each variable whose value is counted has a hold of its own, from its binding to its last use on each
path. The last use hands the hold on where it can: to a callee, a data type, another name, the
caller. Any other use that takes the value over needs one more hold before, and a value whose last
use takes nothing over is given up after it. For::

    %l = Cons(%x, %rest)        // both handed over
    %m = Cons(%x, %l)           // so %x is shared before the first
    %n = @length(%m)            // handed over

A branch that does not use what another one does gives it up at its start. What a pattern finds in
a value is shared, then the value itself given up: a value that nobody else holds passes its fields
on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import final

from reference_vm.analysis.recursion import CLOSURE
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Block,
    Call,
    Constant,
    Construct,
    Expr,
    Function,
    GlobalRef,
    If,
    Invoke,
    MakeTuple,
    Match,
    Module,
    Project,
    Var,
    Weight,
    blocks,
    operands,
)
from reference_vm.ir.rewrite import pattern_vars
from reference_vm.ops.definition import OpDef, is_view


@final
@dataclass
class Holds:
    """The holds of one function."""

    shared_before: dict[Var, list[Var]] = field(default_factory=dict)
    """What is shared before a binding, by its variable; as often as it is listed."""

    shared_after: set[Var] = field(default_factory=set)
    """The variables that are shared once they are bound: items of tuples."""

    dead_after: dict[Var, list[Var]] = field(default_factory=dict)
    """What is given up after a binding, by its variable."""

    dead_at_start: dict[int, list[Var]] = field(default_factory=dict)
    """What is given up at the start of a block, by its ``id``."""

    found: dict[int, list[Var]] = field(default_factory=dict)
    """The variables of a pattern that its block uses, by the block's ``id``; each is shared."""

    shared_results: set[int] = field(default_factory=set)
    """The blocks, by ``id``, whose result is shared before it is handed out."""


def holds(
    function: Function,
    module: Module,
    ops: Mapping[str, OpDef],
    variables: Collection[Var],
    lent: bool,
) -> Holds:
    """Return where ``function`` takes and gives up holds on the counted ``variables``.

    With ``lent``, its parameters are not its own to give up.
    """
    finder = _Finder(module, ops, variables, set(function.params) if lent else set())
    live: dict[Var, None] = {}
    finder.block(function.body, live)
    unread = [p for p in function.params if finder.is_owned(p) and p not in live]
    if unread:
        finder.result.dead_at_start.setdefault(id(function.body), []).extend(unread)
    return finder.result


@final
@dataclass
class _Finder:
    """Walks blocks from their ends; what is *live* is used further on."""

    module: Module
    ops: Mapping[str, OpDef]
    counted: Collection[Var]
    lent: set[Var]
    constants: set[Var] = field(default_factory=set)
    result: Holds = field(default_factory=Holds)

    def is_owned(self, var: Var) -> bool:
        """Whether a variable has a hold that ends in this function."""
        return var in self.counted and var not in self.lent and var not in self.constants

    def block(self, block: Block, live: dict[Var, None]) -> None:
        """Walk a block; ``live`` is what is live after it, and then what is live before it."""
        bindings = tuple(block.bindings())
        self.constants.update(b.var for b in bindings if isinstance(b.value, Constant | Weight))
        if block.result in self.counted and self._take_over(block.result, live):
            self.result.shared_results.add(id(block))
        for binding in reversed(bindings):
            self._binding(binding, live)

    def _take_over(self, var: Var, live: dict[Var, None]) -> bool:
        """Note a use that takes ``var`` over; return whether it must be shared for it."""
        if var in self.constants or var not in self.counted:
            return False
        if var in self.lent or var in live:
            return True
        live[var] = None
        return False

    def _binding(self, binding: Binding, live: dict[Var, None]) -> None:
        var, value = binding.var, binding.value
        dead: list[Var] = []
        if self.is_owned(var):
            if isinstance(value, Project):
                self.result.shared_after.add(var)
            if var not in live:
                dead.append(var)
            live.pop(var, None)
        if isinstance(value, If | Match):
            self._arms(value, live)
        else:
            taken = self._taken(value)
            before = [v for v in taken if self._take_over(v, live)]
            if before:
                self.result.shared_before[var] = before
            dead += self._last_uses((v for v in operands(value) if v not in taken), live)
        if dead:
            self.result.dead_after[var] = dead

    def _last_uses(self, read: Iterable[Var], live: dict[Var, None]) -> list[Var]:
        """Return those of the variables that are read for the last time; all are live before."""
        last = [v for v in dict.fromkeys(read) if self.is_owned(v) and v not in live]
        live.update(dict.fromkeys(last))
        return last

    def _taken(self, value: Expr) -> tuple[Var, ...]:
        """Return the operands whose values an expression takes over, as often as it does."""
        match value:
            case Alias() | MakeTuple() | Construct():
                return operands(value)
            case Invoke(callee=GlobalRef(function=name)):
                is_kernel = self.module.by_name[name].is_primitive
                return () if is_kernel else operands(value)
            case Invoke():
                return operands(value)
            case Call(op=op, args=(Var() as viewed, *_)) if is_view(self.ops, op):
                return (viewed,)
            case Call(op=op) if op == CLOSURE:
                return operands(value)
            case _:
                return ()

    def _arms(self, value: If | Match, live: dict[Var, None]) -> None:
        """Walk the arms of a branch, each with what is live after it."""
        inside: list[dict[Var, None]] = []
        for block in blocks(value):
            here = dict(live)
            self.block(block, here)
            inside.append(here)
        if isinstance(value, Match):
            for arm, here in zip(value.arms, inside, strict=True):
                used = [v for v in pattern_vars(arm.pattern) if v in here]
                self.result.found[id(arm.body)] = used
                for var in used:
                    del here[var]
        for here in inside:
            live.update(here)
        (decides,) = operands(value)
        if self.is_owned(decides):
            live[decides] = None
        for block, here in zip(blocks(value), inside, strict=True):
            dead = [v for v in live if v not in here]
            if dead:
                self.result.dead_at_start[id(block)] = dead
