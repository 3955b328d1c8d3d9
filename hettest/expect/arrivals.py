"""Each device that read a value without making it received a transfer of it.

Holds for every implementation, whatever its planner decides: from the placement that it reports
follow the transfers that it cannot do without. Fewer than that is a missing copy or a false report,
whatever the values are. And each transfer comes from somewhere: its source made the value or
received it, and is not its target, except where the program copies a value to where it is.

Looked at is straight-line code: the entry's own bindings. Views, aliases and tuples stand for what
they view. A value that was folded away, a constant and what comes out of a branch or a call need no
transfer as far as this check can tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, final

from hettest.backend.protocol import Copy
from hettest.case.walk import name_of
from hettest.expect.situation import HOST, Situation
from hettest.language import Trait, nodes, operators
from hettest.outcome import Clause, Status

Homes: TypeAlias = Mapping[str, frozenset[str]]


def check(situation: Situation) -> Iterator[Clause]:
    """Yield one clause if the backend shows both placement and transfers."""
    copies = situation.observation.copies
    if situation.observation.executions is None or copies is None:
        return
    reader = _Reader(situation)
    needs = reader.needs()
    wrong = [*_unmet(situation, needs), *_from_nowhere(reader, copies)]
    if wrong:
        yield Clause("arrivals", Status.FAILED, "\n".join(wrong))
    elif needs:
        detail = f"{len(needs)} values were read where they were not made, and each was brought"
        yield Clause("arrivals", Status.PROVEN, detail)


@final
@dataclass(frozen=True)
class _Need:
    """A value that a device read without making it."""

    names: frozenset[str]
    """The variables that share the value's memory."""

    value: str
    device: str
    made: frozenset[str]
    reader: str


@final
@dataclass
class _Reader:
    situation: Situation
    roots: dict[nodes.Var, tuple[nodes.Var, ...]] = field(default_factory=dict)
    """The values that each variable stands for."""

    items: dict[nodes.Var, tuple[nodes.Var, ...]] = field(default_factory=dict)
    """What each tuple that was made here holds."""

    classes: dict[nodes.Var, set[str]] = field(default_factory=dict)
    made: dict[nodes.Var, frozenset[str]] = field(default_factory=dict)
    copied: set[str] = field(default_factory=set)
    """The devices that the program explicitly copies something to."""

    def needs(self) -> list[_Need]:
        function = self.situation.function
        for param in function.params:
            self._begin(param, frozenset({HOST}))
        readers: dict[tuple[nodes.Var, str], str] = {}
        for binding in function.body.bindings():
            for read in self._reads(binding):
                readers.setdefault(read, name_of(function, binding.var))
            self._follow(binding)
        return [
            self._need(root, device, reader)
            for (root, device), reader in readers.items()
            if device not in self.made[root]
        ]

    def _begin(self, var: nodes.Var, made: frozenset[str]) -> None:
        self.roots[var] = (var,)
        self.classes[var] = {name_of(self.situation.function, var)}
        self.made[var] = made

    def _need(self, root: nodes.Var, device: str, reader: str) -> _Need:
        names = frozenset(self.classes[root])
        value = name_of(self.situation.function, root)
        return _Need(names, value, device, self.made[root], reader)

    def _reads(self, binding: nodes.Binding) -> Iterator[tuple[nodes.Var, str]]:
        """Yield the values whose data the binding read, with each device that read it."""
        call = binding.value
        if not isinstance(call, nodes.Call) or call.op not in operators():
            return
        op = operators()[call.op]
        if op.has(Trait.VIEW) or op.has(Trait.METADATA) or op.has(Trait.MOVES_DATA):
            return
        devices = self.situation.made_on.get(name_of(self.situation.function, binding.var), ())
        for index, operand in enumerate(call.args):
            if not isinstance(operand, nodes.Var) or op.is_host_operand(index):
                continue
            for root in self.roots.get(operand, ()):
                if self.made[root]:
                    yield from ((root, device) for device in devices)

    def _follow(self, binding: nodes.Binding) -> None:
        """Note what the binding's variable stands for."""
        match binding.value:
            case nodes.Alias(var=source):
                self._stand_for(binding.var, source)
            case nodes.Project(tuple=source, index=index):
                known = self.items.get(source)
                self._stand_for(binding.var, source if known is None else known[index])
            case nodes.MakeTuple(items=items):
                self.items[binding.var] = items
                self._share(binding.var, tuple(r for i in items for r in self.roots.get(i, ())))
            case nodes.Call() as call:
                self._follow_call(binding, call)
            case _:
                self.roots[binding.var] = ()

    def _follow_call(self, binding: nodes.Binding, call: nodes.Call) -> None:
        op = operators().get(call.op)
        first = call.args[0] if call.args else None
        if op is not None and op.has(Trait.VIEW) and isinstance(first, nodes.Var):
            self._share(binding.var, self.roots.get(first, ()))
        elif op is not None and op.has(Trait.MOVES_DATA) and binding.request is not None:
            device = self.situation.device(binding.request.role)
            self._begin(binding.var, frozenset({device}))
            self.copied.add(device)
            if call.op != "device_copy" and isinstance(first, nodes.Var):
                self._also_called(binding.var, self.roots.get(first, ()))
        else:
            name = name_of(self.situation.function, binding.var)
            self._begin(binding.var, self.situation.made_on.get(name, frozenset()))

    def _also_called(self, var: nodes.Var, sources: tuple[nodes.Var, ...]) -> None:
        """Let a transfer of what ``var`` was placed from count: it may be there already."""
        self.classes[var].update(name for root in sources for name in self.classes[root])

    def _stand_for(self, var: nodes.Var, source: nodes.Var) -> None:
        self._share(var, self.roots.get(source, ()))
        if source in self.items:
            self.items[var] = self.items[source]

    def _share(self, var: nodes.Var, roots: tuple[nodes.Var, ...]) -> None:
        self.roots[var] = roots
        for root in roots:
            self.classes[root].add(name_of(self.situation.function, var))


