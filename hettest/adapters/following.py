"""Programs run operator by operator by an engine in which computation follows data.

Such an engine has no planner: an operator runs where its operands are. The interpreter brings the
operands of a requested operator to its device, once for each value and device; an operator without
a request is left to the engine, which takes operands along or refuses those that are apart.

Placement is read off the arrays that operators return, and a transfer is shown where an array came
to lie on another device or in another buffer. Its cause is what the interpreter made it for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, Union, final

import numpy as np

from hettest.adapters.reading import HOST, Homes, Leaf, Task, attributes, dims, sizes
from hettest.backend.protocol import Copy, Execution, Observation
from hettest.language import Trait, TupleType, Type, nodes, numpy_dtype, operators

if TYPE_CHECKING:
    from hettest.backend.protocol import Array, Value


class Arrays(Protocol):
    """What the interpreter asks of an engine; its arrays have ``shape`` and ``nbytes``."""

    def put(self, array: Any, device: str | None) -> Any:
        """Return an array, the engine's own or NumPy's, on a device; ``None`` is the default."""
        ...

    def fresh(self, array: Any) -> Any:
        """Return a copy on the array's own device."""
        ...

    def where(self, array: Any) -> str:
        """Return the device that an array lies on."""
        ...

    def moved(self, before: Any, after: Any) -> bool:
        """Whether data came to lie elsewhere: on another device, or in another buffer."""
        ...

    def apply(self, op: str, operands: Sequence[Any], attrs: Mapping[str, Any], device: str) -> Any:
        """Return what an operator makes of its operands: an array, or a tuple of them.

        ``device`` is for what has no operands to follow.
        """
        ...

    def data(self, array: Any) -> Array:
        """Return an array's data as NumPy's array."""
        ...


@final
@dataclass
class Held:
    """A tensor, with its copies."""

    name: str
    """``main/%s``."""

    home: Any
    """The array that the operator made, or that the argument or constant became."""

    raw: Array | None = None
    """Memory of the caller that it came from: an argument's or a constant's."""

    cause: str = "read"
    """What a transfer out of ``raw`` is called."""

    copies: dict[str, Any] = field(default_factory=dict)
    stayed: bool = False
    """Whether an operator read it where it arrived."""

    followed: int | None = None
    """The transfer, by its number, that first took it along to another operand's device."""


Entry: TypeAlias = Union[Held, tuple["Entry", ...], "Dims"]


@final
@dataclass(frozen=True)
class Dims:
    """A shape value."""

    sizes: tuple[int, ...]


