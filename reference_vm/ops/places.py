"""Indices and places: what operators share that read or write at indices.

An index may count from the end, ``-size .. size - 1``; any other is an error that only the data can
tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reference_vm.ops.definition import (
    Array,
    DataError,
    Namespace,
    OpCall,
    Operand,
)
from reference_vm.ops.shapes import (
    lower_bound,
    str_shape,
)
from reference_vm.types import Shape, TensorType
from reference_vm.types.dim import subtract

INDEX: Final = Operand("indices")


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


def expect_reach(call: OpCall, shape: Shape, indices: Shape, axis: int) -> None:
    """Raise ``shape-mismatch`` if indices certainly reach beyond ``shape`` but along ``axis``."""
    pairs = enumerate(zip(indices, shape, strict=True))
    if any(i != axis and lower_bound(subtract(found, size)) > 0 for i, (found, size) in pairs):
        raise call.error(
            "shape-mismatch",
            f"indices of shape {str_shape(indices)} reach beyond {str_shape(shape)}",
            f"only along axis {axis} may there be more indices than elements",
        )


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
