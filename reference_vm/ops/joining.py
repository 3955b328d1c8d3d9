"""concat and split: tensors put together along an axis, and taken apart."""

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
    normalize_axis,
    same_dim,
    str_shape,
)
from reference_vm.types import UNKNOWN, Dim, Poly, Shape, TensorType, TupleType
from reference_vm.types.dim import add, ceildiv, multiply, subtract
from reference_vm.types.types import str_dim

_MOVES: Final = frozenset({Trait.INJECTIVE, Trait.EXACT})


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
    if any(isinstance(size, int) and size < 0 for size in sizes or ()):
        raise call.error("shape-mismatch", f"sizes {str_shape(sizes)}, but no size is negative")
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
