"""One ONNX node as the translation rules see it: operands, attributes, and a builder.

Attributes left out have the default of the node's schema, so a rule states no default of its own
and defaults that changed between versions (``Softmax.axis``) come out right by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, Union, final

from onnx import AttributeProto, GraphProto

from reference_vm.diagnostics import CompileError
from reference_vm.exchange.builder import Builder
from reference_vm.exchange.refusals import invalid, nondeterministic, unsupported
from reference_vm.exchange.tensors import to_constant
from reference_vm.ir.nodes import Block, Constant, Var
from reference_vm.types import DType, TensorType


@final
@dataclass(frozen=True, slots=True)
class OnnxNode:
    """A node with its operands looked up."""

    op: str
    version: int
    """Of the operator's schema, not of the model's operator set: ``Softmax`` 11 in opset 12."""

    where: str
    """What messages call it: ``node 3 (Softmax "s")``."""

    inputs: tuple[Var | None, ...]
    outputs: tuple[bool, ...]
    """For each output, whether anything asks for it."""

    attributes: Mapping[str, AttributeProto]
    """By name, with the schema's defaults filled in."""

    build: Builder
    folder: Path | None
    translate: Callable[[GraphProto, Sequence[Var], Builder], tuple[Var, ...]]
    """Translates a subgraph, given its inputs, into a builder; returns its results."""

    def given(self, index: int) -> bool:
        """Whether input ``index`` is there."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def optional(self, index: int) -> Var | None:
        return self.inputs[index] if index < len(self.inputs) else None

    def input(self, index: int) -> Var:
        """Return an input that must be there.

        Raises:
            CompileError: ``invalid-model``, it is left out.
        """
        found = self.optional(index)
        if found is None:
            raise self.invalid(f"input {index} is left out, but it is not optional")
        return found

    def present(self) -> tuple[Var, ...]:
        """Return all inputs, of an operator of which none may be left out."""
        return tuple(self.input(i) for i in range(len(self.inputs)))

    def wants(self, index: int) -> bool:
        """Whether output ``index`` is asked for."""
        return index < len(self.outputs) and self.outputs[index]

    def type(self, index: int = 0) -> TensorType:
        """Return the type of an input that must be a tensor."""
        return self.tensor(self.input(index))

    def tensor(self, var: Var) -> TensorType:
        if not isinstance(var.type, TensorType):
            raise self.invalid(f"%{var.name} is {var.type}, expected a tensor")
        return var.type

    def rank(self, index: int = 0) -> int:
        """Return the rank of an input.

        Raises:
            CompileError: ``unsupported-operator``, it is unknown.
        """
        rank = self.type(index).rank
        if rank is None:
            raise self.unsupported(f"the rank of input {index} is not known")
        return rank

    def dtype(self, index: int = 0) -> DType:
        return self.type(index).dtype

    def axis(self, name: str = "axis") -> int:
        """Return an attribute that is an axis of input 0: from the front, if its rank is known."""
        axis, rank = self.integer(name), self.type().rank
        return axis if rank is None else self.positive(axis, rank)

    def positive(self, axis: int, rank: int) -> int:
        """Return ``axis`` counted from the front.

        Raises:
            CompileError: ``axis-out-of-range`` of a tensor of this rank.
        """
        if not -rank <= axis < rank:
            message = f"axis {axis} is out of range for rank {rank}"
            raise self.invalid(message, f"axes run from {-rank} to {rank - 1}")
        return axis % rank

    def has(self, name: str) -> bool:
        """Whether an attribute is given or has a default."""
        return name in self.attributes

    def integer(self, name: str) -> int:
        return int(self._attribute(name).i)

    def flag(self, name: str) -> bool:
        return self.integer(name) != 0

    def number(self, name: str) -> float:
        return float(self._attribute(name).f)

    def text(self, name: str) -> str:
        return self._attribute(name).s.decode("utf-8", "replace")

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(s.decode("utf-8", "replace") for s in self._attribute(name).strings)

    def integers(self, name: str) -> tuple[int, ...]:
        return tuple(int(i) for i in self._attribute(name).ints)

    def numbers(self, name: str) -> tuple[float, ...]:
        return tuple(float(f) for f in self._attribute(name).floats)

    def constant(self, name: str) -> Constant:
        """Return a tensor attribute as a constant."""
        return to_constant(self._attribute(name).t, self.where, self.folder)

    def graph(self, name: str) -> GraphProto:
        return self._attribute(name).g

    def branch(self, name: str) -> tuple[Block, tuple[Var, ...]]:
        """Translate a subgraph without inputs: return its block, and its results.

        The block's result is a tuple if there are several.
        """
        inner = self.build.nested()
        results = self.translate(self.graph(name), (), inner)
        if not results:
            raise self.invalid(f"subgraph {name} has no outputs")
        result = results[0] if len(results) == 1 else inner.pack(results)
        return Block(tuple(inner.bindings), result), results

    def static_ints(self, index: int, what: str) -> tuple[int, ...]:
        """Return the elements of an integer input that decides the meaning, such as axes.

        Raises:
            CompileError: ``unsupported-operator``, they are not known before the run.
        """
        found = self.build.static(self.input(index))
        if found is None:
            raise self.unsupported(f"{what} (input {index}) must be known before the run")
        return found

    def invalid(self, message: str, help: str | None = None) -> CompileError:  # noqa: A002 - the diagnostic's own word
        return invalid(self.where, message, help)

    def unsupported(self, message: str, help: str | None = None) -> CompileError:  # noqa: A002 - the diagnostic's own word
        return unsupported(self.where, message, help)

    def nondeterministic(self, message: str) -> CompileError:
        return nondeterministic(self.where, message)

    def _attribute(self, name: str) -> AttributeProto:
        if name not in self.attributes:
            raise self.invalid(f"attribute {name} is missing, and it has no default")
        return self.attributes[name]


Results: TypeAlias = Union[Var, Sequence[Union[Var, None]]]
"""One variable, or one for each output in order; ``None`` for one that nothing asks for."""

Rule: TypeAlias = Callable[[OnnxNode], Results]
"""Appends the calls that a node means and returns its results."""

RuleTable: TypeAlias = Mapping[str, Mapping[int, Rule]]
"""By operator and version of its schema.

A version that is not listed is refused, however new: what it changed is not known here.
"""


def versions(rule: Rule, *since: int) -> dict[int, Rule]:
    """Return ``rule`` for each of these schema versions."""
    return dict.fromkeys(since, rule)
