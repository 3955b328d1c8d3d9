"""Which device made each value of a run, and which others read it.

Followed are the bindings that ran once: those of the entry, of its branches, and of each function
that is called from one place. Views, aliases, tuples, transfers and parameters of such functions
stand for what they are given; each leaf of a tuple is a value of its own. Of a branch the result is
what the arm that was taken gives, where the condition is an argument or was shown. What else there
is (constants, folded values, closures, functions that are called from several places) has no known
maker, and nothing is said of it.

All of this follows from the reported placement and holds for every implementation, whatever its
planner decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TypeAlias, final

import numpy as np

from hettest.case import walk
from hettest.case.walk import name_of
from hettest.expect.situation import HOST, Situation
from hettest.language import Trait, TupleType, Type, nodes, operators

Roots: TypeAlias = tuple[nodes.Var, ...]
"""The values that a variable stands for: one for each leaf that is known apart."""


@final
@dataclass(frozen=True)
class Need:
    """A value that a device read without making it."""

    names: frozenset[str]
    """What a report may call it: ``main/%s``."""

    value: str
    device: str
    made: frozenset[str]
    reader: str
    maker: object
    """Equal for values that may be one and the same: those of one execution."""


@final
@dataclass
class _Frame:
    """A block that is being followed."""

    function: nodes.Function
    bindings: Iterator[nodes.Binding]
    finish: Callable[[], None]


@final
@dataclass
class Flow:
    """What a run's report says of its values."""

    situation: Situation
    roots: dict[nodes.Var, Roots] = field(default_factory=dict)
    items: dict[nodes.Var, Roots] = field(default_factory=dict)
    """The items of each tuple that is known by item."""

    names: dict[nodes.Var, list[str]] = field(default_factory=dict)
    """What a report may call each value, its own name first."""

    made: dict[nodes.Var, frozenset[str]] = field(default_factory=dict)
    makers: dict[nodes.Var, object] = field(default_factory=dict)
    given: dict[nodes.Var, object] = field(default_factory=dict)
    """The arguments, by the value of their parameter."""

    readers: dict[tuple[nodes.Var, str], str] = field(default_factory=dict)
    """The first reader of each value on each device."""

    uses: Mapping[str, int] = field(default_factory=dict)
    """In how many places each function is called, the run itself being one; one that is also a
    value is called from anywhere."""

    def __post_init__(self) -> None:
        entry = self.situation.function
        self.uses = _uses(self.situation)
        if self.uses[entry.name] > 1:
            return
        for param, arg in zip(entry.params, self.situation.args, strict=False):
            self._begin_parameter(param, param.type, [name_of(entry, param)])
            self.given[param] = arg
        self._follow(entry)

    def needs(self) -> list[Need]:
        """Return each value that a device read without making it, one for each such device."""
        found: dict[tuple[object, str], Need] = {}
        for (root, device), reader in self.readers.items():
            if self.made[root] and device not in self.made[root]:
                need = self._need(root, device, reader)
                found[need.maker, device] = _joined(found.get((need.maker, device)), need)
        return list(found.values())

    @cached_property
    def called(self) -> Mapping[str, Roots]:
        """The values that each name of a report may mean."""
        found: dict[str, list[nodes.Var]] = {}
        for root, names in self.names.items():
            for name in dict.fromkeys(names):
                found.setdefault(name, []).append(root)
        return {name: tuple(roots) for name, roots in found.items()}

    def _need(self, root: nodes.Var, device: str, reader: str) -> Need:
        names = frozenset(self.names[root])
        value = self.names[root][0]
        return Need(names, value, device, self.made[root], reader, self.makers[root])

    def _follow(self, entry: nodes.Function) -> None:
        stack = [_Frame(entry, entry.body.bindings(), _nothing)]
        while stack:
            frame = stack[-1]
            binding = next(frame.bindings, None)
            if binding is None:
                stack.pop().finish()
                continue
            self._note_reads(frame.function, binding)
            stack.extend(reversed(self._inside(frame.function, binding)))

    def _inside(self, function: nodes.Function, binding: nodes.Binding) -> list[_Frame]:
        """Return the blocks that the binding runs; note at once what it stands for if none."""
        value = binding.value
        if isinstance(value, nodes.If):
            return self._arms(function, binding, value)
        if isinstance(value, nodes.Match):
            self.roots[binding.var] = ()
            return [_Frame(function, arm.body.bindings(), _nothing) for arm in value.arms]
        callee = self._callee(value)
        if callee is None or not isinstance(value, nodes.Invoke):
            self._stand(function, binding)
            return []
        for param, arg in zip(callee.params, value.args, strict=False):
            if isinstance(arg, nodes.Var):
                self._stand_for(name_of(callee, param), param, arg)
        finish = partial(self._stand_for, name_of(function, binding.var), binding.var)
        return [_Frame(callee, callee.body.bindings(), partial(finish, callee.body.result))]

    def _callee(self, value: nodes.Expr) -> nodes.Function | None:
        """Return the function that is called, if it is called from here alone."""
        if not isinstance(value, nodes.Invoke) or not isinstance(value.callee, nodes.GlobalRef):
            return None
        name = value.callee.function
        return self.situation.module.by_name.get(name) if self.uses.get(name) == 1 else None

    def _arms(
        self, function: nodes.Function, binding: nodes.Binding, value: nodes.If
    ) -> list[_Frame]:
        taken = self._truth(function, value.condition)
        if taken is None:
            self.roots[binding.var] = ()
            blocks = (value.then, value.orelse)
            return [_Frame(function, block.bindings(), _nothing) for block in blocks]
        block = value.then if taken else value.orelse
        name = name_of(function, binding.var)
        finish = partial(self._stand_for, name, binding.var, block.result)
        return [_Frame(function, block.bindings(), finish)]

    def _truth(self, function: nodes.Function, condition: nodes.Var) -> bool | None:
        """Return the condition of a branch; ``None`` where it is neither given nor shown."""
        shown = (self.situation.observation.intermediates or {}).get(name_of(function, condition))
        roots = self.roots.get(condition, ())
        known = self.given.get(roots[0]) if shown is None and len(roots) == 1 else shown
        if isinstance(known, np.ndarray) and known.size == 1:
            return bool(known.reshape(()))
        return None

    def _note_reads(self, function: nodes.Function, binding: nodes.Binding) -> None:
        """Note the values whose data the binding read, with each device that read it."""
        call = binding.value
        op = operators().get(call.op) if isinstance(call, nodes.Call) else None
        if op is None or not isinstance(call, nodes.Call):
            return
        if op.has(Trait.VIEW) or op.has(Trait.METADATA) or op.has(Trait.MOVES_DATA):
            return
        reader = name_of(function, binding.var)
        for index, operand in enumerate(call.args):
            if not isinstance(operand, nodes.Var) or op.is_host_operand(index):
                continue
            for root in self.roots.get(operand, ()):
                for device in self.situation.made_on.get(reader, ()):
                    self.readers.setdefault((root, device), reader)

    def _stand(self, function: nodes.Function, binding: nodes.Binding) -> None:
        """Note what the binding's variable stands for."""
        var, name = binding.var, name_of(function, binding.var)
        match binding.value:
            case nodes.Alias(var=source):
                self._stand_for(name, var, source)
            case nodes.Project(tuple=source, index=index):
                self._stand_for(name, var, self._item(source, index))
            case nodes.MakeTuple(items=items):
                self.items[var] = items
                self._share(name, var, [r for item in items for r in self.roots.get(item, ())])
            case nodes.Call() as call if _passes_on(call):
                first = call.args[0]
                assert isinstance(first, nodes.Var)
                self._stand_for(name, var, first)
            case nodes.Call():
                self._begin(var, [name], self.situation.made_on.get(name, frozenset()))
                self.makers[var] = self.situation.executed.get(name, var)
            case _:
                self.roots[var] = ()

    def _stand_for(self, name: str, var: nodes.Var, source: nodes.Var) -> None:
        self._share(name, var, self.roots.get(source, ()))
        if source in self.items:
            self.items[var] = self.items[source]

    def _share(self, name: str, var: nodes.Var, roots: Sequence[nodes.Var]) -> None:
        self.roots[var] = tuple(roots)
        for root in roots:
            self.names[root].append(name)

    def _item(self, source: nodes.Var, index: int) -> nodes.Var:
        """Return the variable of a tuple's item; of an operator's results a value of its own."""
        if source in self.items:
            return self.items[source][index]
        if len(self.roots.get(source, ())) != 1:
            return source
        (whole,) = self.roots[source]
        leaf = nodes.Var(f"{whole.name}.{index}")
        names = self.names[whole]
        self._begin(leaf, [f"{names[0]}.{index}", *names], self.made[whole])
        self.makers[leaf] = (self.makers[whole], index)
        return leaf

    def _begin_parameter(self, var: nodes.Var, type_: Type | None, names: list[str]) -> None:
        if not isinstance(type_, TupleType):
            self._begin(var, names, frozenset({HOST}))
            return
        leaves = tuple(nodes.Var(f"{var.name}.{i}") for i in range(len(type_.items)))
        for index, (leaf, item) in enumerate(zip(leaves, type_.items, strict=True)):
            self._begin_parameter(leaf, item, [f"{names[0]}.{index}", *names])
        self.items[var] = leaves
        self.roots[var] = tuple(root for leaf in leaves for root in self.roots[leaf])

    def _begin(self, var: nodes.Var, names: list[str], made: frozenset[str]) -> None:
        self.roots[var] = (var,)
        self.names[var] = list(names)
        self.made[var] = made
        self.makers[var] = var


def _nothing() -> None:
    """Do nothing at the end of a block."""


def _joined(known: Need | None, need: Need) -> Need:
    if known is None:
        return need
    names = known.names | need.names
    return Need(names, known.value, known.device, known.made, known.reader, known.maker)


def _passes_on(call: nodes.Call) -> bool:
    """Whether the result is the first operand's value, wherever it lies."""
    op = operators().get(call.op)
    if op is None or not call.args or not isinstance(call.args[0], nodes.Var):
        return False
    return op.has(Trait.VIEW) or op.has(Trait.MOVES_DATA)


def _uses(situation: Situation) -> Counter[str]:
    uses = Counter({situation.entry: 1})
    for function in situation.module.functions:
        for binding in walk.bindings(function):
            match binding.value:
                case nodes.Invoke(callee=nodes.GlobalRef(function=name)):
                    uses[name] += 1
                case nodes.FunctionValue(ref=nodes.GlobalRef(function=name)):
                    uses[name] += 2
    return uses
