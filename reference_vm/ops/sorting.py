"""Operators that order or pick elements by value: top_k, nonzero, unique.

NaN is greater than every number, and equal to NaN. Elements that are equal keep their order.
"""

from __future__ import annotations

from typing import Any, Final

from reference_vm.ops.checks import tensor_of
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
from reference_vm.ops.host_values import integer, known_integer
from reference_vm.ops.numerics import is_float, widened
from reference_vm.ops.shapes import element_count, normalize_axis
from reference_vm.types import UNKNOWN, TensorType, TupleType, Type
from reference_vm.types.dtype import COMPUTED, I64, NUMERIC


def _infer_top_k(call: OpCall) -> Type:
    x, count = tensor_of(call, 0, NUMERIC), known_integer(call, 1)
    if x.shape is None:
        return TupleType((TensorType(x.dtype, None), TensorType(I64, None)))
    axis = normalize_axis(call, call.attrs["axis"], len(x.shape))
    size = x.shape[axis]
    if isinstance(count, int) and (count < 0 or (isinstance(size, int) and count > size)):
        raise call.error("shape-mismatch", f"the first {count} of {size} elements do not exist")
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    return TupleType((TensorType(x.dtype, shape), TensorType(I64, shape)))


def _compute_top_k(
    xp: Namespace,
    x: Array,
    k: Any,
    *,
    axis: int,
    largest: bool,
    sorted: bool,  # noqa: A002 - ONNX's own word
) -> tuple[Array, Array]:
    """The result is in order, asked for (``sorted``) or not."""
    count, size = integer(k), x.shape[axis]
    if not 0 <= count <= size:
        raise DataError("shape-mismatch", f"the first {count} of {size} elements do not exist")
    keys = widened(xp, x)
    if largest:  # backwards, ascending and back again: the greatest first, equal ones in order
        order = size - 1 - _order(xp, xp.flip(keys, axis), axis)
        order = xp.flip(order, axis)
    else:
        order = _order(xp, keys, axis)
    first = (slice(None),) * (axis % x.ndim) + (slice(count),)
    indices = order[first].astype(xp.int64)
    return xp.take_along_axis(x, indices, axis=axis), indices


def _order(xp: Namespace, keys: Array, axis: int) -> Array:
    """Return the indices that sort ``keys`` upwards; NaN goes last, equal ones stay in order."""
    return xp.argsort(keys, axis=axis, kind="stable")


def _infer_nonzero(call: OpCall) -> Type:
    rank = tensor_of(call, 0, COMPUTED).rank
    return TensorType(I64, (UNKNOWN if rank is None else rank, UNKNOWN))


def _compute_nonzero(xp: Namespace, x: Array) -> Array:
    if not x.ndim:
        return xp.zeros((0, int(bool(x != 0))), dtype=xp.int64)
    return xp.stack(xp.nonzero(x != 0)).astype(xp.int64)


def _infer_unique(call: OpCall) -> Type:
    x, axis = tensor_of(call, 0, COMPUTED), call.attrs["axis"]
    one = TensorType(I64, (UNKNOWN,))
    if axis is None:
        size = TensorType(I64, (element_count(x.shape),))
        return TupleType((TensorType(x.dtype, (UNKNOWN,)), one, size, one))
    if x.shape is None:
        return TupleType((TensorType(x.dtype, None), one, one, one))
    axis = normalize_axis(call, axis, len(x.shape))
    shape = (*x.shape[:axis], UNKNOWN, *x.shape[axis + 1 :])
    return TupleType((TensorType(x.dtype, shape), one, TensorType(I64, (x.shape[axis],)), one))


def _compute_unique(
    xp: Namespace,
    x: Array,
    *,
    axis: int | None,
    sorted: bool,  # noqa: A002 - ONNX's own word
) -> tuple[Array, Array, Array, Array]:
    along = 0 if axis is None else axis
    items = x.reshape(-1) if axis is None else x
    count = items.shape[along]
    rows = xp.moveaxis(widened(xp, items), along, 0).reshape(count, _width(items, along))
    order, starts = _runs(xp, rows)
    first = order[starts]  # the sort is stable: the first of a run stands first in the operand
    run = xp.cumsum(starts) - 1
    if not sorted:
        rank = xp.argsort(first, kind="stable")
        first = first[rank]
        run = xp.argsort(rank, kind="stable")[run]
    inverse = xp.empty(count, dtype=xp.int64)
    inverse[order] = run
    counts = xp.bincount(inverse, minlength=len(first)).astype(xp.int64)
    return xp.take(items, first, axis=along), first.astype(xp.int64), inverse, counts


def _width(items: Array, along: int) -> int:
    width = 1
    for axis, size in enumerate(items.shape):
        width *= 1 if axis == along % items.ndim else size
    return width


def _runs(xp: Namespace, rows: Array) -> tuple[Array, Array]:
    """Return the order that sorts ``rows``, and where in it rows differ from those before."""
    count, width = rows.shape
    if not count or not width:
        return xp.arange(count), xp.arange(count) == 0
    order = _order(xp, rows[:, 0], 0) if width == 1 else xp.lexsort(xp.flip(rows, 1).T)
    ordered = rows[order]
    same = ordered[1:] == ordered[:-1]
    if is_float(rows):
        same |= xp.isnan(ordered[1:]) & xp.isnan(ordered[:-1])
    differs = ~xp.all(same, axis=1)
    return order, xp.concatenate([xp.ones(1, dtype=bool), differs])


TOP_K: Final = OpDef(
    name="top_k",
    summary="Take the k greatest or least elements along an axis, and their indices.",
    operands=(Operand("x"), Operand("k", host=True)),
    infer=_infer_top_k,
    compute=_compute_top_k,
    attrs={
        "axis": Attr((int,), -1),
        "largest": Attr((bool,), True),
        "sorted": Attr((bool,), True),
    },
    traits=frozenset({Trait.EXACT}),
    origin="onnx",
)

NONZERO: Final = OpDef(
    name="nonzero",
    summary="Find the indices of the elements that are not 0, one column each.",
    operands=(Operand("x"),),
    infer=_infer_nonzero,
    compute=_compute_nonzero,
    traits=frozenset({Trait.DATA_DEPENDENT, Trait.EXACT}),
    origin="onnx",
)

UNIQUE: Final = OpDef(
    name="unique",
    summary="Find the distinct elements, or slices along an axis: where, which, how many.",
    operands=(Operand("x"),),
    infer=_infer_unique,
    compute=_compute_unique,
    attrs={"axis": Attr((int, type(None)), None), "sorted": Attr((bool,), True)},
    traits=frozenset({Trait.DATA_DEPENDENT, Trait.EXACT}),
    origin="onnx",
)

OPS: Final = (TOP_K, NONZERO, UNIQUE)
