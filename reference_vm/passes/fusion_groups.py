"""Which operators of a block become one kernel.

Operators join greedily, in program order, along the edges from producers to consumers. A *group* is
an elementwise one, all of whose members have the domain's shape, or a folding one, whose domain is
the operand of its folds and whose members have the domain's shape or that of a fold's result.

A group runs as one step, so no path may leave it and come back. Each group has a bit, and each
value the set of groups it depends on; that is kept right by two rules: an operator does not join a
group that it also depends on by way of something outside, and a group that something outside has
read already takes no new dependences. Sets stay small because groups are closed after every
`EPOCH` of them, so the whole is linear in the number of operators.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from reference_vm.ir.nodes import Binding, Var
from reference_vm.passes.fusion_rules import Form, Step
from reference_vm.types import VirtualDevice

EPOCH: Final = 1024


@final
@dataclass(eq=False)
class Group:
    """Operators that become one kernel."""

    members: list[int]
    """Positions in the block."""

    variables: list[Var]
    """What the members bind."""

    form: Form
    bits: int
    before: int
    """The groups that something in this one depends on, without its own bits."""

    waiting: int
    """How often its values are read by others, so far as they have not joined."""

    exact: bool
    """Whether all members are exact, hence cheap to compute twice."""

    exposed: bool = False
    """Whether something outside has read one of its values."""

    place: VirtualDevice | None = None
    open: bool = True
    merged: bool = False
    """Whether its members went over to another group."""

    @property
    def reach(self) -> int:
        return self.bits | self.before


@final
@dataclass
class GroupFinder:
    """Finds the groups of one block."""

    uses: Mapping[Var, int]
    """How often each variable is read, in the whole function."""

    owner: dict[Var, Group] = field(default_factory=dict)
    _depends: dict[Var, int] = field(default_factory=dict)
    _all: list[Group] = field(default_factory=list)
    _open: list[Group] = field(default_factory=list)

    def skip(self, binding: Binding, read: Iterable[Var]) -> None:
        """Pass by a binding that joins no group; ``read`` are all the variables it reads."""
        self._depends[binding.var] = self._outside(read, ())

    def add(self, position: int, binding: Binding, step: Step) -> None:
        """Put an operator into the groups of its operands, or into a new one."""
        read = step.operands
        joined, form = self._joinable(step)
        outside = self._outside(read, joined)
        if not joined:
            self._begin(position, binding, step, outside)
            return
        reads = self._reads(read, joined)
        group = self._merge(joined)
        group.form = form
        group.members.append(position)
        group.before |= outside
        group.waiting += self.uses.get(binding.var, 0) - reads
        group.exact = group.exact and step.exact
        group.variables.append(binding.var)
        self.owner[binding.var] = group

    def _begin(self, position: int, binding: Binding, step: Step, outside: int) -> None:
        if len(self._open) == EPOCH:
            self._close_all()
            outside = 0
        group = Group(
            members=[position],
            variables=[binding.var],
            form=step.alone(),
            bits=1 << len(self._open),
            before=outside,
            waiting=self.uses.get(binding.var, 0),
            exact=step.exact,
            place=step.place,
        )
        self._all.append(group)
        self._open.append(group)
        self.owner[binding.var] = group

    def groups(self) -> list[list[int]]:
        """Return the groups: positions of their members in the block, in rising order."""
        return [sorted(g.members) for g in self._all if not g.merged]

    def _joinable(self, step: Step) -> tuple[list[Group], Form]:
        """Return the groups that an operator joins, and the form of what they become."""
        found: list[Group] = []
        form = step.alone()
        size = 1
        for group in self._candidates(step):
            inside = [i for i, v in enumerate(step.operands) if self.owner.get(v) is group]
            sole = group.waiting == len(inside)
            wider = step.joined(form, group.form, inside, group.exact and sole, sole)
            if wider is not None and size + len(group.members) <= step.limit:
                found.append(group)
                form, size = wider, size + len(group.members)
        if self._stays_acyclic(step, found):
            return found, form
        for group in found:
            inside = [i for i, v in enumerate(step.operands) if self.owner.get(v) is group]
            sole = group.waiting == len(inside)
            alone = step.joined(step.alone(), group.form, inside, group.exact and sole, sole)
            if alone is not None and self._stays_acyclic(step, [group]):
                return [group], alone
        return [], step.alone()

    def _candidates(self, step: Step) -> list[Group]:
        groups = dict.fromkeys(self.owner.get(v) for v in step.operands)
        return [g for g in groups if g is not None and g.open and g.place == step.place]

    def _stays_acyclic(self, step: Step, groups: Sequence[Group]) -> bool:
        """Whether no path would leave the joined groups and come back."""
        added = 0
        for var in step.operands:
            owner = self.owner.get(var)
            if owner not in groups:
                added |= owner.reach if owner else self._depends.get(var, 0)
        for group in groups:
            added |= group.before
        if any(added & group.bits for group in groups):
            return False
        return not any(group.exposed and added & ~group.before for group in groups)

    def _merge(self, groups: Sequence[Group]) -> Group:
        """Return one group made of several: the largest, with the members of the others."""
        largest = max(groups, key=lambda g: len(g.members))
        for group in groups:
            if group is largest:
                continue
            largest.members.extend(group.members)
            largest.bits |= group.bits
            largest.before |= group.before
            largest.waiting += group.waiting
            largest.exact = largest.exact and group.exact
            largest.exposed = largest.exposed or group.exposed
            group.merged = True
            for var in group.variables:
                self.owner[var] = largest
            largest.variables.extend(group.variables)
        return largest

    def _close_all(self) -> None:
        for group in self._open:
            group.open = False
            group.bits = group.before = 0
        self._open.clear()
        self._depends.clear()

    def _outside(self, read: Iterable[Var], joined: Sequence[Group]) -> int:
        """Return the groups that variables depend on, but for ``joined``; expose their owners."""
        found = 0
        for var in read:
            group = self.owner.get(var)
            if group is None:
                found |= self._depends.get(var, 0)
            elif group not in joined:
                group.exposed = True
                found |= group.reach
        return found

    def _reads(self, read: Sequence[Var], groups: Sequence[Group]) -> int:
        return sum(1 for var in read if self.owner.get(var) in groups)
