"""Operators that see the same elements in another shape: reshape, flatten, expand_dims, squeeze.

All are views: operand 0's memory, in row-major order, with other dims.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from reference_vm.loops.kernel import Move
from reference_vm.ops.checks import integers, tensor_of
from reference_vm.ops.contents import same
from reference_vm.ops.creation import SHAPE
from reference_vm.ops.definition import (
    Array,
    Attr,
    Compute,
    DataError,
    Namespace,
    OpCall,
    OpDef,
    Operand,
    Trait,
    TypeRule,
)
from reference_vm.ops.elementwise import X
from reference_vm.ops.numerics import does_not_fit
from reference_vm.ops.shapes import (
    element_count,
    int_axes,
    is_different,
    normalize_axes,
    quotient,
    str_shape,
)
from reference_vm.types import UNKNOWN, Dim, Shape, TensorType, Unknown
from reference_vm.types.dim import product

VIEW: Final = frozenset({Trait.VIEW, Trait.INJECTIVE, Trait.EXACT})


def _infer_reshape(call: OpCall) -> TensorType:
    x = tensor_of(call, 0)
    target = integers(call, 1)
    if target is None:
        return TensorType(x.dtype, None)
    dims = _copied(call, target, x.shape)
    total = element_count(x.shape)
    open_at = _open_place(call, dims)
    if open_at is not None:
        rest = product(d for i, d in enumerate(dims) if i != open_at)
        return TensorType(x.dtype, _filled(call, dims, open_at, total, rest))
    if is_different(total, product(dims)):
        raise _wrong_count(call, x.shape, dims)
    return TensorType(x.dtype, dims)


def _copied(call: OpCall, target: Shape, shape: Shape | None) -> Shape:
    """Return ``target`` with each 0 replaced by the operand's dim there, unless ``allow_zero``."""
    if call.attrs["allow_zero"]:
        return target
    dims: list[Dim] = []
    for index, dim in enumerate(target):
        if dim != 0:
            dims.append(dim)
        elif shape is None:
            dims.append(UNKNOWN)
        elif index < len(shape):
            dims.append(shape[index])
        else:
            raise call.error(
                "shape-mismatch",
                f"the target's dim {index} is 0, which copies it, but x has rank {len(shape)}",
                "allow_zero = true makes 0 a size",
            )
    return tuple(dims)


def _open_place(call: OpCall, dims: Shape) -> int | None:
    """Return the place that the number of elements decides: of -1, or the only unknown dim."""
    negative = [i for i, d in enumerate(dims) if isinstance(d, int) and d < 0]
    if len(negative) > 1 or any(dims[i] != -1 for i in negative):
        raise call.error(
            "shape-mismatch",
            f"the target is {str_shape(dims)}",
            "one dim may be -1, which the number of elements decides; no other is negative",
        )
    if negative:
        return negative[0]
    unknown = [i for i, d in enumerate(dims) if isinstance(d, Unknown)]
    return unknown[0] if len(unknown) == 1 else None


def _filled(call: OpCall, dims: Shape, place: int, total: Dim, rest: Dim) -> Shape:
    leaves_rest = isinstance(rest, int) and isinstance(total, int) and rest and total % rest
    if leaves_rest or (rest == 0 and dims[place] == -1):
        raise _wrong_count(call, call.tensor(0).shape, dims)
    return (*dims[:place], quotient(total, rest), *dims[place + 1 :])


def _wrong_count(call: OpCall, shape: Shape | None, target: Shape) -> Exception:
    counts = f"{str_shape(shape)} has {element_count(shape)} elements"
    return call.error("shape-mismatch", f"{counts}, which do not fill {str_shape(target)}")


def reshape_target(
    shape: Sequence[int], target: Sequence[Any], *, allow_zero: bool
) -> tuple[int, ...]:
    """Return ``target`` with its zeros and its -1 worked out for a tensor of ``shape``.

    Raises:
        DataError: It does not have as many elements.
    """
    sizes = [int(v) for v in target]
    if not allow_zero:
        if any(size == 0 and i >= len(shape) for i, size in enumerate(sizes)):
            raise DataError("shape-mismatch", f"{sizes} copies a dim that {list(shape)} lacks")
        sizes = [shape[i] if size == 0 else size for i, size in enumerate(sizes)]
    total, rest = math.prod(shape), 1
    for size in sizes:
        rest *= size if size != -1 else 1
    if -1 in sizes and rest:
        sizes[sizes.index(-1)] = total // rest
    if min(sizes, default=0) < 0 or math.prod(sizes) != total:
        raise DataError("shape-mismatch", f"{total} elements do not fill the shape {sizes}")
    return tuple(sizes)


