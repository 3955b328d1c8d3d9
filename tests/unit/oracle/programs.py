"""Small programs for the oracle's own tests, built from nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference_vm.ir.nodes import Binding, Block, Call, Function, Module, Var
from reference_vm.oracle.evaluate import Evaluation, evaluate
from reference_vm.types import Attrs, AttrValue, TensorType
from reference_vm.types.arrays import from_numpy


def call_program(op: str, arrays: list[NDArray[Any]], **attrs: AttrValue) -> Module:
    """Return a module whose ``main`` applies ``op`` to its parameters."""
    params = tuple(
        Var(f"x{i}", TensorType(from_numpy(a.dtype), a.shape)) for i, a in enumerate(arrays)
    )
    result = Var("r")
    body = Block((Binding(result, Call(op, params, Attrs(attrs))),), result)
    return Module(
        functions=(Function("main", params, TensorType(from_numpy(arrays[0].dtype), None), body),)
    )


def evaluate_call(op: str, *arrays: NDArray[Any], **attrs: AttrValue) -> Evaluation:
    return evaluate(call_program(op, list(arrays), **attrs), "main", list(arrays))


def floats(*values: float) -> NDArray[np.float32]:
    return np.asarray(values, np.float32)
