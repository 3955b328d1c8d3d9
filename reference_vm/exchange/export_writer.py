"""Collects the nodes of an ONNX graph while a program is exported.

A writer belongs to one graph; those of branches share names and constants with the graph around
them. `ExportCall` is one call of ours as the rules of `export_ops_*` see it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, Union, final

import numpy as np
import numpy.typing as npt
from onnx import NodeProto, TensorProto, helper

from reference_vm.diagnostics import CompileError, catalog
from reference_vm.exchange.element_types import to_element_type
from reference_vm.ir.names import FreshNames
from reference_vm.ir.nodes import Constant
from reference_vm.types import Attrs, DType, TensorType, Type
from reference_vm.types.arrays import from_numpy, to_numpy
from reference_vm.types.dtype import F64


def inexpressible(where: str, message: str) -> CompileError:
    """Return the error that ONNX has no way to say what stands at ``where``."""
    return CompileError(catalog.inexpressible(where, message))


@final
@dataclass(slots=True)
class GraphWriter:
    """The nodes of one graph, so far."""

    names: FreshNames = field(default_factory=FreshNames)
    """Of values, each once in the whole model."""

    initializers: list[TensorProto] = field(default_factory=list)
    nodes: list[NodeProto] = field(default_factory=list)
    hint: str = ""
    """What the next values are called after."""

    def nested(self) -> GraphWriter:
        """Return a writer for a branch."""
        return GraphWriter(self.names, self.initializers)

    def emit(self, op: str, inputs: Sequence[str], count: int = 1, **attrs: Any) -> tuple[str, ...]:
        """Append a node and return the names of its outputs; attributes that are none stay out."""
        while inputs and not inputs[-1]:
            inputs = inputs[:-1]
        outputs = tuple(self.names.fresh(f"{self.hint}.{op.lower()}") for _ in range(count))
        given = {name: value for name, value in attrs.items() if value is not None}
        self.nodes.append(helper.make_node(op, inputs, outputs, **given))
        return outputs

    def constant(self, array: npt.NDArray[Any], name: str = "const") -> str:
        """Append an initializer and return its name."""
        dtype = from_numpy(array.dtype)
        data = np.ascontiguousarray(array).tobytes()
        return self.bind_constant(Constant(dtype, tuple(array.shape), data), name)

    def bind_constant(self, constant: Constant, name: str) -> str:
        found = self.names.fresh(name or "v")
        tensor = TensorProto(name=found, data_type=to_element_type(constant.dtype))
        tensor.dims.extend(constant.shape)
        tensor.raw_data = _packed(constant)
        self.initializers.append(tensor)
        return found

    def rename(self, start: int, old: str, wanted: str) -> str:
        """Call a result of the nodes from ``start`` on ``wanted``; return its name then.

        A value that older nodes made keeps its name.
        """
        made = self.nodes[start:]
        if not any(old in node.output for node in made):
            return old
        new = self.names.fresh(wanted or "v")
        for node in made:
            for names in (node.input, node.output):
                for index, name in enumerate(names):
                    if name == old:
                        names[index] = new
        return new


def _packed(constant: Constant) -> bytes:
    """Return the data as ONNX lays it out: 4-bit elements two in a byte."""
    if constant.dtype.bits >= 8:
        return constant.data
    nibbles = np.frombuffer(constant.data, np.uint8) & 15
    even = np.append(nibbles, np.zeros(len(nibbles) % 2, np.uint8)).reshape(-1, 2)
    packed: bytes = (even[:, 0] | (even[:, 1] << 4)).astype(np.uint8).tobytes()
    return packed


@final
@dataclass(frozen=True, slots=True)
class ExportCall:
    """One call, its operands already exported."""

    op: str
    inputs: tuple[str, ...]
    """Names of the operands, empty for one left out."""

    types: tuple[Type | None, ...]
    attrs: Attrs
    result: Type
    writer: GraphWriter
    where: str

    def emit(self, op: str, *inputs: str, **attrs: Any) -> str:
        """Append a node with one output and return its name.

        Raises:
            CompileError: ``inexpressible``: an attribute is no f32, and the operands are f64.
        """
        for name, value in attrs.items():
            if isinstance(value, float) and self._is_double and float(np.float32(value)) != value:
                raise self.inexpressible(
                    f"ONNX holds attributes in f32, in which {name} = {value} is another number"
                )
        return self.writer.emit(op, inputs, **attrs)[0]

    @property
    def _is_double(self) -> bool:
        return any(isinstance(type_, TensorType) and type_.dtype == F64 for type_ in self.types)

    def operand(self, index: int) -> str:
        """Return the name of an operand, empty if it is left out."""
        return self.inputs[index] if index < len(self.inputs) else ""

    def tensor(self, index: int = 0) -> TensorType:
        found = self.types[index]
        assert isinstance(found, TensorType)
        return found

    @property
    def dtype(self) -> DType:
        """The element type of operand 0."""
        return self.tensor().dtype

    def rank(self, index: int = 0) -> int:
        """Return the rank of an operand, which must be known.

        Raises:
            CompileError: ``inexpressible``.
        """
        rank = self.tensor(index).rank
        if rank is None:
            raise self.inexpressible(f"the rank of operand {index} is not known")
        return rank

    def ints(self, values: Sequence[int]) -> str:
        """Return the name of a constant i64 vector."""
        return self.writer.constant(np.asarray(values, np.int64))

    def scalar(self, value: float, dtype: DType) -> str:
        """Return the name of a constant of rank 0."""
        return self.writer.constant(np.asarray(value).astype(to_numpy(dtype)))

    def cast(self, value: str, dtype: DType) -> str:
        return self.emit("Cast", value, to=to_element_type(dtype))

    def inexpressible(self, message: str) -> CompileError:
        return inexpressible(self.where, message)


ExportRule: TypeAlias = Callable[[ExportCall], Union[str, tuple[str, ...]]]
"""Appends the nodes for a call and returns the names of its results."""

ExportTable: TypeAlias = Mapping[str, ExportRule]


__all__ = [
    "ExportCall",
    "ExportRule",
    "ExportTable",
    "GraphWriter",
    "inexpressible",
]
