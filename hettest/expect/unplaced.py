"""On which devices operators may run that nothing places, by the rules of planning.md.

What no pin pulls runs on the default device; what pins pull runs on one of theirs; integers and
bools that the host alone reads, or that come of shapes alone, may run on the host. Groups are
followed through views, tuples, branches and functions that are called from one place. Where a
program says more than can be followed (closures, data types, recursion, functions that are called
from several places, suffixes of calls) an operator may run on any device that the program names;
where it names none, the default device is all that is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, final

from hettest.case import walk
from hettest.case.dtypes import types_of
from hettest.case.walk import name_of
from hettest.expect.host_facts import host_facts
from hettest.expect.situation import HOST, Situation
from hettest.language import OpDef, TensorType, Trait, TupleType, Type, nodes, operators

_NOT_RUN: Final = (Trait.VIEW, Trait.MOVES_DATA, Trait.METADATA, Trait.HOST)
_Names: TypeAlias = frozenset[str]


@final
@dataclass(frozen=True, slots=True)
class _Value:
    """What one leaf of a variable is made of."""

    makers: _Names = frozenset()
    """The unrequested operators that make it: one, or those of several branches."""

    pins: _Names = frozenset()
    """The devices that it is pinned to, which pull whoever reads it."""

    hints: _Names = frozenset()
    """The devices that may pull whoever reads it."""

    def merged(self, other: _Value) -> _Value:
        makers = self.makers | other.makers
        return _Value(makers, self.pins | other.pins, self.hints | other.hints)


_NOTHING: Final = _Value()


class _Unfollowed(Exception):
    """The program says more about places than can be followed."""


def devices_of_unplaced(situation: Situation) -> Mapping[str, _Names]:
    """Return the devices that each operator may run on which nothing places: ``main/%s``."""
    named = set(_named(situation))
    operations = dict(_unplaced(situation))
    facts = host_facts(situation.module, frozenset(operations))
    try:
        allowed = _Groups(situation).devices() if named else {}
    except _Unfollowed:
        allowed = {}
    anywhere = frozenset({*named, situation.default})
    return {
        name: allowed.get(name, anywhere) | ({HOST} if name in facts else frozenset())
        for name in operations
    }


def _named(situation: Situation) -> Iterator[str]:
    """Yield each device that the program names, by a suffix or in a type."""
    for type_ in walk.types(situation.module):
        if isinstance(type_, TensorType) and type_.vdevice is not None:
            yield situation.device_of(type_.vdevice)
    for function in situation.module.functions:
        for binding in walk.bindings(function):
            if binding.request is not None:
                yield situation.device_of(binding.request)


def _unplaced(situation: Situation) -> Iterator[tuple[str, nodes.Binding]]:
    for function in situation.module.functions:
        for binding in walk.bindings(function):
            if binding.request is None and runs(binding.value):
                yield name_of(function, binding.var), binding


def runs(value: nodes.Expr) -> bool:
    """Whether a value is computed by an operator where its place says: no view, shape or move."""
    op = operators().get(value.op) if isinstance(value, nodes.Call) else None
    if op is None or op.name == "identity":
        return False
    return not any(op.has(trait) for trait in _NOT_RUN)


@final
@dataclass
class _Groups:
    """The groups of one entry, and the devices that pull each."""

    situation: Situation
    values: dict[nodes.Var, tuple[_Value, ...]] = field(default_factory=dict)
    """Of each variable, leaf by leaf."""

    sizes: dict[nodes.Var, Type] = field(default_factory=dict)
    group_of: dict[str, str] = field(default_factory=dict)
    """Another member of the same group, up to one that stands for all."""

    pins: dict[str, set[str]] = field(default_factory=dict)
    hints: dict[str, set[str]] = field(default_factory=dict)
    followed: set[str] = field(default_factory=set)

    def devices(self) -> Mapping[str, _Names]:
        """Return the devices of each operator that can be followed from the entry.

        Raises:
            _Unfollowed: Something cannot be.
        """
        entry = self.situation.function
        for param in entry.params:
            self.values[param] = tuple(self._parameters(param.type))
        self._follow(entry)
        results = self._pinned_leaves(entry.result)
        for value, pin in zip(self._of(entry.body.result, len(results)), results, strict=True):
            for name in value.makers if pin is not None else ():
                self.pins[self._find(name)].add(str(pin))
        return {name: self._devices(self._find(name)) for name in self.group_of}

    def _devices(self, group: str) -> _Names:
        default = set() if self.pins[group] else {self.situation.default}
        return frozenset(self.pins[group] | self.hints[group] | default)

    def _parameters(self, type_: Type | None) -> Iterator[_Value]:
        for pin in self._pinned_leaves(type_):
            yield _Value(pins=frozenset(() if pin is None else (pin,)))

    def _pinned_leaves(self, type_: Type | None) -> list[str | None]:
        """Return the device that each leaf of a type is pinned to.

        Raises:
            _Unfollowed: It is not made of tensors alone.
        """
        found: list[str | None] = []
        for leaf in _leaves_of(type_):
            pin = leaf.vdevice
            found.append(None if pin is None else self.situation.device_of(pin))
        return found

    def _follow(self, function: nodes.Function) -> None:
        if function.name in self.followed or function.is_primitive:
            raise _Unfollowed
        self.followed.add(function.name)
        self.sizes |= types_of(self.situation.module, function)
        self._block(function, function.body)

    def _block(self, function: nodes.Function, block: nodes.Block) -> None:
        for binding in block.bindings():
            self.values[binding.var] = self._value(function, binding)

    def _value(self, function: nodes.Function, binding: nodes.Binding) -> tuple[_Value, ...]:
        value = binding.value
        match value:
            case nodes.Call():
                return self._call(function, binding, value)
            case nodes.Alias(var=source):
                found = self.values[source]
            case nodes.MakeTuple(items=items):
                found = tuple(leaf for item in items for leaf in self.values[item])
            case nodes.Project(tuple=source, index=index):
                found = self._item(source, index)
            case nodes.If(then=then, orelse=orelse):
                self._block(function, then)
                self._block(function, orelse)
                found = self._merged(then.result, orelse.result)
            case nodes.Invoke(callee=nodes.GlobalRef(function=name), args=args):
                found = self._called(self.situation.module.by_name[name], args)
            case nodes.Constant() | nodes.Weight() | nodes.ShapeLiteral():
                found = (_NOTHING,)
            case _:
                raise _Unfollowed
        return tuple(self._hinted(leaf, binding) for leaf in found)

    def _called(self, callee: nodes.Function, args: Sequence[nodes.Operand]) -> tuple[_Value, ...]:
        for param, arg in zip(callee.params, args, strict=True):
            if not isinstance(arg, nodes.Var):
                raise _Unfollowed
            pins = self._pinned_leaves(param.type)
            self.values[param] = tuple(
                self._hint(leaf, pin)
                for leaf, pin in zip(self._of(arg, len(pins)), pins, strict=True)
            )
        self._follow(callee)
        pins = self._pinned_leaves(callee.result)
        found = self._of(callee.body.result, len(pins))
        return tuple(self._hint(leaf, pin) for leaf, pin in zip(found, pins, strict=True))

    def _merged(self, one: nodes.Var, other: nodes.Var) -> tuple[_Value, ...]:
        pairs = zip(self.values[one], self.values[other], strict=True)
        merged = tuple(left.merged(right) for left, right in pairs)
        for leaf in merged:
            self._join(leaf.makers)
            self._pull(leaf.makers, leaf)
        return merged

    def _item(self, source: nodes.Var, index: int) -> tuple[_Value, ...]:
        type_ = self.sizes.get(source)
        if not isinstance(type_, TupleType):
            raise _Unfollowed
        counts = [len(_leaves_of(item)) for item in type_.items]
        start = sum(counts[:index])
        return self._of(source, sum(counts))[start : start + counts[index]]

    def _of(self, var: nodes.Var, count: int) -> tuple[_Value, ...]:
        """Return the leaves of a variable, all alike of an operator that makes several."""
        found = self.values[var]
        if len(found) not in (1, count):
            raise _Unfollowed
        return found * count if len(found) == 1 else found

    def _call(
        self, function: nodes.Function, binding: nodes.Binding, call: nodes.Call
    ) -> tuple[_Value, ...]:
        op = operators().get(call.op)
        if op is None:
            raise _Unfollowed
        if op.has(Trait.METADATA) or op.has(Trait.HOST):
            return (_NOTHING,)
        operands = [v for v in _read(op, call) if isinstance(v, nodes.Var)]
        reads = [leaf for operand in operands for leaf in self.values[operand]]
        if op.has(Trait.MOVES_DATA) or call.op == "hint_on_device":
            return (self._moved(binding, reads),)
        if op.has(Trait.VIEW) or (binding.request is None and call.op == "identity"):
            return tuple(self._hinted(leaf, binding) for leaf in reads[:1])
        if binding.request is not None:
            return (_NOTHING,)
        return (self._made(name_of(function, binding.var), binding, reads),)

    def _moved(self, binding: nodes.Binding, reads: Sequence[_Value]) -> _Value:
        """Return what is explicitly brought to a device, which may pull who makes it."""
        pins = {*_pins(self.situation, binding)}
        for leaf in reads:
            for pin in pins:
                self._hint(leaf, pin)
        return _Value(pins=frozenset(pins))

    def _made(self, name: str, binding: nodes.Binding, reads: Sequence[_Value]) -> _Value:
        self.group_of[name] = name
        self.pins[name] = set(_pins(self.situation, binding))
        self.hints[name] = set()
        for leaf in reads:
            self._join({name, *leaf.makers})
            self._pull((name,), leaf)
        return _Value(frozenset({name}), frozenset(_pins(self.situation, binding)))

    def _hinted(self, leaf: _Value, binding: nodes.Binding) -> _Value:
        for pin in _pins(self.situation, binding):
            leaf = self._hint(leaf, pin)
        return leaf

    def _hint(self, leaf: _Value, pin: str | None) -> _Value:
        """Return a value that may be pinned to a device, where its makers may be pulled to."""
        if pin is None:
            return leaf
        for name in leaf.makers:
            self.hints[self._find(name)] |= {pin, self.situation.default}
        hints = leaf.hints | {pin, self.situation.default}
        return _Value(leaf.makers, leaf.pins, hints)

    def _pull(self, names: Sequence[str] | _Names, leaf: _Value) -> None:
        for name in names:
            group = self._find(name)
            self.pins[group] |= leaf.pins
            self.hints[group] |= leaf.hints

    def _join(self, names: set[str] | _Names) -> None:
        groups = {self._find(name) for name in names}
        first = next(iter(groups), "")
        for group in groups - {first}:
            self.group_of[group] = first
            self.pins[first] |= self.pins.pop(group)
            self.hints[first] |= self.hints.pop(group)

    def _find(self, name: str) -> str:
        while self.group_of[name] != name:
            name = self.group_of[name]
        return name


def _leaves_of(type_: Type | None) -> list[TensorType]:
    found: list[TensorType] = []
    stack = [type_]
    while stack:
        top = stack.pop()
        if isinstance(top, TupleType):
            stack.extend(reversed(top.items))
        elif isinstance(top, TensorType):
            found.append(top)
        else:
            raise _Unfollowed
    return found


def _read(op: OpDef, call: nodes.Call) -> Iterator[nodes.Operand]:
    """Yield the operands whose data is read where the operator runs."""
    for index, operand in enumerate(call.args):
        if not op.is_host_operand(index):
            yield operand


def _pins(situation: Situation, binding: nodes.Binding) -> Iterator[str]:
    """Yield the devices that a suffix or a written type names."""
    if binding.request is not None:
        yield situation.device_of(binding.request)
    type_ = binding.var.type
    for leaf in _leaves_of(type_) if type_ is not None else ():
        if leaf.vdevice is not None:
            yield situation.device_of(leaf.vdevice)
