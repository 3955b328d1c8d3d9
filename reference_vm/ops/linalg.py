"""Linear algebra: matmul, einsum, det."""

from __future__ import annotations

from typing import Final

from reference_vm.ops.checks import agree_on_dtype, tensor_of
from reference_vm.ops.definition import Array, Namespace, OpCall, OpDef
from reference_vm.ops.elementwise import X, Y
from reference_vm.ops.numerics import lifted
from reference_vm.ops.shapes import broadcast, same_dim, str_shape
from reference_vm.types import Shape, TensorType
from reference_vm.types.dtype import NUMERIC


def _infer_matmul(call: OpCall) -> TensorType:
    x, y = tensor_of(call, 0, NUMERIC), tensor_of(call, 1, NUMERIC)
    agree_on_dtype(call, (0, 1))
    if 0 in (x.rank, y.rank):
        raise call.error("rank-mismatch", f"ranks are {x.rank} and {y.rank}, expected 1 or more")
    if x.shape is None or y.shape is None:
        return TensorType(x.dtype, None)
    return TensorType(x.dtype, _matmul_shape(call, x.shape, y.shape))


def _matmul_shape(call: OpCall, x: Shape, y: Shape) -> Shape:
    inner = y[-2] if len(y) > 1 else y[0]
    if same_dim(x[-1], inner) is None:
        raise call.error(
            "shape-mismatch",
            f"x is {str_shape(x)} and y {str_shape(y)}",
            "the last dim of x is the last but one of y, or the only one",
        )
    lead = broadcast(call, (x[:-2], y[:-2]))
    assert lead is not None
    rows = x[-2:-1] if len(x) > 1 else ()
    columns = y[-1:] if len(y) > 1 else ()
    return (*lead, *rows, *columns)


def _matmul(xp: Namespace, x: Array, y: Array) -> Array:
    return xp.matmul(x, y)


OPS: Final[tuple[OpDef, ...]] = (
    OpDef(
        name="matmul",
        summary="Matrix product of the last two axes, the others broadcast; integers wrap.",
        operands=(X, Y),
        infer=_infer_matmul,
        compute=lifted(_matmul),
    ),
)