def _unmet(situation: Situation, needs: list[_Need]) -> Iterator[str]:
    copies = situation.observation.copies or ()
    anonymous: dict[str, int] = {}
    for copy in copies:
        if copy.value is None:
            anonymous[copy.target] = anonymous.get(copy.target, 0) + copy.count
    arrived = {(copy.value, copy.target) for copy in copies}
    for need in needs:
        if any((name, need.device) in arrived for name in need.names):
            continue
        if anonymous.get(need.device, 0) > 0:
            anonymous[need.device] -= 1
            continue
        made = " and ".join(sorted(need.made))
        yield (
            f"{need.value} was made on {made} and read on {need.device} by {need.reader}, but no "
            f"transfer brought it there: a missing copy, or a false report"
        )


def _from_nowhere(reader: _Reader, copies: Sequence[Copy]) -> Iterator[str]:
    """Yield the transfers whose source never had the value, or is their target."""
    for copy in copies:
        roots = [root for root, names in reader.classes.items() if copy.value in names]
        value = copy.value or "a value"
        if copy.source == copy.target and copy.source not in reader.copied:
            yield f"{value} was copied from {copy.source} to itself"
        elif roots and all(reader.made[root] for root in roots):
            holders = _holders(reader, roots, copies)
            if copy.source not in holders:
                listed = ", ".join(sorted(holders))
                yield (
                    f"{value} was copied to {copy.target} from {copy.source}, which never had it; "
                    f"{listed} had"
                )


def _holders(reader: _Reader, roots: list[nodes.Var], copies: Sequence[Copy]) -> set[str]:
    """Return the devices that made a value, and those that received it from such a device."""
    names = {name for root in roots for name in reader.classes[root]}
    holders = {device for root in roots for device in reader.made[root]}
    moves = [(copy.source, copy.target) for copy in copies if copy.value in names]
    while received := {t for s, t in moves if s in holders} - holders:
        holders |= received
    return holders
