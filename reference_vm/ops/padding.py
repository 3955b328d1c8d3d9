"""pad: elements added before and behind axes, or, by negative numbers, taken away.

What is added is a constant, the edge's element, the reflection at the edge's element, or the tensor
over again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from reference_vm.ops.checks import agree_on_dtype, expect_rank, integers, tensor_of
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
from reference_vm.ops.shapes import normalize_axes
from reference_vm.types import UNKNOWN, Dim, TensorType
from reference_vm.types.dim import add
from reference_vm.types.types import str_dim


def _infer_pad(call: OpCall) -> TensorType:
    x = tensor_of(call, 0)
    if call.present(2):
        agree_on_dtype(call, (0, 2))
        expect_rank(call, 2, (0,))
    pads = integers(call, 1)
    axes = integers(call, 3) if call.present(3) else None
    if x.shape is None:
        return TensorType(x.dtype, None)
    if call.present(3) and (axes is None or not all(isinstance(a, int) for a in axes)):
        return TensorType(x.dtype, (UNKNOWN,) * len(x.shape))
    given = range(len(x.shape)) if axes is None else [a for a in axes if isinstance(a, int)]
    normal = normalize_axes(call, given, len(x.shape))
    if pads is not None and len(pads) != 2 * len(normal):
        raise call.error(
            "shape-mismatch", f"{len(pads)} pads for {len(normal)} axes, expected two an axis"
        )
    dims = list(x.shape)
    for i, axis in enumerate(normal):
        both = UNKNOWN if pads is None else add(pads[i], pads[i + len(normal)])
        dims[axis] = _padded(call, dims[axis], both, axis)
    return TensorType(x.dtype, tuple(dims))


def _padded(call: OpCall, size: Dim, both: Dim, axis: int) -> Dim:
    padded = add(size, both)
    if isinstance(padded, int) and padded < 0:
        found = f"axis {axis} has {str_dim(size)} elements, of which {both} would be taken away"
        raise call.error("shape-mismatch", found)
    if size == 0 and padded != 0 and call.attrs["mode"] != "constant" and isinstance(padded, int):
        raise call.error("shape-mismatch", f"axis {axis} is empty: nothing to pad it with")
    return padded


def _edge(xp: Namespace, places: Array, size: int) -> Array:
    return xp.clip(places, 0, size - 1)


def _reflect(xp: Namespace, places: Array, size: int) -> Array:
    period = max(1, 2 * (size - 1))
    folded = xp.remainder(places, period)
    return xp.minimum(folded, period - folded) if size > 1 else xp.zeros_like(places)


def _wrap(xp: Namespace, places: Array, size: int) -> Array:
    return xp.remainder(places, size)


_SOURCES: Final[dict[str, Callable[[Namespace, Array, int], Array]]] = {
    "edge": _edge,
    "reflect": _reflect,
    "wrap": _wrap,
}
"""From places beyond an axis to the places that their elements are taken from."""


def _pad(
    xp: Namespace,
    x: Array,
    pads: Sequence[Any],
    value: Array | None = None,
    axes: Sequence[Any] | None = None,
    *,
    mode: str,
) -> Array:
    around = widths(x.shape, pads, range(x.ndim) if axes is None else axes)
    if mode == "constant":
        return _pad_constant(xp, x, around, value)
    for axis, (before, behind) in enumerate(around):
        size = x.shape[axis]
        if before == behind == 0:
            continue
        if not size and before + behind:
            raise DataError("shape-mismatch", f"axis {axis} is empty: nothing to pad it with")
        places = xp.arange(-before, size + behind)
        x = xp.take(x, _SOURCES[mode](xp, places, size), axis=axis)
    return x


def widths(dims: Sequence[int], pads: Sequence[Any], axes: Sequence[Any]) -> list[tuple[int, int]]:
    """Return the numbers of elements before and behind, for each axis of a tensor.

    Raises:
        DataError: The pads do not fit the axes, or take more away than there is.
    """
    count, rank = len(axes), len(dims)
    if len(pads) != 2 * count:
        raise DataError("shape-mismatch", f"{len(pads)} pads for {count} axes")
    found = [(0, 0)] * rank
    for i, axis in enumerate(axes):
        if not -rank <= axis < rank:
            raise DataError("index-out-of-range", f"axis {axis} of a tensor of rank {rank}")
        found[int(axis)] = (int(pads[i]), int(pads[i + count]))
    sizes = [size + sum(width) for size, width in zip(dims, found, strict=True)]
    if min(sizes, default=0) < 0:
        raise DataError("shape-mismatch", f"pads {list(pads)} would leave the shape {sizes}")
    return found


def source_places(mode: str, size: int, before: int, behind: int) -> Any:
    """Return which place of an axis each place of the padded axis is taken from.

    Raises:
        DataError: The axis is empty.
    """
    if not size and before + behind:
        raise DataError("shape-mismatch", "an axis is empty: nothing to pad it with")
    places = np.arange(-before, size + behind)
    return places if before == behind == 0 else _SOURCES[mode](np, places, size)


def _pad_constant(
    xp: Namespace, x: Array, widths: Sequence[tuple[int, int]], value: Array | None
) -> Array:
    sizes = tuple(size + sum(width) for size, width in zip(x.shape, widths, strict=True))
    result = xp.zeros(sizes, dtype=x.dtype)
    if value is not None:
        result[...] = value
    kept = [_kept(size, *width) for size, width in zip(x.shape, widths, strict=True)]
    result[tuple(target for _, target in kept)] = x[tuple(source for source, _ in kept)]
    return result


def _kept(size: int, before: int, behind: int) -> tuple[slice, slice]:
    """Return where the elements that stay lie on the operand's axis and on the result's."""
    first, end = max(0, -before), size + min(0, behind)
    end = max(first, end)
    return slice(first, end), slice(first + before, end + before)


OPS: Final[tuple[OpDef, ...]] = (
    OpDef(
        name="pad",
        summary="More elements before and behind axes, or, by negative numbers, fewer.",
        operands=(
            X,
            Operand("pads", host=True),
            Operand("value", optional=True),
            Operand("axes", optional=True, host=True),
        ),
        attrs={"mode": Attr((str,), "constant", ("constant", "edge", "reflect", "wrap"))},
        infer=_infer_pad,
        compute=_pad,
        traits=frozenset({Trait.EXACT}),
        origin="onnx",
    ),
)
