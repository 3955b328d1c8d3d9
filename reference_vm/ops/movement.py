"""Operators that move elements: permute_dims, broadcast_to, expand, flip, tile, identity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from reference_vm.loops.kernel import Elementwise, Move
from reference_vm.ops.checks import INDICES, expect_rank, tensor_of
from reference_vm.ops.contents import same
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
from reference_vm.ops.shape_values import SHAPE, run_sizes, sizes_of
from reference_vm.ops.shapes import (
    broadcast,
    int_axes,
    is_different,
    mismatch,
    normalize_axes,
)
from reference_vm.types import UNKNOWN, TensorType
from reference_vm.types.dim import multiply

MOVES: Final = frozenset({Trait.INJECTIVE, Trait.EXACT})


def _infer_same(call: OpCall) -> TensorType:
    return tensor_of(call, 0).on(None)


def _identity(xp: Namespace, x: Array) -> Array:
    return x


def _infer_permute(call: OpCall) -> TensorType:
    x, axes = tensor_of(call, 0), int_axes(call)
    if x.shape is None:
        return TensorType(x.dtype, None if axes is None else (UNKNOWN,) * len(axes))
    if axes is None:
        return TensorType(x.dtype, x.shape[::-1])
    if len(axes) != len(x.shape):
        raise call.error("rank-mismatch", f"{len(axes)} axes for a tensor of rank {len(x.shape)}")
    order = normalize_axes(call, axes, len(x.shape))
    return TensorType(x.dtype, tuple(x.shape[a] for a in order))


def _permute(xp: Namespace, x: Array, *, axes: tuple[int, ...] | None) -> Array:
    return xp.transpose(x, axes)


def _infer_broadcast_to(call: OpCall) -> TensorType:
    x, target = tensor_of(call, 0), sizes_of(call, 1)
    shape = broadcast(call, (x.shape, target))
    if target is None or x.shape is None:
        return TensorType(x.dtype, target)
    assert shape is not None
    if len(x.shape) > len(target) or any(map(is_different, shape, target)):
        raise mismatch(call, x.shape, target)
    return TensorType(x.dtype, target)


def _broadcast_to(xp: Namespace, x: Array, shape: Sequence[Any]) -> Array:
    try:
        return xp.broadcast_to(x, run_sizes(shape))
    except ValueError as error:
        raise does_not_fit(error) from error


def _infer_expand(call: OpCall) -> TensorType:
    x = tensor_of(call, 0)
    return TensorType(x.dtype, broadcast(call, (x.shape, sizes_of(call, 1))))


def _expand(xp: Namespace, x: Array, shape: Sequence[Any]) -> Array:
    target = run_sizes(shape)
    rank = max(x.ndim, len(target))
    padded = ((1,) * rank + x.shape)[-rank:] if rank else ()
    wanted = ((1,) * rank + target)[-rank:] if rank else ()
    return _broadcast_to(
        xp, x, tuple(a if b == 1 else b for a, b in zip(padded, wanted, strict=True))
    )


def _infer_flip(call: OpCall) -> TensorType:
    x, axes = tensor_of(call, 0), int_axes(call)
    if x.shape is not None and axes is not None:
        normalize_axes(call, axes, len(x.shape))
    return TensorType(x.dtype, x.shape)


def _flip(xp: Namespace, x: Array, *, axes: tuple[int, ...]) -> Array:
    return xp.flip(x, axes)


def _infer_tile(call: OpCall) -> TensorType:
    x, counts = tensor_of(call, 0), sizes_of(call, 1)
    if x.shape is None or counts is None:
        rank = x.shape or counts
        return TensorType(x.dtype, None if rank is None else (UNKNOWN,) * len(rank))
    if len(counts) != len(x.shape):
        raise call.error("rank-mismatch", f"{len(counts)} reps for a tensor of rank {len(x.shape)}")
    return TensorType(x.dtype, tuple(map(multiply, x.shape, counts)))


def _tile(xp: Namespace, x: Array, reps: Sequence[Any]) -> Array:
    counts = run_sizes(reps)
    if len(counts) != x.ndim:
        raise DataError("rank-mismatch", f"{len(counts)} reps for a tensor of rank {x.ndim}")
    return xp.asarray(xp.tile(x, counts))


def _infer_reverse(call: OpCall) -> TensorType:
    x, lengths = tensor_of(call, 0), tensor_of(call, 1, INDICES)
    expect_rank(call, 1, (1,))
    batch, time = call.attrs["batch_axis"], call.attrs["time_axis"]
    if x.shape is None:
        return TensorType(x.dtype, None)
    batch, time = normalize_axes(call, (batch, time), len(x.shape))
    if lengths.shape is not None and is_different(lengths.shape[0], x.shape[batch]):
        found = f"{lengths.shape[0]} lengths for a batch of {x.shape[batch]}"
        raise call.error("shape-mismatch", found)
    return TensorType(x.dtype, x.shape)


def _reverse(xp: Namespace, x: Array, lengths: Array, *, batch_axis: int, time_axis: int) -> Array:
    size = x.shape[time_axis]
    if lengths.shape != (x.shape[batch_axis],):
        found = f"{lengths.shape[0]} lengths for a batch of {x.shape[batch_axis]}"
        raise DataError("shape-mismatch", found)
    if bool(xp.any((lengths < 0) | (lengths > size))):
        raise DataError("index-out-of-range", f"a length is not in 0..{size}, the axis's size")
    rows = xp.moveaxis(x, (batch_axis, time_axis), (0, 1))
    steps, ends = xp.arange(size)[None, :], lengths[:, None]
    places = xp.where(steps < ends, ends - 1 - steps, steps)
    found = rows[xp.arange(rows.shape[0])[:, None], places]
    return xp.moveaxis(found, (0, 1), (batch_axis, time_axis))


def moving(
    name: str,
    summary: str,
    infer: TypeRule,
    compute: Compute,
    *,
    loops: Move | None = None,
    operands: tuple[Operand, ...] = (X,),
    attrs: dict[str, Attr] | None = None,
    origin: str = "array-api",
) -> OpDef:
    """Return an operator each of whose result elements is one operand element or a fixed value."""
    return OpDef(
        name=name,
        summary=summary,
        operands=operands,
        attrs=attrs or {},
        infer=infer,
        compute=compute,
        loops=loops,
        traits=MOVES,
        origin=origin,
    )


_AXES: Final = Attr((tuple, type(None)), None)

OPS: Final[tuple[OpDef, ...]] = (
    OpDef(
        name="identity",
        summary="The same value.",
        operands=(X,),
        infer=_infer_same,
        compute=_identity,
        loops=Elementwise(lambda operands, attrs: operands[0]),
        content=same,
        traits=MOVES | {Trait.ELEMENTWISE},
        origin="onnx",
    ),
    moving(
        "permute_dims",
        "The axes in another order; reversed if none is given.",
        _infer_permute,
        _permute,
        loops=Move("permute"),
        attrs={"axes": _AXES},
    ),
    moving(
        "broadcast_to",
        "Repeated along axes of size 1 and new leading axes, to this shape.",
        _infer_broadcast_to,
        _broadcast_to,
        loops=Move("broadcast"),
        operands=(X, SHAPE),
    ),
    moving(
        "expand",
        "Broadcast with a shape, either way (ONNX).",
        _infer_expand,
        _expand,
        loops=Move("broadcast"),
        operands=(X, SHAPE),
        origin="onnx",
    ),
    moving(
        "flip",
        "Backwards along axes.",
        _infer_flip,
        _flip,
        loops=Move("flip"),
        attrs={"axes": Attr((tuple,))},
    ),
    moving(
        "tile",
        "Repeated so many times along each axis.",
        _infer_tile,
        _tile,
        operands=(X, Operand("reps", host=True)),
        origin="onnx",
    ),
    OpDef(
        name="reverse_sequence",
        summary="The first elements of each sequence backwards, as many as its length.",
        operands=(X, Operand("lengths")),
        attrs={"batch_axis": Attr((int,), 1), "time_axis": Attr((int,), 0)},
        infer=_infer_reverse,
        compute=_reverse,
        traits=frozenset({Trait.EXACT, Trait.CAN_FAIL}),
        origin="onnx",
    ),
)
