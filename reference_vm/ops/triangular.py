"""Operators on the diagonals of matrices: tril, triu, eye_like."""

from __future__ import annotations

from typing import Any, Final

from reference_vm.ops.checks import INDICES, expect_rank, tensor_of
from reference_vm.ops.definition import (
    Array,
    Attr,
    Namespace,
    OpCall,
    OpDef,
    Operand,
    Trait,
)
from reference_vm.ops.elementwise import X
from reference_vm.ops.movement import moving
from reference_vm.types import UNKNOWN, DType, TensorType
from reference_vm.types.arrays import to_numpy


def _infer_triangle(call: OpCall) -> TensorType:
    x = tensor_of(call, 0)
    if x.rank in (0, 1):
        raise call.error("rank-mismatch", f"operand x has rank {x.rank}, expected 2 or more")
    if call.present(1):
        tensor_of(call, 1, INDICES)
        expect_rank(call, 1, (0,))
    return TensorType(x.dtype, x.shape)


def _tril(xp: Namespace, x: Array, k: Any = None) -> Array:
    return xp.where(_above(xp, x, 0 if k is None else int(k)), xp.zeros((), dtype=x.dtype), x)


def _triu(xp: Namespace, x: Array, k: Any = None) -> Array:
    return xp.where(_above(xp, x, (0 if k is None else int(k)) - 1), x, xp.zeros((), dtype=x.dtype))


def _above(xp: Namespace, x: Array, k: int) -> Array:
    """Return which places of a matrix lie above diagonal ``k``."""
    rows, columns = x.shape[-2:]
    return xp.arange(columns)[None, :] - xp.arange(rows)[:, None] > k


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


OPS: Final[tuple[OpDef, ...]] = (
    moving(
        "tril",
        "Zeros above diagonal k of the last two axes.",
        _infer_triangle,
        _tril,
        operands=(X, Operand("k", optional=True, host=True)),
    ),
    moving(
        "triu",
        "Zeros below diagonal k of the last two axes.",
        _infer_triangle,
        _triu,
        operands=(X, Operand("k", optional=True, host=True)),
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
)
