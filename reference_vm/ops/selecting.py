"""Operators between indices and conditions: one_hot, compress.

An index of one_hot out of range, ``-depth .. depth - 1``, gives the off value.
"""

from __future__ import annotations

from typing import Any, Final

from reference_vm.ops.checks import INDICES, expect_rank, tensor_of
from reference_vm.ops.definition import (
    Array,
    Attr,
    DataError,
    Namespace,
    OpCall,
    OpDef,
    Operand,
    Trait,
)
from reference_vm.ops.elementwise import X
from reference_vm.ops.places import INDEX, within
from reference_vm.ops.shapes import (
    is_different,
    normalize_axis,
    str_shape,
)
from reference_vm.types import UNKNOWN, Dim, TensorType
from reference_vm.types.dtype import BOOL, INTEGERS


def _infer_one_hot(call: OpCall) -> TensorType:
    indices, values = tensor_of(call, 0, INTEGERS), tensor_of(call, 2)
    expect_rank(call, 1, (0,))
    expect_rank(call, 2, (1,))
    tensor_of(call, 1, INDICES)
    if values.shape is not None and is_different(values.shape[0], 2):
        raise call.error("shape-mismatch", f"values is {str_shape(values.shape)}, expected [2]")
    if indices.shape is None:
        return TensorType(values.dtype, None)
    axis = normalize_axis(call, call.attrs["axis"], len(indices.shape) + 1)
    known = call.content(1)
    depth = UNKNOWN if known is None else known[0]
    if isinstance(depth, int) and depth < 1:
        raise call.error("shape-mismatch", f"depth is {depth}, expected 1 or more")
    return TensorType(values.dtype, (*indices.shape[:axis], depth, *indices.shape[axis:]))


def _one_hot(xp: Namespace, indices: Array, depth: Any, values: Array, *, axis: int) -> Array:
    count = int(depth)
    if count < 1:
        raise DataError("shape-mismatch", f"depth is {count}, expected 1 or more")
    rank = indices.ndim + 1
    place = axis % rank
    line = xp.arange(count).reshape((count,) + (1,) * (rank - place - 1))
    wide = xp.expand_dims(indices.astype(xp.int64), place)
    if indices.dtype.kind == "u":
        wide = xp.where(wide < 0, count, wide)  # beyond i64
    hot = (wide == line) | (wide == line - count)
    return xp.where(hot, values[1], values[0])


def _infer_compress(call: OpCall) -> TensorType:
    x, axis = tensor_of(call, 0), call.attrs["axis"]
    tensor_of(call, 1, (BOOL,))
    expect_rank(call, 1, (1,))
    if axis is None:
        return TensorType(x.dtype, (UNKNOWN,))
    if x.shape is None:
        return TensorType(x.dtype, None)
    dims: list[Dim] = list(x.shape)
    dims[normalize_axis(call, axis, len(dims))] = UNKNOWN
    return TensorType(x.dtype, tuple(dims))


def _compress(xp: Namespace, x: Array, condition: Array, *, axis: int | None) -> Array:
    if axis is None:
        x, axis = x.reshape(-1), 0
    (places,) = xp.nonzero(condition)
    return xp.take(x, within(xp, places, x.shape[axis]), axis=axis)


OPS: Final[tuple[OpDef, ...]] = (
    OpDef(
        name="one_hot",
        summary="The second value where a new axis's place is the index, else the first.",
        operands=(INDEX, Operand("depth", host=True), Operand("values")),
        attrs={"axis": Attr((int,), -1)},
        infer=_infer_one_hot,
        compute=_one_hot,
        traits=frozenset({Trait.EXACT}),
        origin="onnx",
    ),
    OpDef(
        name="compress",
        summary="The slices of an axis, or of the flat elements, where the condition holds.",
        operands=(X, Operand("condition")),
        attrs={"axis": Attr((int, type(None)), None)},
        infer=_infer_compress,
        compute=_compress,
        traits=frozenset({Trait.EXACT, Trait.CAN_FAIL, Trait.DATA_DEPENDENT}),
        origin="onnx",
    ),
)
