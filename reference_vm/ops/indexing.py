"""Operators that read at indices: take, take_along_axis, gather_nd.

An index may count from the end, ``-size .. size - 1``; any other is an error that only the data can
tell.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from reference_vm.loops.kernel import Move
from reference_vm.ops.checks import INDICES, expect_rank, tensor_of
from reference_vm.ops.contents import tidy
from reference_vm.ops.definition import (
    Array,
    Attr,
    Content,
    DataError,
    Namespace,
    OpCall,
    OpDef,
    Trait,
)
from reference_vm.ops.elementwise import X
from reference_vm.ops.places import (
    INDEX,
    check_reach,
    expect_reach,
    grid,
    mesh,
    split_tuples,
    tuple_length,
    within,
)
from reference_vm.ops.shapes import (
    normalize_axis,
    same_dim,
    str_shape,
)
from reference_vm.types import UNKNOWN, Dim, TensorType

_READS: Final = frozenset({Trait.EXACT, Trait.CAN_FAIL})


def _infer_take(call: OpCall) -> TensorType:
    x, indices = tensor_of(call, 0), tensor_of(call, 1, INDICES)
    if x.shape is None:
        return TensorType(x.dtype, None)
    axis = normalize_axis(call, call.attrs["axis"], len(x.shape))
    if indices.shape is None:
        return TensorType(x.dtype, None)
    return TensorType(x.dtype, x.shape[:axis] + indices.shape + x.shape[axis + 1 :])


def _take(xp: Namespace, x: Array, indices: Array, *, axis: int) -> Array:
    if xp is not np or not x.size:  # others, and NumPy of nothing, take what is out of range
        return xp.asarray(xp.take(x, within(xp, indices, x.shape[axis]), axis=axis))
    try:
        return np.asarray(np.take(x, indices, axis=axis))
    except IndexError:
        within(xp, indices, x.shape[axis])
        raise


def _take_content(call: OpCall) -> Content | None:
    content, places = call.content(0), call.content(1)
    rank = call.tensor(1).rank
    if content is None or places is None or call.tensor(0).rank != 1 or rank not in (0, 1):
        return None
    return tidy([_element(content, place) for place in places])


def _element(content: Content, place: Dim) -> Dim:
    if isinstance(place, int) and -len(content) <= place < len(content):
        return content[place]
    return UNKNOWN


def _infer_along(call: OpCall) -> TensorType:
    x, indices = tensor_of(call, 0), tensor_of(call, 1, INDICES)
    if x.shape is None or indices.shape is None:
        return TensorType(x.dtype, indices.shape)
    expect_rank(call, 1, (len(x.shape),))
    axis = normalize_axis(call, call.attrs["axis"], len(x.shape))
    expect_reach(call, x.shape, indices.shape, axis)
    return TensorType(x.dtype, indices.shape)


def _along(xp: Namespace, x: Array, indices: Array, *, axis: int) -> Array:
    check_reach(x.shape, indices.shape, axis)
    return x[mesh(xp, within(xp, indices, x.shape[axis]), axis)]


def _infer_gather_nd(call: OpCall) -> TensorType:
    x, indices = tensor_of(call, 0), tensor_of(call, 1, INDICES)
    batch = call.attrs["batch_dims"]
    length = tuple_length(call, indices, None if x.shape is None else len(x.shape) - batch)
    if x.shape is None or indices.shape is None or length is None:
        return TensorType(x.dtype, None)
    lead = indices.shape[:-1]
    if not 0 <= batch <= len(lead):
        raise call.error("attribute-value", f"batch_dims = {batch}, expected 0..{len(lead)}")
    shared = tuple(map(same_dim, x.shape[:batch], lead[:batch]))
    if None in shared:
        shapes = f"x is {str_shape(x.shape)} and indices {str_shape(indices.shape)}"
        raise call.error("shape-mismatch", f"{shapes}, whose first {batch} dims differ")
    return TensorType(x.dtype, (*lead, *x.shape[batch + length :]))


def _gather_nd(xp: Namespace, x: Array, indices: Array, *, batch_dims: int) -> Array:
    lead = indices.shape[:-1]
    if x.shape[:batch_dims] != lead[:batch_dims]:
        shapes = f"{list(x.shape)} and {list(indices.shape)}"
        raise DataError("shape-mismatch", f"the first {batch_dims} dims of {shapes} differ")
    batches = grid(xp, lead)[:batch_dims]
    places = split_tuples(xp, indices, x.shape[batch_dims:][: indices.shape[-1]])
    return xp.asarray(x[(*batches, *places)])


OPS: Final[tuple[OpDef, ...]] = (
    OpDef(
        name="take",
        summary="Slices of x at these places of an axis.",
        operands=(X, INDEX),
        attrs={"axis": Attr((int,), 0)},
        infer=_infer_take,
        compute=_take,
        loops=Move("take"),
        content=_take_content,
        traits=_READS,
    ),
    OpDef(
        name="take_along_axis",
        summary="The element of x at each place of the indices, but on one axis at the index.",
        operands=(X, INDEX),
        attrs={"axis": Attr((int,), -1)},
        infer=_infer_along,
        compute=_along,
        traits=_READS,
        origin="onnx",
    ),
    OpDef(
        name="gather_nd",
        summary="Slices of x at index tuples, which lie on the indices' last axis.",
        operands=(X, INDEX),
        attrs={"batch_dims": Attr((int,), 0)},
        infer=_infer_gather_nd,
        compute=_gather_nd,
        traits=_READS,
        origin="onnx",
    ),
)
