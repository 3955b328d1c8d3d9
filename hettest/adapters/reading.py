"""Programs as adapters of engines read them.

An engine has no words for everything that a placed program says: which device an argument is
handed to, for one. `homes` answers by rule 7 of the definition, as far as requests and placed types
decide it; what they leave open is the engine's to decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias, Union, final

from hettest.language import (
    Module,
    TensorType,
    Trait,
    TupleType,
    Type,
    evaluate_dim,
    lone_symbol,
    nodes,
    operators,
    parse,
)

if TYPE_CHECKING:
    from hettest.backend.protocol import Value

HOST = "cpu:0"
"""Where arguments arrive and results are delivered."""

Path: TypeAlias = tuple[int, ...]
"""A leaf's place in nested tuples; empty for a tensor."""

Leaf: TypeAlias = tuple[nodes.Var, Path]
Stands: TypeAlias = Union[Leaf, list["Stands"]]
"""The value that a variable stands for; a list for a tuple."""


@final
@dataclass(frozen=True)
class Task:
    """A program and how it is to be compiled; what is sent to an engine's process."""

    name: str
    text: str
    device_map: Mapping[str, str]
    policy: str
    default: str
    entry: str

    def __hash__(self) -> int:
        roles = tuple(self.device_map.items())
        return hash((self.text, roles, self.policy, self.default, self.entry))

    def __reduce__(self) -> tuple[type[Task], tuple[object, ...]]:
        parts = (self.name, self.text, self.device_map, self.policy, self.default, self.entry)
        return Task, parts

    @cached_property
    def module(self) -> Module:
        """The program.

        Raises:
            DiagnosticError: The text is malformed.
        """
        return parse(self.text, self.name)

    @property
    def function(self) -> nodes.Function:
        return self.module.by_name[self.entry]

    def device(self, type_or_binding: Type | nodes.Binding | None) -> str | None:
        """Return the device of a placed type, or the one that a binding asks for."""
        if isinstance(type_or_binding, nodes.Binding):
            placed = type_or_binding.request
        else:
            placed = type_or_binding.vdevice if isinstance(type_or_binding, TensorType) else None
        if placed is None:
            return None
        if placed.device is not None:
            return str(placed.device)
        return self.device_map.get(placed.role, HOST)

    @property
    def devices(self) -> tuple[str, ...]:
        """Every device of the program, in the order of the map; the host is among them."""
        return tuple(dict.fromkeys((HOST, *self.device_map.values(), self.default)))


def attributes(call: nodes.Call) -> dict[str, Any]:
    """Return a call's attributes, those left out with their defaults."""
    defaults = {name: attr.default for name, attr in operators()[call.op].attrs.items()}
    return defaults | dict(call.attrs)


def sizes(function: nodes.Function, args: Sequence[Value]) -> dict[str, int]:
    """Return the size of each symbol that stands alone as a dim of a parameter."""
    found: dict[str, int] = {}
    for param, arg in zip(function.params, args, strict=True):
        for type_, array in _tensors(param.type, arg):
            for dim, size in zip(type_.shape or (), array.shape, strict=False):
                name = lone_symbol(dim)
                if name is not None:
                    found[name] = int(size)
    return found


def dims(literal: nodes.ShapeLiteral, known: Mapping[str, int]) -> tuple[int, ...]:
    """Return the numbers that a shape value stands for in one run."""
    return tuple(evaluate_dim(dim, known) for dim in literal.dims)


def _tensors(type_: Type | None, value: Value) -> Iterator[tuple[TensorType, Any]]:
    if isinstance(type_, TupleType) and isinstance(value, tuple):
        for item, part in zip(type_.items, value, strict=True):
            yield from _tensors(item, part)
    elif isinstance(type_, TensorType):
        yield type_, value


Homes: TypeAlias = Mapping[Leaf, str | None]
"""The device of each tensor of the parameters; ``None`` where the engine may choose."""


