"""ONNX operators that change the element type."""

from __future__ import annotations

from typing import Final

import numpy as np

from reference_vm.exchange.element_types import element_type_name, from_element_type
from reference_vm.exchange.node import OnnxNode, RuleTable, versions
from reference_vm.exchange.refusals import unsupported_type
from reference_vm.ir.nodes import Var
from reference_vm.types import DType
from reference_vm.types.dtype import COMPUTED


def dtype_attribute(node: OnnxNode, name: str) -> DType:
    """Return the dtype that an attribute gives as a number.

    Raises:
        CompileError: ``unsupported-type``: we have none for it.
    """
    code = node.integer(name)
    dtype = from_element_type(code)
    if dtype is None:
        raise unsupported_type(node.where, element_type_name(code))
    return dtype


def _cast_to(node: OnnxNode, to: DType) -> Var:
    """Return the operand in dtype ``to``, one that operators compute on."""
    for dtype in (node.dtype(), to):
        if dtype not in COMPUTED:
            raise unsupported_type(node.where, str(dtype), "a dtype that operators compute on")
    return cast(node, node.input(0), to)


def _cast(node: OnnxNode) -> Var:
    return _cast_to(node, dtype_attribute(node, "to"))


def _cast_like(node: OnnxNode) -> Var:
    return _cast_to(node, node.dtype(1))


def _bit_cast(node: OnnxNode) -> Var:
    return node.build.call("bitcast", node.input(0), to=dtype_attribute(node, "to"))


def cast(node: OnnxNode, var: Var, dtype: DType) -> Var:
    """Return ``var`` in ``dtype``; itself if it has it."""
    return var if node.tensor(var).dtype == dtype else node.build.call("cast", var, to=dtype)


def scalar(node: OnnxNode, value: float, dtype: DType) -> Var:
    """Return a constant of rank 0."""
    return node.build.constant(np.asarray(value), dtype)


RULES: Final[RuleTable] = {
    "Cast": versions(_cast, 6, 9, 13, 19, 21, 23, 24, 25, 28),
    "BitCast": versions(_bit_cast, 26),
    "CastLike": versions(_cast_like, 15, 19, 21, 23, 24, 25),
}


__all__ = ["RULES", "cast", "dtype_attribute", "scalar"]
