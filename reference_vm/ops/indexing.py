"""Operators that read at indices: take, take_along_axis, gather_nd, one_hot, compress.

An index may count from the end, ``-size .. size - 1``; any other is an error that only the data can
tell, but for one_hot, where it gives the off value.
"""

from __future__ import annotations

from typing import Final

from reference_vm.loops.kernel import Move
from reference_vm.ops.checks import INDICES, tensor_of
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
from reference_vm.ops.shapes import normalize_axis
from reference_vm.types import UNKNOWN, Dim, TensorType

INDEX: Final = Operand("indices")
_READS: Final = frozenset({Trait.EXACT, Trait.CAN_FAIL})


def within(xp: Namespace, indices: Array, size: int) -> Array:
    """Return indices counted from 0.

    Raises:
        DataError: One is not in ``-size .. size - 1``.
    """
    wrong = (indices < -size) | (indices >= size)
    if bool(xp.any(wrong)):
        found = int(indices[wrong][0]) if indices.ndim else int(indices)
        raise DataError(
            "index-out-of-range",
            f"index {found} on an axis of size {size}",
            f"an index is in {-size}..{size - 1}" if size else "the axis is empty",
        )
    return xp.where(indices < 0, indices + xp.asarray(size, dtype=indices.dtype), indices)


def _infer_take(call: OpCall) -> TensorType:
    x, indices = tensor_of(call, 0), tensor_of(call, 1, INDICES)
    if x.shape is None:
        return TensorType(x.dtype, None)
    axis = normalize_axis(call, call.attrs["axis"], len(x.shape))
    if indices.shape is None:
        return TensorType(x.dtype, None)
    return TensorType(x.dtype, x.shape[:axis] + indices.shape + x.shape[axis + 1 :])


def _take(xp: Namespace, x: Array, indices: Array, *, axis: int) -> Array:
    return xp.asarray(xp.take(x, within(xp, indices, x.shape[axis]), axis=axis))


def _take_content(call: OpCall) -> Content | None:
    content, places = call.content(0), call.content(1)
    if content is None or places is None or call.tensor(0).rank != 1:
        return None
    rank = call.tensor(1).rank
    if rank is None or rank > 1:
        return None
    return tidy([_element(content, place) for place in places])


def _element(content: Content, place: Dim) -> Dim:
    if isinstance(place, int) and -len(content) <= place < len(content):
        return content[place]
    return UNKNOWN


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
        traits=_READS | {Trait.INJECTIVE},
    ),
)