def homes(task: Task) -> Homes:
    """Return where each tensor of the parameters is handed over.

    A placed type decides; else the requested operators and placed results that read it do: the
    host if it is among them, else the default device, else the first of the map.
    """
    reading = _Readers(task)
    reading.walk()
    return {leaf: reading.home(leaf) for leaf in reading.leaves}


MOST_READ: Final = 256
"""Programs that are kept read; beyond, the oldest is read again when needed."""


@final
@dataclass
class Read:
    """Tasks by content, each read once, with where its arguments go."""

    known: dict[Task, tuple[Task, Homes]] = field(default_factory=dict)

    def __call__(self, task: Task) -> tuple[Task, Homes]:
        """Return the task as it was first seen, and the homes of its arguments."""
        if task not in self.known:
            if len(self.known) >= MOST_READ:
                del self.known[next(iter(self.known))]
            self.known[task] = (task, homes(task))
        return self.known[task]


@final
@dataclass
class _Readers:
    """The devices that read each value, as far as requests and the placed result say."""

    task: Task
    stands: dict[nodes.Var, Stands] = field(default_factory=dict)
    read_on: dict[Leaf, set[str]] = field(default_factory=dict)
    leaves: dict[Leaf, TensorType] = field(default_factory=dict)
    """The tensors of the parameters."""

    def home(self, leaf: Leaf) -> str | None:
        pinned = self.task.device(self.leaves[leaf])
        readers = self.read_on.get(leaf, set())
        if pinned is not None or not readers:
            return pinned
        for device in (HOST, self.task.default, *self.task.devices):
            if device in readers:
                return device
        raise AssertionError(f"no device of {readers} is one of the program's")

    def walk(self) -> None:
        function = self.task.function
        for param in function.params:
            self.stands[param] = self._parameter(param, param.type, ())
        for binding in function.body.bindings():
            self._read(binding)
            self.stands[binding.var] = self._stands(binding)
        self._deliver(self.stands[function.body.result], function.result)

    def _parameter(self, var: nodes.Var, type_: Type | None, path: Path) -> Stands:
        if isinstance(type_, TupleType):
            items = enumerate(type_.items)
            return [self._parameter(var, item, (*path, index)) for index, item in items]
        if isinstance(type_, TensorType):
            self.leaves[var, path] = type_
        return (var, path)

    def _read(self, binding: nodes.Binding) -> None:
        call, device = binding.value, self.task.device(binding)
        if device is None or not isinstance(call, nodes.Call):
            return
        op = operators()[call.op]
        if any(op.has(t) for t in (Trait.VIEW, Trait.METADATA, Trait.MOVES_DATA)):
            return
        for index, operand in enumerate(call.args):
            if isinstance(operand, nodes.Var) and not op.is_host_operand(index):
                self._note(self.stands[operand], device)

    def _stands(self, binding: nodes.Binding) -> Stands:
        match binding.value:
            case nodes.Alias(var=source):
                return self.stands[source]
            case nodes.MakeTuple(items=items):
                return [self.stands[item] for item in items]
            case nodes.Project(tuple=source, index=index):
                whole = self.stands[source]
                return whole[index] if isinstance(whole, list) else (binding.var, ())
            case nodes.Call(op=op, args=(nodes.Var() as first, *_)) if (
                operators()[op].has(Trait.VIEW) and binding.request is None
            ):
                return self.stands[first]
            case _:
                return (binding.var, ())

    def _deliver(self, stands: Stands, type_: Type | None) -> None:
        if isinstance(stands, list) and isinstance(type_, TupleType):
            for part, item in zip(stands, type_.items, strict=True):
                self._deliver(part, item)
            return
        device = self.task.device(type_)
        if device is not None:
            self._note(stands, device)

    def _note(self, stands: Stands, device: str) -> None:
        if isinstance(stands, list):
            for part in stands:
                self._note(part, device)
        else:
            self.read_on.setdefault(stands, set()).add(device)
