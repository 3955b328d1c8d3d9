"""One operator, run three ways: by its `OpDef`, by onnxruntime and by ONNX's own evaluator."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper
from onnx.reference import ReferenceEvaluator

from reference_vm.ops.definition import Content, OpDef
from reference_vm.ops.typing import TypedCall, fill_attrs, infer_call
from reference_vm.types import Attrs, AttrValue, TensorType, Type, leaves
from reference_vm.types.arrays import from_numpy
from reference_vm.types.dim import evaluate

Arrays = Sequence[Any]


def compute(op: OpDef, *operands: Any, **attrs: AttrValue) -> Any:
    """Return what ``op`` computes with NumPy; its operands are checked to be left alone."""
    before = [None if x is None else np.array(x) for x in operands]
    result = op.compute(np, *operands, **fill_attrs(op, Attrs(attrs)))
    for old, new in zip(before, operands, strict=True):
        np.testing.assert_array_equal(old, new)
    return result


def node_model(
    op_type: str, inputs: Arrays, outputs: int, opset: int, attrs: dict[str, Any]
) -> onnx.ModelProto:
    """Return a model of one node; an input that is ``None`` is left out."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op_type, names, results, **attrs)
    given = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for n, x in zip(names, inputs, strict=True)
        if x is not None
    ]
    graph = helper.make_graph([node], "node", given, [onnx.ValueInfoProto(name=r) for r in results])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def feeds(inputs: Arrays) -> dict[str, Any]:
    return {f"x{i}": x for i, x in enumerate(inputs) if x is not None}


def by_onnxruntime(
    op_type: str, inputs: Arrays, *, outputs: int = 1, opset: int = 22, **attrs: Any
) -> list[Any]:
    """Return the results of onnxruntime for one node, its optimizations off."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    model = node_model(op_type, inputs, outputs, opset, attrs).SerializeToString()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return list(session.run(None, feeds(inputs)))


def by_evaluator(
    op_type: str, inputs: Arrays, *, outputs: int = 1, opset: int = 22, **attrs: Any
) -> list[Any]:
    """Return the results of ONNX's reference evaluator for one node."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluator = ReferenceEvaluator(node_model(op_type, inputs, outputs, opset, attrs))
        return list(evaluator.run(None, feeds(inputs)))


def infer(
    op: OpDef, types: Sequence[Type | None], contents: Sequence[Content | None] = (), **attrs: Any
) -> Type:
    """Return the result type that ``op``'s rule finds."""
    padded = [*contents, *[None] * (len(types) - len(contents))]
    found: TypedCall = infer_call(op, types, Attrs(attrs), padded)
    return found.type


def array_type(array: Any, shape: tuple[Any, ...] | None = None) -> TensorType:
    """Return the type of ``array``, with other dims if ``shape`` is given."""
    return TensorType(from_numpy(array.dtype), array.shape if shape is None else shape)


def check_inferred(found: Type, arrays: Any, values: dict[str, int]) -> None:
    """Check that inferred types, under the symbols' ``values``, are those of ``arrays``."""
    tuple_of = arrays if isinstance(arrays, tuple) else (arrays,)
    types = list(leaves(found))
    assert len(types) == len(tuple_of)
    for type_, array in zip(types, tuple_of, strict=True):
        assert type_.dtype == from_numpy(array.dtype)
        assert type_.shape is not None
        assert tuple(evaluate(d, values) for d in type_.shape) == array.shape


__all__ = [
    "array_type",
    "by_evaluator",
    "by_onnxruntime",
    "check_inferred",
    "compute",
    "infer",
]
