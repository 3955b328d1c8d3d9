"""Operators that make tensors and read shapes: full, arange, eye_like, shape_of, size_of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from reference_vm.ops.checks import INDICES, agree_on_dtype, expect_rank, integers, tensor_of
from reference_vm.ops.contents import LIMIT, tidy
from reference_vm.ops.definition import (
    Array,
    Attr,
    Content,
    DataError,
    Namespace,
    OpCall,
    OpDef,
    Operand,
    Trait,
)
from reference_vm.ops.elementwise import X
from reference_vm.ops.numerics import quiet
from reference_vm.ops.shapes import element_count, greatest, is_known
from reference_vm.types import UNKNOWN, Dim, DType, Shape, ShapeType, TensorType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dim import add, ceildiv, multiply, subtract
from reference_vm.types.dtype import F32, F64, I16, I32, I64

SHAPE: Final = Operand("shape", host=True)
_HOST_FACT: Final = frozenset({Trait.HOST, Trait.EXACT})
_SHAPE_FACT: Final = _HOST_FACT | {Trait.METADATA}


def sizes_of(call: OpCall, index: int) -> Shape | None:
    """Return host operand ``index`` as the dims of a shape.

    Raises:
        CompileError: A dim is negative, or the operand is no shape.
    """
    dims = integers(call, index)
    if dims is not None and any(isinstance(d, int) and d < 0 for d in dims):
        name = call.op.operand(index).name
        raise call.error("shape-mismatch", f"operand {name} holds a negative size")
    return dims


def run_sizes(values: Sequence[Any]) -> tuple[int, ...]:
    """Return the elements of a host operand as ints.

    Raises:
        DataError: One is negative.
    """
    sizes = tuple(int(v) for v in values)
    if any(size < 0 for size in sizes):
        raise DataError("shape-mismatch", f"found the shape {list(sizes)}, but no size is negative")
    return sizes


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
        raise call.error("shape-mismatch", "operand step is 0", "a step is positive or negative")
    if not isinstance(step, int):
        return UNKNOWN
    way = subtract(stop, start)
    count = ceildiv(way, step) if step > 0 else ceildiv(multiply(-1, way), -step)
    return greatest(count, 0)


def _arange(xp: Namespace, start: Array, stop: Array, step: Array) -> Array:
    first, last, by = (v.item() for v in (start, stop, step))
    if by == 0:
        raise DataError("zero-step", "arange by steps of 0", "a step is positive or negative")
    if isinstance(first, int):
        count = max(0, -((first - last) // by))
    else:
        count = max(0, math.ceil((last - first) / by))
    with quiet():
        return start + xp.arange(count, dtype=start.dtype) * step


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


def _infer_eye_like(call: OpCall) -> TensorType:
    x = tensor_of(call, 0)
    expect_rank(call, 0, (2,))
    return TensorType(
        call.attrs["dtype"] or x.dtype, (UNKNOWN,) * 2 if x.shape is None else x.shape
    )


def _eye_like(xp: Namespace, x: Array, *, k: int, dtype: DType | None) -> Array:
    rows, columns = x.shape
    target = x.dtype if dtype is None else to_numpy(dtype)
    return (xp.arange(columns)[None, :] - xp.arange(rows)[:, None] == k).astype(target)


def _infer_shape_of(call: OpCall) -> ShapeType:
    shape = call.tensor(0).shape
    return ShapeType(None if shape is None else shape[_part(len(shape), call.attrs)])


def _part(rank: int, attrs: Any) -> slice:
    """Return the dims from ``start`` to ``end``, negative ones from the end, clamped."""
    return slice(*slice(attrs["start"], attrs["end"]).indices(rank))


def _shape_of(xp: Namespace, x: Array, *, start: int, end: int | None) -> tuple[int, ...]:
    shape: tuple[int, ...] = x.shape
    return shape[slice(start, end)]


def _infer_size_of(call: OpCall) -> TensorType:
    call.tensor(0)
    return TensorType(I64, ())


def _size_of(xp: Namespace, x: Array) -> Array:
    import numpy as np

    return np.asarray(x.size, dtype=np.int64)


def _size_content(call: OpCall) -> Content | None:
    return tidy((element_count(call.tensor(0).shape),))


def _shape_operand(call: OpCall) -> ShapeType:
    found = call.types[0]
    if isinstance(found, ShapeType):
        return found
    raise call.error("type-mismatch", f"operand shape is {found}, expected a shape value")


def _infer_shape_to_tensor(call: OpCall) -> TensorType:
    dims = _shape_operand(call).dims
    return TensorType(I64, (UNKNOWN,) if dims is None else (len(dims),))


def _shape_to_tensor(xp: Namespace, shape: Sequence[int]) -> Array:
    import numpy as np

    return np.asarray(shape, dtype=np.int64)


def _shape_content(call: OpCall) -> Content | None:
    dims = _shape_operand(call).dims
    return None if dims is None else tidy(dims)


def _infer_tensor_to_shape(call: OpCall) -> ShapeType:
    tensor_of(call, 0, INDICES)
    expect_rank(call, 0, (1,))
    return ShapeType(sizes_of(call, 0))


def _tensor_to_shape(xp: Namespace, t: Array) -> tuple[int, ...]:
    return run_sizes(t)


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
        traits=frozenset({Trait.EXACT, Trait.CAN_FAIL}),
    ),
    OpDef(
        name="eye_like",
        summary="A matrix of x's shape with ones on diagonal k, zeros elsewhere.",
        operands=(X,),
        attrs={"k": Attr((int,), 0), "dtype": Attr((DType, type(None)), None)},
        infer=_infer_eye_like,
        compute=_eye_like,
        traits=frozenset({Trait.EXACT}),
        origin="onnx",
    ),
    OpDef(
        name="shape_of",
        summary="The shape, or its dims from start to before end, as a shape value.",
        operands=(X,),
        attrs={"start": Attr((int,), 0), "end": Attr((int, type(None)), None)},
        infer=_infer_shape_of,
        compute=_shape_of,
        traits=_SHAPE_FACT,
        origin="hettest",
    ),
    OpDef(
        name="size_of",
        summary="The number of elements.",
        operands=(X,),
        infer=_infer_size_of,
        compute=_size_of,
        content=_size_content,
        traits=_SHAPE_FACT,
        origin="onnx",
    ),
    OpDef(
        name="shape_to_tensor",
        summary="A shape value as a vector of integers.",
        operands=(SHAPE,),
        infer=_infer_shape_to_tensor,
        compute=_shape_to_tensor,
        content=_shape_content,
        traits=_HOST_FACT,
        origin="hettest",
    ),
    OpDef(
        name="tensor_to_shape",
        summary="A vector of integers as a shape value.",
        operands=(Operand("t", host=True),),
        infer=_infer_tensor_to_shape,
        compute=_tensor_to_shape,
        traits=_HOST_FACT | {Trait.CAN_FAIL},
        origin="hettest",
    ),
)
