"""Programs in their ONNX form, whose engine lives in a process of its own.

The process holds an object with three methods: ``load(key, model)``, ``drop(key)`` and
``run(key, inputs)``, where ``run`` returns the outputs and, for engines that tell it, the device
that each node ran on, by the node's name. Nodes are named for what they make.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Final, TypeAlias, final

from hettest.adapters.child import Child
from hettest.backend.protocol import Execution, Mode, Observation, Program
from hettest.language import TupleType, Type, nodes, parse

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from hettest.backend.protocol import Array, Value

MOST_LOADED: Final = 64
"""Models that the process keeps; beyond, the oldest is dropped and loaded again when needed."""

Ran: TypeAlias = Mapping[str, str]
"""The device that each node ran on."""


@final
@dataclass
class Models:
    """The process, as the adapter sees it."""

    child: Child
    _loaded: dict[str, BaseProcess | None] = field(default_factory=dict)
    """The process that holds each model, by the model's name."""

    def load(self, model: bytes) -> str:
        """Load a model, and return the name that it goes by in the process.

        Raises:
            Rejected: The engine refuses it.
            EngineDied: The process died of it.
        """
        key = sha256(model).hexdigest()
        if key in self._loaded and self._loaded[key] is self.child.process is not None:
            return key
        if len(self._loaded) >= MOST_LOADED:
            oldest = next(iter(self._loaded))
            del self._loaded[oldest]
            self.child.ask("drop", oldest)
        self.child.ask("load", key, model)
        self._loaded[key] = self.child.process
        return key

    def run(self, model: bytes, inputs: list[Array]) -> tuple[list[Array], Ran | None]:
        """Return the outputs of a model, and where its nodes ran.

        Raises:
            Rejected: The engine refuses the model, or ended the run with an error.
            EngineDied: The process died of it.
        """
        found: tuple[list[Array], Ran | None] = self.child.ask("run", self.load(model), inputs)
        return found

    def close(self) -> None:
        """End the process."""
        self.child.close()
        self._loaded.clear()


@final
@dataclass(frozen=True)
class Executable:
    """One program; each of its functions is a model, loaded in the engine's process."""

    models: Models
    program: Program

    def load(self, entry: str) -> bytes:
        """Return the model of a function, loaded.

        Raises:
            Rejected: The engine refuses the model.
            EngineDied: The engine's process died.
        """
        model = self.program.onnx(entry)
        self.models.load(model)
        return model

    def run(self, entry: str, args: Sequence[Value], mode: Mode = Mode.DIRECT) -> Observation:
        """Run a function; its inputs are the tensors of the arguments, in order.

        Raises:
            Rejected: The engine refuses the model, or ended the run with an error.
            EngineDied: The engine's process died.
        """
        outputs, ran = self.models.run(self.program.onnx(entry), _flat(args))
        function = parse(self.program.text, self.program.id).by_name[entry]
        results = _nested(function.result, iter(outputs))
        if ran is None:
            return Observation(results=results)
        return Observation(results=results, executions=tuple(_executions(function, ran)))


def _executions(function: nodes.Function, ran: Ran) -> Iterator[Execution]:
    """Yield the operators of the function's own body whose last node ran."""
    for binding in function.body.bindings():
        name = binding.var.name
        device = ran.get(name, ran.get(f"{name}.0"))
        if isinstance(binding.value, nodes.Call) and device is not None:
            yield Execution(binding.value.op, (f"{function.name}/%{name}",), device)


def _nested(type_: Type, outputs: Iterator[Array]) -> Value:
    """Return a model's outputs nested as the function's result is."""
    if isinstance(type_, TupleType):
        return tuple(_nested(item, outputs) for item in type_.items)
    return next(outputs)


def _flat(values: Sequence[Value]) -> list[Array]:
    flat: list[Array] = []
    for value in values:
        assert not isinstance(value, str), "ONNX has no values of data types"
        flat += _flat(value) if isinstance(value, tuple) else [value]
    return flat
