"""slice, split and concat: parts of a tensor along axes, and tensors put together.

Slices clamp: a start or end beyond the axis is its end (NumPy, ONNX). With symbolic sizes their
lengths are exact expressions, without ``min`` and ``max`` where the signs of symbols decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Final

from reference_vm.loops.kernel import Move
from reference_vm.ops.checks import agree_on_dtype, integers, tensor_of
from reference_vm.ops.contents import LIMIT, tidy
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
from reference_vm.ops.numerics import does_not_fit
from reference_vm.ops.shapes import (
    greatest,
    is_different,
    least,
    lower_bound,
    normalize_axis,
    same_dim,
    str_shape,
)
from reference_vm.types import UNKNOWN, Dim, Poly, Shape, TensorType, TupleType
from reference_vm.types.dim import add, ceildiv, multiply, subtract
from reference_vm.types.types import str_dim

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
        raise call.error("shape-mismatch", "a step is 0", "a step is positive or negative")
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


def _infer_concat(call: OpCall) -> TensorType:
    types = [tensor_of(call, i) for i in range(len(call.types))]
    agree_on_dtype(call, range(len(types)))
    shapes = [t.shape for t in types if t.shape is not None]
    if not shapes:
        return TensorType(types[0].dtype, None)
    rank = len(shapes[0])
    if any(len(shape) != rank for shape in shapes):
        listed = ", ".join(str(len(shape)) for shape in shapes)
        raise call.error("rank-mismatch", f"operands have ranks {listed}")
    axis = normalize_axis(call, call.attrs["axis"], rank)
    dims = [_common(call, shapes, i) if i != axis else UNKNOWN for i in range(rank)]
    if len(shapes) == len(types):
        dims[axis] = reduce(add, (shape[axis] for shape in shapes))
    return TensorType(types[0].dtype, tuple(dims))


def _common(call: OpCall, shapes: Sequence[Shape], axis: int) -> Dim:
    """Return the size that all ``shapes`` have on ``axis``."""
    common: Dim = shapes[0][axis]
    for shape in shapes[1:]:
        found = same_dim(common, shape[axis])
        if found is None:
            raise call.error(
                "shape-mismatch",
                f"operands have sizes {str_dim(common)} and {str_dim(shape[axis])} on axis {axis}",
                f"only axis {call.attrs['axis']}, along which they are joined, may differ",
            )
        common = found
    return common


def _concat(xp: Namespace, *xs: Array, axis: int) -> Array:
    try:
        return xp.concatenate(xs, axis=axis)
    except ValueError as error:
        raise does_not_fit(error) from error


def _concat_content(call: OpCall) -> Content | None:
    if call.tensor(0).rank != 1 or call.tensor(0).dtype.is_float:
        return None
    joined: list[Dim] = []
    for index in range(len(call.types)):
        content, shape = call.content(index), call.tensor(index).shape
        if content is None:
            if shape is None or not isinstance(shape[0], int) or shape[0] > LIMIT:
                return None
            content = (UNKNOWN,) * shape[0]
        joined.extend(content)
    return tidy(joined)


def _infer_split(call: OpCall) -> TupleType:
    x, count = tensor_of(call, 0), call.attrs["num_outputs"]
    if count < 1:
        raise call.error("attribute-value", f"num_outputs = {count}, expected 1 or more")
    sizes = integers(call, 1) if call.present(1) else None
    if sizes is not None and len(sizes) != count:
        raise call.error("shape-mismatch", f"{len(sizes)} sizes for num_outputs = {count}")
    if x.shape is None:
        return TupleType((TensorType(x.dtype, None),) * count)
    axis = normalize_axis(call, call.attrs["axis"], len(x.shape))
    if not call.present(1):
        sizes = even_parts(x.shape[axis], count)
    elif sizes is None:
        sizes = (UNKNOWN,) * count
    if is_different(reduce(add, sizes), x.shape[axis]):
        raise call.error("shape-mismatch", f"sizes {str_shape(sizes)} of {x.shape[axis]} elements")
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    return TupleType(tuple(TensorType(x.dtype, (*before, s, *after)) for s in sizes))


def even_parts(size: Dim, count: int) -> Shape:
    """Return the sizes of ``count`` parts of an axis: all the same, but the last ones smaller."""
    part = ceildiv(size, count)
    if isinstance(part, Poly) and multiply(part, count) == size:
        return (part,) * count
    left = (subtract(size, multiply(part, i)) for i in range(1, count))
    return (part, *(greatest(least(part, rest), 0) for rest in left))


def _split(
    xp: Namespace, x: Array, sizes: Any = None, *, axis: int, num_outputs: int
) -> tuple[Array, ...]:
    whole = x.shape[axis]
    given: Sequence[Any] = even_parts(whole, num_outputs) if sizes is None else sizes
    parts = [int(size) for size in given]
    if len(parts) != num_outputs or sum(parts) != whole or min(parts) < 0:
        raise DataError("shape-mismatch", f"sizes {parts} of {whole} elements")
    place, found, lead = 0, [], (slice(None),) * (axis % x.ndim)
    for part in parts:
        found.append(x[(*lead, slice(place, place + part))])
        place += part
    return tuple(found)


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
    OpDef(
        name="concat",
        summary="Tensors joined along an axis.",
        operands=(Operand("xs", variadic=True),),
        attrs={"axis": Attr((int,), 0)},
        infer=_infer_concat,
        compute=_concat,
        loops=Move("concat"),
        content=_concat_content,
        traits=_MOVES,
    ),
    OpDef(
        name="split",
        summary="A tuple of parts along an axis, of these sizes or as even as can be.",
        operands=(X, Operand("sizes", optional=True, host=True)),
        attrs={"axis": Attr((int,), 0), "num_outputs": Attr((int,))},
        infer=_infer_split,
        compute=_split,
        traits=_MOVES,
        origin="onnx",
    ),
)
