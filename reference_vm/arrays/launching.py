"""One operator on arrays of a device: typed by the language's rule, run by a launch there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from inspect import signature
from typing import Any

import numpy as np

from reference_vm.arrays.memory import Given, Sizes
from reference_vm.devices.api import DeviceApi, Tensor
from reference_vm.diagnostics import CompileError, DataError
from reference_vm.ops.catalog import OPS
from reference_vm.ops.typing import infer_call
from reference_vm.targets.numpy import LibraryKernel
from reference_vm.types import Attrs, ShapeType, TensorType, TupleType, Type
from reference_vm.types.arrays import from_numpy


def call(device: DeviceApi, name: str, operands: Sequence[Given], **attrs: Any) -> list[Tensor]:
    """Return the results of an operator, in fresh memory of ``device``.

    Raises:
        TypeError: The operator does not take these types.
        ValueError: It does not take these shapes or data.
    """
    op = OPS[name]
    types = [_type(operand) for operand in operands]
    contents = [_content(operand) for operand in operands]
    try:
        typed = infer_call(op, types, Attrs(attrs), contents)
    except CompileError as error:
        kind = TypeError if "dtype" in error.diagnostics[0].code else ValueError
        raise kind(f"{error.diagnostics[0].message}, on {device.name}") from error
    several = isinstance(typed.type, TupleType)
    count = len(typed.type.items) if isinstance(typed.type, TupleType) else 1
    kernel = LibraryKernel(
        name,
        (name,),
        op.compute,
        tuple(range(len(operands))),
        dict(typed.attrs),
        several,
        op.can_fail(typed.type),
        _takes_out(name),
    )
    try:
        return list(device.launch(kernel, operands, [None] * count))
    except DataError as error:
        raise ValueError(f"{name}, on {device.name}: {error}") from error


def _content(operand: Given) -> tuple[int, ...] | None:
    """Return what lies in a vector on the host, such as a shape; ``None`` for other operands."""
    if isinstance(operand, np.ndarray) and operand.ndim == 1:
        return tuple(operand.tolist())
    return None


def _type(operand: Given) -> Type | None:
    if operand is None:
        return None
    if isinstance(operand, Sizes):
        return ShapeType(tuple(operand))
    if isinstance(operand, Tensor):
        return TensorType(operand.dtype, operand.shape)
    return TensorType(from_numpy(operand.dtype), operand.shape)


@cache
def _takes_out(name: str) -> bool:
    return "out" in signature(OPS[name].compute).parameters
