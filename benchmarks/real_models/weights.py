"""How many bytes of weights an ONNX model holds, wherever it keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx
from onnx import numpy_helper


def weight_bytes(path: Path | str) -> int:
    """Return the bytes of all initializers and constants of a model, and of the graphs inside."""
    return sum(numpy_helper.to_array(t).nbytes for t in _tensors(onnx.load(path).graph))


def _tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR and node.op_type == "Constant":
                yield attribute.t
            elif attribute.type == onnx.AttributeProto.GRAPH:
                yield from _tensors(attribute.g)
