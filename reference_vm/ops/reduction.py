"""Operators that fold axes away: sum, prod, max, min, mean, all, any, argmax, argmin.

Sums and products have the operand's dtype; f16 and bf16 are accumulated in f32 and rounded once.
Over nothing, sum is 0, prod 1, all true, any false, max the least value (-inf for floats), min the
greatest, mean NaN; argmax and argmin of nothing are an error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from reference_vm.loops.kernel import Reduce
from reference_vm.loops.scalar import Scalar, binary
from reference_vm.ops.checks import tensor_of
from reference_vm.ops.contents import product_of, sum_of
from reference_vm.ops.definition import (
    Array,
    Attr,
    ContentRule,
    DataError,
    Namespace,
    OpCall,
    OpDef,
    Trait,
)
from reference_vm.ops.elementwise import X
from reference_vm.ops.numerics import compared, lifted
from reference_vm.ops.shapes import int_axes, is_equal, normalize_axes, normalize_axis
from reference_vm.types import DType, Shape, TensorType
from reference_vm.types.arrays import from_numpy
from reference_vm.types.dtype import BOOL, COMPUTED, FLOATS, I64, NUMERIC

Axes = tuple[int, ...] | None


def reduced_shape(call: OpCall, shape: Shape | None, axes: Axes, *, keepdims: bool) -> Shape | None:
    """Return ``shape`` without ``axes``, or with them 1; all axes if ``axes`` is ``None``.

    Raises:
        CompileError: An axis is out of range or named twice.
    """
    if shape is None:
        return () if axes is None and not keepdims else None
    every = range(len(shape)) if axes is None else axes
    folded = normalize_axes(call, every, len(shape))
    if keepdims:
        return tuple(1 if i in folded else d for i, d in enumerate(shape))
    return tuple(d for i, d in enumerate(shape) if i not in folded)


def _rule(allowed: Collection[DType]) -> Callable[[OpCall], TensorType]:
    def infer(call: OpCall) -> TensorType:
        x, axes = tensor_of(call, 0, allowed), int_axes(call, "axis")
        keepdims = call.attrs["keepdims"]
        return TensorType(x.dtype, reduced_shape(call, x.shape, axes, keepdims=keepdims))

    return infer


def least_value(dtype: DType) -> float | int:
    """Return what max starts from."""
    return -float("inf") if dtype.is_float else 0 if dtype.is_bool else dtype.minimum


def greatest_value(dtype: DType) -> float | int:
    """Return what min starts from."""
    return float("inf") if dtype.is_float else 1 if dtype.is_bool else dtype.maximum


def _sum(xp: Namespace, x: Array, *, axis: Axes, keepdims: bool) -> Array:
    return xp.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


def _prod(xp: Namespace, x: Array, *, axis: Axes, keepdims: bool) -> Array:
    return xp.prod(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


def _folds_nothing(x: Array, axis: Axes) -> bool:
    if x.size:
        return False
    return any(x.shape[a] == 0 for a in (range(x.ndim) if axis is None else axis))


def _extreme(name: str, start: Callable[[DType], float | int]) -> Callable[..., Array]:
    def compute(xp: Namespace, x: Array, *, axis: Axes, keepdims: bool) -> Array:
        if not _folds_nothing(x, axis):
            return getattr(xp, name)(x, axis=axis, keepdims=keepdims)
        shape = xp.sum(xp.zeros(x.shape, bool), axis=axis, keepdims=keepdims).shape
        return xp.full(shape, start(from_numpy(x.dtype)), dtype=x.dtype)

    return compute


def _mean(xp: Namespace, x: Array, *, axis: Axes, keepdims: bool) -> Array:
    total = xp.asarray(xp.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype))
    return total / x.dtype.type(x.size // total.size if total.size else 1)


def _all(xp: Namespace, x: Array, *, axis: Axes, keepdims: bool) -> Array:
    return xp.all(x, axis=axis, keepdims=keepdims)


def _any(xp: Namespace, x: Array, *, axis: Axes, keepdims: bool) -> Array:
    return xp.any(x, axis=axis, keepdims=keepdims)


_ATTRS: Final[Mapping[str, Attr]] = {
    "axis": Attr((tuple, type(None)), None),
    "keepdims": Attr((bool,), False),
}


def _divided(total: Scalar, count: Scalar) -> Scalar:
    return binary("div", total, count)


def _reduction(
    name: str,
    summary: str,
    allowed: Collection[DType],
    compute: Callable[..., Array],
    loops: Reduce,
    *,
    exact: bool = False,
    content: ContentRule | None = None,
) -> OpDef:
    traits = {Trait.REDUCTION, Trait.EXACT} if exact else {Trait.REDUCTION}
    return OpDef(
        name=name,
        summary=summary,
        operands=(X,),
        attrs=_ATTRS,
        infer=_rule(allowed),
        compute=lifted(compute),
        loops=loops,
        content=content,
        traits=frozenset(traits),
    )


def _infer_arg(call: OpCall) -> TensorType:
    x, axis = tensor_of(call, 0, NUMERIC), call.attrs["axis"]
    if x.shape is None:
        return TensorType(I64, None)
    size = x.shape[normalize_axis(call, axis, len(x.shape))]
    if is_equal(size, 0):
        raise call.error("empty-reduction", f"axis {axis} has size 0")
    keepdims = call.attrs["keepdims"]
    return TensorType(I64, reduced_shape(call, x.shape, (axis,), keepdims=keepdims))


def _arg(name: str) -> Callable[..., Array]:
    def compute(xp: Namespace, x: Array, *, axis: int, keepdims: bool, select_last: bool) -> Array:
        if not x.shape[axis]:
            raise DataError("empty-reduction", f"{name} over axis {axis}, which has size 0")
        found = getattr(xp, name)(xp.flip(x, axis) if select_last else x, axis=axis)
        found = xp.asarray(x.shape[axis] - 1 - found if select_last else found, dtype=xp.int64)
        return xp.expand_dims(found, axis) if keepdims else found

    return compute


def _arg_reduction(name: str, summary: str) -> OpDef:
    return OpDef(
        name=name,
        summary=summary,
        operands=(X,),
        attrs={
            "axis": Attr((int,)),
            "keepdims": Attr((bool,), False),
            "select_last": Attr((bool,), False),
        },
        infer=_infer_arg,
        compute=compared(_arg(name)),
        traits=frozenset({Trait.REDUCTION, Trait.EXACT, Trait.CAN_FAIL}),
    )


OPS: Final[tuple[OpDef, ...]] = (
    _reduction(
        "sum",
        "Add up along axes, in the operand's dtype.",
        NUMERIC,
        _sum,
        Reduce("add", lambda dtype: 0),
        content=sum_of,
    ),
    _reduction(
        "prod",
        "Multiply along axes, in the operand's dtype.",
        NUMERIC,
        _prod,
        Reduce("mul", lambda dtype: 1),
        content=product_of,
    ),
    _reduction(
        "max",
        "The greatest element along axes; NaN if one is.",
        COMPUTED,
        _extreme("max", least_value),
        Reduce("max", least_value),
        exact=True,
    ),
    _reduction(
        "min",
        "The least element along axes; NaN if one is.",
        COMPUTED,
        _extreme("min", greatest_value),
        Reduce("min", greatest_value),
        exact=True,
    ),
    _reduction(
        "mean",
        "The sum along axes divided by the number of elements; NaN of none.",
        FLOATS,
        _mean,
        Reduce("add", lambda dtype: 0, after=_divided),
    ),
    _reduction(
        "all",
        "Whether all elements along axes are true.",
        (BOOL,),
        _all,
        Reduce("min", greatest_value),
        exact=True,
    ),
    _reduction(
        "any",
        "Whether an element along axes is true.",
        (BOOL,),
        _any,
        Reduce("max", least_value),
        exact=True,
    ),
    _arg_reduction("argmax", "The index of the greatest element, or of the first NaN."),
    _arg_reduction("argmin", "The index of the least element, or of the first NaN."),
)
