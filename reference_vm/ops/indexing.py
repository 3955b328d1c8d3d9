"""Operators that read at indices: take, take_along_axis, gather_nd, one_hot, compress.

An index may count from the end, ``-size .. size - 1``; any other is an error that only the data can
tell, but for one_hot, where it gives the off value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

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
    Operand,
    Trait,
)
from reference_vm.ops.elementwise import X
from reference_vm.ops.shapes import (
    is_different,
    lower_bound,
    normalize_axis,
    same_dim,
    str_shape,
)
from reference_vm.types import UNKNOWN, Dim, Shape, TensorType
from reference_vm.types.dim import subtract
from reference_vm.types.dtype import BOOL, INTEGERS

INDEX: Final = Operand("indices")
_READS: Final = frozenset({Trait.EXACT, Trait.CAN_FAIL})


def within(xp: Namespace, indices: Array, size: int) -> Array:
    """Return indices counted from 0.

    Raises:
        DataError: One is not in ``-size .. size - 1``.
    """
    wrong = (indices < -size) | (indices >= size)
    if bool(xp.any(wrong)):
        found = int(xp.asarray(indices)[wrong].ravel()[0])
        raise DataError(
            "index-out-of-range",
            f"index {found} on an axis of size {size}",
            f"an index is in {-size}..{size - 1}" if size else "the axis is empty",
        )
    return xp.where(indices < 0, indices + indices.dtype.type(size), indices)


def grid(xp: Namespace, shape: Sequence[int]) -> list[Array]:
    """Return arrays that together index every place of ``shape``; they broadcast to it."""
    lines = []
    for i, size in enumerate(shape):
        line = (1,) * i + (size,) + (1,) * (len(shape) - i - 1)
        lines.append(xp.arange(size).reshape(line))
    return lines


def mesh(xp: Namespace, indices: Array, axis: int) -> tuple[Array, ...]:
    """Return arrays that index each place of ``indices``, but for ``axis`` the index itself."""
    places = grid(xp, indices.shape)
    places[axis] = indices
    return tuple(places)


def split_tuples(xp: Namespace, indices: Array, sizes: Sequence[int]) -> tuple[Array, ...]:
    """Return the components of index tuples on the last axis, each counted from 0."""
    return tuple(within(xp, indices[..., i], size) for i, size in enumerate(sizes))


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


def expect_reach(call: OpCall, shape: Shape, indices: Shape, axis: int) -> None:
    """Raise ``shape-mismatch`` if indices certainly reach beyond ``shape`` but along ``axis``."""
    pairs = enumerate(zip(indices, shape, strict=True))
    if any(i != axis and lower_bound(subtract(found, size)) > 0 for i, (found, size) in pairs):
        raise call.error(
            "shape-mismatch",
            f"indices of shape {str_shape(indices)} reach beyond {str_shape(shape)}",
            f"only along axis {axis} may there be more indices than elements",
        )


def _along(xp: Namespace, x: Array, indices: Array, *, axis: int) -> Array:
    check_reach(x.shape, indices.shape, axis)
    return x[mesh(xp, within(xp, indices, x.shape[axis]), axis)]


def check_reach(shape: Sequence[int], indices: Sequence[int], axis: int) -> None:
    """Raise `DataError` if indices of that shape reach beyond ``shape`` but along ``axis``."""
    pairs = enumerate(zip(indices, shape, strict=True))
    if any(found > size for i, (found, size) in pairs if i != axis % len(shape)):
        shapes = f"indices of shape {list(indices)} reach beyond {list(shape)}"
        raise DataError("shape-mismatch", shapes)


def tuple_length(call: OpCall, indices: TensorType, most: int | None) -> int | None:
    """Return how many components an index tuple has, the last axis's size; ``None`` if unknown.

    Raises:
        CompileError: There is no such axis, or they are more than ``most`` or none.
    """
    if indices.shape is None:
        return None
    if not indices.shape:
        raise call.error("rank-mismatch", "operand indices has rank 0, expected 1 or more")
    length = indices.shape[-1]
    if not isinstance(length, int):
        return None
    if length < 1 or (most is not None and length > most):
        expected = "1 or more" if most is None else f"1 to {most}"
        raise call.error("shape-mismatch", f"indices of {length} components, expected {expected}")
    return length


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
        summary="At each place of the indices, the element of x there, but along an axis at the index.",
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
        traits=_READS | {Trait.DATA_DEPENDENT},
        origin="onnx",
    ),
)
