"""slice: part of a tensor along axes.

Bounds clamp: a start or end beyond the axis is its end (NumPy, ONNX). With symbolic sizes their
lengths are exact expressions, without ``min`` and ``max`` where the signs of symbols decide.
"""

from __future__ import annotations

from typing import Any, Final

from reference_vm.loops.kernel import Move
from reference_vm.ops.checks import integers, tensor_of
from reference_vm.ops.contents import tidy
from reference_vm.ops.definition import (
    Array,
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
    greatest,
    least,
    lower_bound,
    normalize_axis,
    str_shape,
)
from reference_vm.types import UNKNOWN, Dim, Poly, TensorType
from reference_vm.types.dim import add, ceildiv, subtract

_MOVES: Final = frozenset({Trait.INJECTIVE, Trait.EXACT})
_FAR: Final = 2**31 - 1
"""A bound from here on means the end of the axis, whatever its size."""


def slice_length(size: Dim, start: Dim, end: Dim, step: Dim) -> Dim:
    """Return how many elements ``start:end:step`` takes of an axis of ``size``."""
    if not isinstance(step, int) or not isinstance(size, int | Poly):
        return UNKNOWN
    first, last = _place(start, size), _place(end, size)
    if step < 0:
        span = subtract(least(first, subtract(size, 1)), greatest(last, -1))
    elif isinstance(start, int) and -_FAR < start < 0 and last == size:
        span = least(-start, size)
    else:
        span = subtract(least(last, size), greatest(first, 0))
    return greatest(ceildiv(span, abs(step)), 0)


def _place(bound: Dim, size: int | Poly) -> Dim:
    """Return ``bound`` counted from 0; one beyond all sizes is ``size`` or -1."""
    if isinstance(bound, int):
        if abs(bound) >= _FAR and not isinstance(size, int):
            return size if bound > 0 else -1
        return add(bound, size) if bound < 0 else bound
    return UNKNOWN if lower_bound(bound) < 0 else bound  # which may count from the end


def _slice_operands(call: OpCall) -> list[Content | None]:
    """Return starts, ends, axes and steps, the last two with their defaults where known.

    Raises:
        CompileError: Their lengths differ, or a step is 0.
    """
    starts, ends = integers(call, 1), integers(call, 2)
    axes = integers(call, 3) if call.present(3) else _counted(starts)
    steps = integers(call, 4) if call.present(4) else None if starts is None else (1,) * len(starts)
    found: list[Content | None] = [starts, ends, axes, steps]
    if len({len(c) for c in found if c is not None}) > 1:
        raise call.error("shape-mismatch", "starts, ends, axes and steps have different lengths")
    if steps is not None and 0 in steps:
        raise call.error("zero-step", "a step is 0", "a step is positive or negative")
    return found


def _counted(starts: Content | None) -> Content | None:
    return None if starts is None else tuple(range(len(starts)))


def _infer_slice(call: OpCall) -> TensorType:
    x = tensor_of(call, 0)
    starts, ends, axes, steps = _slice_operands(call)
    if x.shape is None:
        return TensorType(x.dtype, None)
    if axes is None or not all(isinstance(a, int) for a in axes):
        return TensorType(x.dtype, (UNKNOWN,) * len(x.shape))
    normal = [normalize_axis(call, a, len(x.shape)) for a in axes if isinstance(a, int)]
    if len(set(normal)) != len(normal):
        raise call.error("shape-mismatch", f"axes {str_shape(axes)} name an axis twice")
    dims = list(x.shape)
    for i, axis in enumerate(normal):
        known = [UNKNOWN if c is None else c[i] for c in (starts, ends, steps)]
        dims[axis] = slice_length(dims[axis], *known)
    return TensorType(x.dtype, tuple(dims))


def _slice(
    xp: Namespace, x: Array, starts: Any, ends: Any, axes: Any = None, steps: Any = None
) -> Array:
    count = len(starts)
    bounds = zip(
        range(count) if axes is None else axes,
        starts,
        ends,
        (1,) * count if steps is None else steps,
        strict=True,
    )
    places = [slice(None)] * x.ndim
    for axis, start, end, step in bounds:
        if step == 0:
            raise DataError("zero-step", "slice by steps of 0", "a step is positive or negative")
        if not -x.ndim <= axis < x.ndim:
            raise DataError("index-out-of-range", f"axis {axis} of a tensor of rank {x.ndim}")
        places[int(axis)] = slice(int(start), int(end), int(step))
    return x[tuple(places)]


def _slice_content(call: OpCall) -> Content | None:
    content = call.content(0)
    if content is None or call.tensor(0).rank != 1:
        return None
    starts, ends, _, steps = _slice_operands(call)
    if starts == ():
        return content
    bounds = [None if c is None else c[0] for c in (starts, ends, steps)]
    known = [b for b in bounds if isinstance(b, int)]
    return tidy(content[slice(*known)]) if len(known) == len(bounds) else None


OPS: Final[tuple[OpDef, ...]] = (
    OpDef(
        name="slice",
        summary="Elements from start to before end by step, along axes; bounds clamp.",
        operands=(
            X,
            Operand("starts", host=True),
            Operand("ends", host=True),
            Operand("axes", optional=True, host=True),
            Operand("steps", optional=True, host=True),
        ),
        infer=_infer_slice,
        compute=_slice,
        loops=Move("slice"),
        content=_slice_content,
        traits=_MOVES,
        origin="onnx",
    ),
)
