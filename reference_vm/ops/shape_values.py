"""Operators that read shapes, and turn them into tensors and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from reference_vm.ops.checks import INDICES, expect_rank, integers, tensor_of
from reference_vm.ops.contents import tidy
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
from reference_vm.ops.shapes import element_count
from reference_vm.types import UNKNOWN, Shape, ShapeType, TensorType
from reference_vm.types.dtype import I64

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
