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
from reference_vm.ops.definition import (
    Array,
    Attr,
    Compute,
    Namespace,
    OpCall,
    OpDef,
    Operand,
    Trait,
    TypeRule,
)
from reference_vm.ops.elementwise import X
from reference_vm.ops.numerics import does_not_fit
from reference_vm.ops.shape_values import SHAPE
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
from reference_vm.types.types import str_dim

VIEW: Final = frozenset({Trait.VIEW, Trait.INJECTIVE, Trait.EXACT})


def reshaped(shape: Shape | None, target: Shape, *, allow_zero: bool) -> Shape:
    """Return ``target`` with what it leaves open worked out for a tensor of ``shape``.

    A 0 copies the dim at its place, unless ``allow_zero`` says that it is a size, or it fits as a
    size only (a symbolic size turned out 0). -1, or the only unknown dim, is what the number of
    elements leaves for it; that works beside copied dims that are 0, too.

    Raises:
        ValueError: The target certainly does not have as many elements.
    """
    zeros = frozenset(i for i, dim in enumerate(target) if dim == 0)
    if allow_zero or not zeros:
        return _resolved(shape, target, frozenset())
    try:
        return _resolved(shape, target, zeros)
    except ValueError as error:
        try:
            return _resolved(shape, target, frozenset())
        except ValueError:
            raise error from None


def _resolved(shape: Shape | None, target: Shape, copied: frozenset[int]) -> Shape:
    if shape is not None and max(copied, default=-1) >= len(shape):
        raise ValueError(f"{str_shape(target)} copies a dim that {str_shape(shape)} lacks")
    dims = tuple(_source(shape, i) if i in copied else d for i, d in enumerate(target))
    place = _open_place(dims, copied)
    if place is None:
        if is_different(element_count(shape), product(dims)):
            raise _wrong_count(shape, dims)
        return dims
    total = element_count(None if shape is None else _without(shape, copied))
    rest = product(d for i, d in enumerate(dims) if i != place and i not in copied)
    leaves_rest = isinstance(rest, int) and isinstance(total, int) and rest and total % rest
    if leaves_rest or (rest == 0 and dims[place] == -1):
        raise _wrong_count(shape, dims)
    return (*dims[:place], quotient(total, rest), *dims[place + 1 :])


def _without(dims: Shape, axes: frozenset[int]) -> Shape:
    return tuple(dim for i, dim in enumerate(dims) if i not in axes)


def _source(shape: Shape | None, axis: int) -> Dim:
    return UNKNOWN if shape is None else shape[axis]


def _open_place(dims: Shape, copied: frozenset[int]) -> int | None:
    """Return the place that the number of elements decides: of -1, or the only unknown dim.

    A dim that is copied is decided, known or not.
    """
    negative = [i for i, d in enumerate(dims) if isinstance(d, int) and d < 0]
    if len(negative) > 1 or any(dims[i] != -1 for i in negative):
        raise ValueError(f"{str_shape(dims)} has negative sizes beside one -1")
    if negative:
        return negative[0]
    unknown = [i for i, d in enumerate(dims) if isinstance(d, Unknown) and i not in copied]
    return unknown[0] if len(unknown) == 1 else None


def _wrong_count(shape: Shape | None, target: Shape) -> ValueError:
    counts = f"{str_shape(shape)} has {str_dim(element_count(shape))} elements"
    return ValueError(f"{counts}, which do not fill {str_shape(target)}")


def _infer_reshape(call: OpCall) -> TensorType:
    x, target = tensor_of(call, 0), integers(call, 1)
    if target is None:
        return TensorType(x.dtype, None)
    try:
        shape = reshaped(x.shape, target, allow_zero=call.attrs["allow_zero"])
    except ValueError as error:
        help_ = "0 copies a dim of x, and one -1 is whatever is left"
        raise call.error("shape-mismatch", str(error), help_) from error
    return TensorType(x.dtype, shape)


def _reshape(xp: Namespace, x: Array, shape: Sequence[Any], *, allow_zero: bool) -> Array:
    target = tuple(int(size) for size in shape)
    if min(target, default=1) > 0 and math.prod(target) == x.size:
        return xp.reshape(x, target)
    try:
        return xp.reshape(x, reshaped(x.shape, target, allow_zero=allow_zero))
    except ValueError as error:
        raise does_not_fit(error) from error


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
