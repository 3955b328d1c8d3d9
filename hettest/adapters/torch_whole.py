"""A function as one that PyTorch compiles or exports whole, on its processor.

The function is written as a list of steps, so that nothing of ours is in PyTorch's way when it
follows it: a step takes the values so far and returns the next one. It is compiled anew for each
list of argument shapes, all sizes being known then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from math import prod
from types import FunctionType
from typing import Any, TypeAlias, final

import numpy as np

from hettest.adapters.child import engine_errors
from hettest.adapters.reading import Task, attributes, dims, sizes
from hettest.adapters.torch_operators import HostValue, host_value, spelled
from hettest.adapters.torch_operators_nn import OPERATORS
from hettest.language import Trait, nodes, numpy_dtype, operators

Step: TypeAlias = Callable[[list[Any]], Any]

_NUMBERS = count()


@final
@dataclass
class Whole:
    """A function, compiled or exported for each list of argument shapes that it meets."""

    torch: Any
    task: Task
    tensor: Callable[[Any], Any]
    """Makes a tensor of NumPy's array."""

    mode: str
    """``compile`` or ``export``."""

    ready: dict[tuple[Any, ...], Any] = field(default_factory=dict)

    def run(self, args: tuple[Any, ...]) -> Any:
        """Return what the function makes of tensors, nested as its result is.

        Raises:
            Refused: PyTorch refuses the function, or ended the run with an error.
        """
        key = tuple(tuple(tensor.shape) for tensor in _leaves(args))
        if key not in self.ready:
            written = _Writer(self.torch, self.task, self.tensor).write(args)
            with engine_errors("compile"):
                self.ready[key] = self._made(written, args)
        with engine_errors("run"):
            return self.ready[key](*args)

    def _made(self, written: Written, args: tuple[Any, ...]) -> Any:
        if self.mode == "compile":
            return self.torch.compile(
                written.function(), dynamic=False, fullgraph=not written.reads_data
            )
        module = self.torch.nn.Module()
        module.forward = written.function()
        return self.torch.export.export(module, args).module()


def _leaves(values: tuple[Any, ...]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple):
            yield from _leaves(value)
        else:
            yield value


@final
@dataclass(frozen=True)
class Written:
    """The steps of a function, and the number of the value that is its result."""

    steps: tuple[Step, ...]
    result: int
    reads_data: bool
    """Whether a shape hangs on data that is computed in the function."""

    def function(self) -> Callable[..., Any]:
        """Return the function, with code of its own: PyTorch keeps what it compiled by the code."""
        steps, result = self.steps, self.result

        def main(*args: Any) -> Any:
            values = list(args)
            for step in steps:
                values.append(step(values))
            return values[result]

        code = main.__code__.replace(co_name=f"main_{next(_NUMBERS)}")
        return FunctionType(code, main.__globals__, closure=main.__closure__)


