"""Small ONNX models for tests, made in code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import (
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
    helper,
    numpy_helper,
)

F32 = TensorProto.FLOAT
I64 = TensorProto.INT64
BOOL = TensorProto.BOOL

Dims = Sequence["int | str | None"] | None


def value(name: str, dims: Dims, element: int = F32) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, element, dims)


def tensor(name: str, array: npt.ArrayLike) -> TensorProto:
    return numpy_helper.from_array(np.asarray(array), name)


def model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    *,
    initializers: Mapping[str, npt.ArrayLike] | None = None,
    opset: int = 21,
    domains: Mapping[str, int] | None = None,
    functions: Sequence[Any] = (),
) -> ModelProto:
    """Return a model with these nodes; nothing is checked."""
    graph = helper.make_graph(
        nodes, "g", inputs, outputs, [tensor(n, a) for n, a in (initializers or {}).items()]
    )
    opsets = {"": opset, **(domains or {})}
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    return helper.make_model(graph, opset_imports=imports, functions=functions, ir_version=10)


def branch(nodes: Sequence[NodeProto], outputs: Sequence[ValueInfoProto]) -> GraphProto:
    return helper.make_graph(nodes, "branch", [], outputs)


def single(
    op: str,
    inputs: Sequence[ValueInfoProto],
    *,
    outputs: Sequence[str] = ("y",),
    initializers: Mapping[str, npt.ArrayLike] | None = None,
    opset: int = 21,
    **attributes: Any,
) -> ModelProto:
    """Return a model of one node, whose outputs' types are not said."""
    names = [i.name for i in inputs] + list(initializers or {})
    node = helper.make_node(op, names, list(outputs), **attributes)
    results = [ValueInfoProto(name=name) for name in outputs]
    return model([node], inputs, results, initializers=initializers, opset=opset)