def _reshape(xp: Namespace, x: Array, shape: Sequence[Any], *, allow_zero: bool) -> Array:
    return xp.reshape(x, reshape_target(x.shape, shape, allow_zero=allow_zero))


def _infer_flatten(call: OpCall) -> TensorType:
    x, axis = tensor_of(call, 0), call.attrs["axis"]
    if x.shape is None:
        return TensorType(x.dtype, (UNKNOWN, UNKNOWN))
    rank = len(x.shape)
    if not -rank <= axis <= rank:
        raise call.error("axis-out-of-range", f"axis {axis} of a tensor of rank {rank}")
    split = axis + rank if axis < 0 else axis
    return TensorType(x.dtype, (product(x.shape[:split]), product(x.shape[split:])))


def _flatten(xp: Namespace, x: Array, *, axis: int) -> Array:
    split = axis + x.ndim if axis < 0 else axis
    return xp.reshape(x, (math.prod(x.shape[:split]), math.prod(x.shape[split:])))


def _infer_expand_dims(call: OpCall) -> TensorType:
    x, axes = tensor_of(call, 0), int_axes(call)
    if x.shape is None or axes is None:
        return TensorType(x.dtype, None)
    rank = len(x.shape) + len(axes)
    new = normalize_axes(call, axes, rank)
    rest = iter(x.shape)
    return TensorType(x.dtype, tuple(1 if i in new else next(rest) for i in range(rank)))


def _expand_dims(xp: Namespace, x: Array, *, axes: tuple[int, ...]) -> Array:
    rank = x.ndim + len(axes)
    new = {axis % rank for axis in axes}
    rest = iter(x.shape)
    return xp.reshape(x, tuple(1 if i in new else next(rest) for i in range(rank)))


def _infer_squeeze(call: OpCall) -> TensorType:
    x, axes = tensor_of(call, 0), int_axes(call)
    if x.shape is None:
        return TensorType(x.dtype, None)
    if axes is None:
        if any(d != 1 and not is_different(d, 1) for d in x.shape):
            return TensorType(x.dtype, None)
        return TensorType(x.dtype, tuple(d for d in x.shape if d != 1))
    gone = normalize_axes(call, axes, len(x.shape))
    for axis in gone:
        if is_different(x.shape[axis], 1):
            raise call.error("shape-mismatch", f"axis {axis} has size {x.shape[axis]}, expected 1")
    return TensorType(x.dtype, tuple(d for i, d in enumerate(x.shape) if i not in gone))


def _squeeze(xp: Namespace, x: Array, *, axes: tuple[int, ...] | None) -> Array:
    try:
        return xp.asarray(xp.squeeze(x, axes))
    except ValueError as error:
        raise does_not_fit(error) from error


def _view(
    name: str,
    summary: str,
    infer: TypeRule,
    compute: Compute,
    *,
    operands: tuple[Operand, ...] = (X,),
    attrs: dict[str, Attr],
    origin: str = "array-api",
) -> OpDef:
    return OpDef(
        name=name,
        summary=summary,
        operands=operands,
        attrs=attrs,
        infer=infer,
        compute=compute,
        loops=Move("reshape"),
        content=same,
        traits=VIEW,
        origin=origin,
    )


OPS: Final[tuple[OpDef, ...]] = (
    _view(
        "reshape",
        "The same elements in another shape: 0 copies a dim, -1 is whatever is left.",
        _infer_reshape,
        _reshape,
        operands=(X, SHAPE),
        attrs={"allow_zero": Attr((bool,), False)},
        origin="onnx",
    ),
    _view(
        "flatten",
        "A matrix: the axes before one, and the others.",
        _infer_flatten,
        _flatten,
        attrs={"axis": Attr((int,), 1)},
        origin="onnx",
    ),
    _view(
        "expand_dims",
        "New axes of size 1, at these places of the result.",
        _infer_expand_dims,
        _expand_dims,
        attrs={"axes": Attr((tuple,))},
    ),
    _view(
        "squeeze",
        "Without these axes of size 1, or without all such.",
        _infer_squeeze,
        _squeeze,
        attrs={"axes": Attr((tuple, type(None)), None)},
    ),
)