@final
@dataclass
class _Writer:
    torch: Any
    task: Task
    tensor: Callable[[Any], Any]
    steps: list[Step] = field(default_factory=list)
    numbers: dict[nodes.Var, int] = field(default_factory=dict)
    """The place of each variable's value among the values."""

    constants: dict[nodes.Var, Any] = field(default_factory=dict)
    shapes: set[nodes.Var] = field(default_factory=set)
    """The variables whose values hang on shapes alone."""

    known: dict[str, int] = field(default_factory=dict)
    reads_data: bool = False

    def write(self, args: tuple[Any, ...]) -> Written:
        function = self.task.function
        self.known = sizes(function, args)
        self.numbers = {param: index for index, param in enumerate(function.params)}
        for binding in function.body.bindings():
            self.numbers[binding.var] = self._number(binding)
            self._note_shape(binding)
        return Written(tuple(self.steps), self.numbers[function.body.result], self.reads_data)

    def _add(self, step: Step) -> int:
        self.steps.append(step)
        return len(self.task.function.params) + len(self.steps) - 1

    def _number(self, binding: nodes.Binding) -> int:
        match binding.value:
            case nodes.Call() as call:
                return self._call(call)
            case nodes.Alias(var=source):
                return self.numbers[source]
            case nodes.MakeTuple(items=items):
                return self._add(_gathering(tuple(self.numbers[item] for item in items)))
            case nodes.Project(tuple=source, index=index):
                return self._add(_projecting(self.numbers[source], index))
            case nodes.Constant(dtype=dtype, shape=shape, data=data):
                array = np.frombuffer(data, numpy_dtype(str(dtype))).reshape(shape)
                self.constants[binding.var] = array
                return self._add(_giving(self.tensor(array)))
            case nodes.ShapeLiteral() as literal:
                return self._add(_giving(dims(literal, self.known)))
            case other:
                raise NotImplementedError(f"{type(other).__name__} is not claimed")

    def _note_shape(self, binding: nodes.Binding) -> None:
        match binding.value:
            case nodes.ShapeLiteral():
                self.shapes.add(binding.var)
            case nodes.Call(op="tensor_to_shape", args=(nodes.Var() as tensor,)):
                if tensor in self.shapes or tensor in self.constants:
                    self.shapes.add(binding.var)
            case nodes.Call(op=op) if operators()[op].has(Trait.HOST):
                self.shapes.add(binding.var)

    def _call(self, call: nodes.Call) -> int:
        op, attrs = operators()[call.op], spelled(attributes(call))
        places = [self.numbers[a] if isinstance(a, nodes.Var) else None for a in call.args]
        if call.op in ("to_vdevice", "hint_on_device", "match_cast"):
            assert places[0] is not None
            return places[0]
        if call.op == "device_copy":
            return self._add(_calling(self.torch, OPERATORS["identity"], places, {}, {}))
        if op.has(Trait.HOST):
            return self._add(_on_shapes(self.torch, call.op, places[0], attrs))
        hosts = {
            index: self._host_value(arg)
            for index, arg in enumerate(call.args)
            if isinstance(arg, nodes.Var) and op.is_host_operand(index)
        }
        return self._add(_calling(self.torch, OPERATORS[call.op], places, hosts, attrs))

    def _host_value(self, var: nodes.Var) -> HostValue | None:
        """Return what a host operand is; ``None`` where only the run knows."""
        if var in self.constants:
            return host_value(self.constants[var])
        self.reads_data = self.reads_data or var not in self.shapes
        return None


def _gathering(places: tuple[int, ...]) -> Step:
    return lambda values: tuple(values[place] for place in places)


def _projecting(place: int, index: int) -> Step:
    return lambda values: values[place][index]


def _giving(value: Any) -> Step:
    return lambda values: value


def _calling(torch: Any, function: Any, places: Any, hosts: Any, attrs: dict[str, Any]) -> Step:
    def step(values: list[Any]) -> Any:
        operands = []
        for index, place in enumerate(places):
            if hosts.get(index) is not None:
                operands.append(hosts[index])
            elif place is None:
                operands.append(None)
            elif index in hosts and not isinstance(values[place], tuple):
                operands.append(_read(values[place]))
            else:
                operands.append(values[place])
        return function(torch, *operands, **attrs)

    return step


def _read(tensor: Any) -> HostValue:
    return HostValue(tuple(tensor.reshape(-1).tolist()), str(tensor.dtype).rpartition(".")[2])


def _on_shapes(torch: Any, op: str, place: Any, attrs: dict[str, Any]) -> Step:
    def step(values: list[Any]) -> Any:
        value = values[place]
        if op == "tensor_to_shape":
            return tuple(value.tolist())
        if op == "shape_of":
            return tuple(value.shape)[attrs["start"] : attrs["end"]]
        found = list(value) if isinstance(value, tuple) else prod(value.shape)
        return torch.tensor(found, dtype=torch.int64)

    return step
