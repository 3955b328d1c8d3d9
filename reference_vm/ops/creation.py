"""Operators that make tensors: full, arange."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from reference_vm.ops.checks import agree_on_dtype, expect_rank, tensor_of
from reference_vm.ops.contents import LIMIT, tidy
from reference_vm.ops.definition import (
    Array,
    Content,
    DataError,
    Namespace,
    OpCall,
    OpDef,
    Operand,
    Trait,
)
from reference_vm.ops.numerics import quiet
from reference_vm.ops.shape_values import SHAPE, run_sizes, sizes_of
from reference_vm.ops.shapes import greatest, is_known
from reference_vm.types import UNKNOWN, Attrs, Dim, TensorType, Type
from reference_vm.types.dim import add, ceildiv, multiply, subtract
from reference_vm.types.dtype import F32, F64, I16, I32, I64


def _infer_full(call: OpCall) -> TensorType:
    value = tensor_of(call, 1)
    expect_rank(call, 1, (0,))
    return TensorType(value.dtype, sizes_of(call, 0))


def _full(xp: Namespace, shape: Sequence[Any], value: Array) -> Array:
    result = xp.empty(run_sizes(shape), dtype=value.dtype)
    result[...] = value
    return result


def _full_content(call: OpCall) -> Content | None:
    dims, value = call.content(0), call.content(1)
    if dims is None or value is None or call.tensor(1).dtype.is_float or len(dims) > 1:
        return None
    count = dims[0] if dims else 1
    return tidy(value * count) if isinstance(count, int) and count <= LIMIT else None


def _infer_arange(call: OpCall) -> TensorType:
    start = tensor_of(call, 0, (I64, I32, I16, F32, F64))
    agree_on_dtype(call, (0, 1, 2))
    for index in range(3):
        expect_rank(call, index, (0,))
    bounds = [call.content(index) for index in range(3)]
    if start.dtype.is_float or any(b is None for b in bounds):
        return TensorType(start.dtype, (UNKNOWN,))
    first, stop, step = (b[0] for b in bounds if b is not None)
    return TensorType(start.dtype, (_arange_length(call, first, stop, step),))


def _arange_length(call: OpCall, start: Dim, stop: Dim, step: Dim) -> Dim:
    if step == 0:
        raise call.error("zero-step", "operand step is 0", "a step is positive or negative")
    if not isinstance(step, int):
        return UNKNOWN
    way = subtract(stop, start)
    count = ceildiv(way, step) if step > 0 else ceildiv(multiply(-1, way), -step)
    return greatest(count, 0)


def _count(first: float, last: float, by: float) -> int:
    """Return how many numbers there are from ``first`` to before ``last``, in steps of ``by``."""
    if by == 0:
        raise DataError("zero-step", "arange by steps of 0", "a step is positive or negative")
    if isinstance(first, int):
        return max(0, int(-((first - last) // by)))
    length = (last - first) / by
    if not math.isfinite(length):
        message = f"arange from {first} to {last} by {by} has no number of elements"
        raise DataError("attribute-value", message, "the bounds are finite, and not NaN")
    return max(0, math.ceil(length))


def _arange(xp: Namespace, start: Array, stop: Array, step: Array) -> Array:
    first, last, by = (v.item() for v in (start, stop, step))
    count = _count(first, last, by)
    with quiet():
        places = xp.arange(count, dtype=start.dtype if isinstance(first, float) else xp.int64)
        return (places * step.dtype.type(by) + start.dtype.type(first)).astype(start.dtype)


def _arange_sizes(types: Sequence[Type | None], data: Sequence[Any], attrs: Attrs) -> Type | None:
    if not isinstance(types[0], TensorType) or any(v is None for v in data):
        return None
    return TensorType(types[0].dtype, (_count(*(v.item() for v in data)),))


def _arange_content(call: OpCall) -> Content | None:
    bounds = [call.content(index) for index in range(3)]
    if call.tensor(0).dtype.is_float or any(b is None for b in bounds):
        return None
    start, stop, step = (b[0] for b in bounds if b is not None)
    if not is_known(start) or not isinstance(step, int) or step == 0:
        return None
    way = subtract(stop, start)
    if not isinstance(way, int):
        return None
    count = max(0, -(-way // step))
    return tidy([add(start, i * step) for i in range(count)]) if count <= LIMIT else None


OPS: Final[tuple[OpDef, ...]] = (
    OpDef(
        name="full",
        summary="A tensor of this shape, filled with one value.",
        operands=(SHAPE, Operand("value")),
        infer=_infer_full,
        compute=_full,
        content=_full_content,
        traits=frozenset({Trait.EXACT}),
    ),
    OpDef(
        name="arange",
        summary="The numbers from start to before stop, by step.",
        operands=tuple(Operand(name, host=True) for name in ("start", "stop", "step")),
        infer=_infer_arange,
        compute=_arange,
        content=_arange_content,
        sizes=_arange_sizes,
        traits=frozenset({Trait.EXACT, Trait.CAN_FAIL}),
    ),
)