@final
@dataclass
class Run:
    """One run of a task's function."""

    arrays: Arrays
    task: Task
    homes: Homes
    values: dict[nodes.Var, Entry] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    """The sizes of symbols."""

    executions: list[Execution] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    free: list[Held] = field(default_factory=list)
    """The arguments that go where the engine takes them."""

    def run(self, args: Sequence[Value]) -> Observation:
        """Return what the run let one see.

        Raises:
            Refused: The engine raised an error.
        """
        function = self.task.function
        self.known = sizes(function, args)
        for param, arg in zip(function.params, args, strict=True):
            self.values[param] = self._argument(self._name(param), (param, ()), arg)
        for binding in function.body.bindings():
            self.values[binding.var] = self._value(binding)
        results = self._deliver(self.values[function.body.result], function.result)
        self._name_arguments()
        return Observation(results=results, executions=self.executions, copies=self.copies)

    def _name(self, var: nodes.Var) -> str:
        return f"{self.task.entry}/%{var.name}"

    def _argument(self, name: str, leaf: Leaf, arg: Value) -> Entry:
        var, path = leaf
        if isinstance(arg, tuple):
            parts = enumerate(arg)
            return tuple(self._argument(name, (var, (*path, i)), part) for i, part in parts)
        assert not isinstance(arg, str), "no engine that is followed claims data types"
        held = Held(name, None, arg, "argument" if self.task.policy == "replicate" else "read")
        home = self.homes[leaf]
        held.home = self.arrays.put(arg, home)
        arrived = home or self.task.default
        if arrived != HOST:
            self._note(HOST, arrived, held, "argument", held.home.nbytes)
        elif home is None:
            self.free.append(held)
        return held

    def _name_arguments(self) -> None:
        """Give its name to what brought an argument to the first device that reads it at all."""
        for held in self.free:
            if held.followed is not None and not held.stayed:
                first = self.copies[held.followed]
                self.copies[held.followed] = replace(first, cause="argument")

    def _value(self, binding: nodes.Binding) -> Entry:
        match binding.value:
            case nodes.Call() as call:
                made = self._call(binding, call)
            case nodes.Alias(var=source):
                made = self.values[source]
            case nodes.MakeTuple(items=items):
                return tuple(self.values[item] for item in items)
            case nodes.Project(tuple=source, index=index):
                whole = self.values[source]
                assert isinstance(whole, tuple)
                made = whole[index]
            case nodes.Constant() as constant:
                made = self._constant(binding, constant)
            case nodes.ShapeLiteral() as literal:
                return Dims(dims(literal, self.known))
            case other:
                raise NotImplementedError(f"{type(other).__name__} is not claimed")
        return self._pinned(binding, made)

    def _pinned(self, binding: nodes.Binding, made: Entry) -> Entry:
        """Return the value on the device of the binding's type, or of an alias's suffix."""
        device = self.task.device(binding.var.type)
        if device is None and not isinstance(binding.value, nodes.Call):
            device = self.task.device(binding)
        if device is None or not isinstance(made, Held):
            return made
        return Held(self._name(binding.var), self._on(made, device, "read"))

    def _constant(self, binding: nodes.Binding, constant: nodes.Constant) -> Held:
        dtype = numpy_dtype(str(constant.dtype))
        raw = np.frombuffer(constant.data, dtype).reshape(constant.shape)
        return Held(self._name(binding.var), self.arrays.put(raw, None), raw, "constant")

    def _call(self, binding: nodes.Binding, call: nodes.Call) -> Entry:
        op, device = operators()[call.op], self.task.device(binding)
        if op.has(Trait.MOVES_DATA):
            return self._moved(binding, call, device)
        if op.has(Trait.HOST):
            return self._on_shapes(binding, call)
        operands = [self._operand(call, index, device) for index in range(len(call.args))]
        home = device or self.task.default
        made = self.arrays.apply(call.op, operands, attributes(call), home)
        return self._made(binding, call, made, device)

    def _operand(self, call: nodes.Call, index: int, device: str | None) -> Any:
        operand = call.args[index]
        if not isinstance(operand, nodes.Var):
            return None
        value = self.values[operand]
        if isinstance(value, Dims):
            return value.sizes
        assert isinstance(value, Held)
        if operators()[call.op].is_host_operand(index):
            return self._data(value)
        return value.home if device is None else self._on(value, device, value.cause)

    def _data(self, value: Held) -> Array:
        """Return a value's data, for a read on the host."""
        if value.raw is not None:
            return value.raw
        if self.arrays.where(value.home) != HOST:
            return self.arrays.data(self._on(value, HOST, "host"))
        return self.arrays.data(value.home)

    def _on(self, value: Held, device: str, cause: str) -> Any:
        """Return the value's array on a device, brought there once."""
        source = self.arrays.where(value.home)
        if source == device:
            return self.arrays.put(value.home, device)
        if device not in value.copies:
            fresh = value.raw is not None and cause in ("argument", "constant")
            copied = self.arrays.put(value.raw if fresh else value.home, device)
            value.copies[device] = copied
            if self.arrays.moved(value.home, copied):
                self._note(HOST if fresh else source, device, value, cause, copied.nbytes)
        return value.copies[device]

    def _moved(self, binding: nodes.Binding, call: nodes.Call, device: str | None) -> Held:
        (operand,) = call.args
        assert isinstance(operand, nodes.Var)
        value = self.values[operand]
        assert isinstance(value, Held)
        assert device is not None
        if call.op != "device_copy":
            return Held(self._name(binding.var), self._on(value, device, "read"))
        source = self.arrays.where(value.home)
        copied = self.arrays.fresh(value.home)
        if source != device:
            copied = self.arrays.put(value.home, device)
        if self.arrays.moved(value.home, copied):
            self._note(source, device, value, "explicit", copied.nbytes)
        return Held(self._name(binding.var), copied)

    def _on_shapes(self, binding: nodes.Binding, call: nodes.Call) -> Entry:
        (operand,) = call.args
        assert isinstance(operand, nodes.Var)
        value, attrs = self.values[operand], attributes(call)
        if call.op == "tensor_to_shape":
            assert isinstance(value, Held)
            return Dims(tuple(int(size) for size in self._data(value)))
        if call.op == "shape_of":
            assert isinstance(value, Held)
            return Dims(tuple(value.home.shape[attrs["start"] : attrs["end"]]))
        assert not isinstance(value, tuple)
        found = value.sizes if isinstance(value, Dims) else prod(value.home.shape)
        raw = np.asarray(found, np.int64)
        return Held(self._name(binding.var), self.arrays.put(raw, None), raw, "constant")

    def _made(
        self, binding: nodes.Binding, call: nodes.Call, made: Any, device: str | None
    ) -> Entry:
        arrays = made if isinstance(made, tuple) else (made,)
        if device is not None:
            arrays = tuple(self.arrays.put(array, device) for array in arrays)
        ran_on = self.arrays.where(arrays[0])
        name = self._name(binding.var)
        self.executions.append(Execution(call.op, (name,), ran_on))
        if device is None:
            self._note_followers(call, ran_on)
        held = tuple(Held(name, array) for array in arrays)
        return held if isinstance(made, tuple) else held[0]

    def _note_followers(self, call: nodes.Call, ran_on: str) -> None:
        """Note the operands that the engine itself brought to where the operator ran."""
        for index, operand in enumerate(call.args):
            value = self.values[operand] if isinstance(operand, nodes.Var) else None
            if not isinstance(value, Held) or operators()[call.op].is_host_operand(index):
                continue
            source = self.arrays.where(value.home)
            if source == ran_on:
                value.stayed = True
                continue
            if value.followed is None:
                value.followed = len(self.copies)
            cause = "constant" if value.cause == "constant" else "read"
            self._note(source, ran_on, value, cause, value.home.nbytes)

    def _deliver(self, value: Entry, type_: Type | None) -> Value:
        if isinstance(value, tuple):
            items = type_.items if isinstance(type_, TupleType) else (None,) * len(value)
            return tuple(self._deliver(v, t) for v, t in zip(value, items, strict=True))
        assert isinstance(value, Held)
        device = self.task.device(type_)
        array = value.home if device is None else self._on(value, device, _result(value))
        return self.arrays.data(array)

    def _note(self, source: str, target: str, value: Held, cause: str, size: int) -> None:
        self.copies.append(Copy(source, target, value.name, size, cause))


def _result(value: Held) -> str:
    return value.cause if value.cause in ("argument", "constant") else "result"
