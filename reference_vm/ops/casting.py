"""Choosing and converting, element by element: where, clip, cast, bitcast, isnan, isinf.

Casts (semantics section 1): a float out of an integer's range saturates and NaN becomes 0; non-zero
and NaN are true; integers wrap; floats round to even and overflow to infinity. What becomes bf16
goes through f32, integers of 32 and 64 bits that become f16 or bf16 through f64.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from reference_vm.loops.kernel import Elementwise
from reference_vm.loops.scalar import Scalar, binary, compare, literal, select, unary
from reference_vm.loops.scalar import cast as cast_scalar
from reference_vm.ops.checks import agree_on_dtype, tensor_of
from reference_vm.ops.contents import chosen, dims_equal, elementwise, negated, tidy, wrapped
from reference_vm.ops.definition import (
    Array,
    Attr,
    Content,
    Namespace,
    OpCall,
    OpDef,
    Operand,
    Trait,
)
from reference_vm.ops.elementwise import EXACT, X, elementwise_rule, loop, operator, ufunc
from reference_vm.ops.numerics import HALVES, does_not_fit, is_float, lifted, quiet, widened
from reference_vm.ops.shapes import broadcast, greatest, least
from reference_vm.types import Dim, DType, TensorType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import BOOL, FLOATS, NUMERIC


def _infer_where(call: OpCall) -> TensorType:
    condition = tensor_of(call, 0, (BOOL,))
    x, y = tensor_of(call, 1), tensor_of(call, 2)
    agree_on_dtype(call, (1, 2))
    return TensorType(x.dtype, broadcast(call, (condition.shape, x.shape, y.shape)))


def _where(xp: Namespace, condition: Array, x: Array, y: Array) -> Array:
    try:
        return xp.asarray(xp.where(condition, x, y))
    except ValueError as error:
        raise does_not_fit(error) from error


def _clip(xp: Namespace, x: Array, low: Array | None = None, high: Array | None = None) -> Array:
    if low is not None:
        x = xp.maximum(x, low)
    return x if high is None else xp.minimum(x, high)


def _clip_element(operands: Sequence[Scalar | None], attrs: Mapping[str, object]) -> Scalar:
    x, low, high = (*operands, None, None)[:3]
    assert x is not None
    if low is not None:
        x = binary("max", x, low)
    return x if high is None else binary("min", x, high)


def _clip_content(call: OpCall) -> Content | None:
    content = call.content(0)
    if content is None or call.tensor(0).dtype.is_float:
        return None
    bounds = [call.content(i) if call.present(i) else () for i in (1, 2)]
    if any(b is None or len(b) > 1 for b in bounds):
        return None
    low, high = bounds
    if low:
        content = tuple(greatest(d, low[0]) for d in content)
    return tidy(tuple(least(d, high[0]) for d in content) if high else content)


def _infer_cast(call: OpCall) -> TensorType:
    return TensorType(call.attrs["to"], tensor_of(call, 0).shape)


def _saturated(xp: Namespace, x: Array, to: DType) -> Array:
    """Return floats as integers of dtype ``to``: truncated, saturated, NaN as 0."""
    above = x >= x.dtype.type(2.0 ** (to.bits - (1 if to.is_signed else 0)))
    below = x < x.dtype.type(to.minimum)
    outside = above | below | xp.isnan(x)
    target = to_numpy(to)
    inside = xp.where(outside, xp.zeros_like(x), x).astype(target)
    clamped = xp.where(above, target.type(to.maximum), inside)
    return xp.where(below, target.type(to.minimum), clamped)


def _cast(xp: Namespace, x: Array, *, to: DType, saturate: bool) -> Array:
    target = to_numpy(to)
    if x.dtype == target:
        return x
    if not is_float(x):
        return xp.asarray(x != 0) if to.is_bool else _from_integers(xp, x, target)
    if to.is_bool:
        return xp.asarray(widened(xp, x) != 0)
    with quiet():
        if to.is_integer:
            return xp.asarray(_saturated(xp, widened(xp, x), to))
        return x.astype(target)


def _from_integers(xp: Namespace, x: Array, target: Any) -> Array:
    with quiet():
        wide = target in HALVES and x.dtype.itemsize >= 4
        return (x.astype(xp.float64) if wide else x).astype(target)


def _cast_content(call: OpCall) -> Content | None:
    content, to = call.content(0), call.attrs["to"]
    if content is None or to.is_float:
        return None
    if to.is_bool:
        return tidy([_dim_to_bool(d) for d in content])
    return tidy([wrapped(d, to) for d in content])


def _dim_to_bool(dim: Dim) -> Dim:
    return negated(dims_equal(dim, 0))


def _cast_element(operands: Sequence[Scalar], attrs: Mapping[str, object]) -> Scalar:
    to = attrs["to"]
    assert isinstance(to, DType)
    (x,) = operands
    if to.is_bool:
        return x if x.dtype.is_bool else compare("ne", x, literal(0, x))
    return cast_scalar(x, to)


def _infer_bitcast(call: OpCall) -> TensorType:
    x, to = tensor_of(call, 0), call.attrs["to"]
    if to not in NUMERIC or to.bits != x.dtype.bits:
        message = f"to is {to}, expected a number of {x.dtype.bits} bits, as {x.dtype} has"
        raise call.error("attribute-value", message)
    return TensorType(to, x.shape)


def _bitcast(xp: Namespace, x: Array, *, to: DType) -> Array:
    return xp.ascontiguousarray(x).view(to_numpy(to)).reshape(x.shape)


def _isinf(xp: Namespace, x: Array, *, detect_negative: bool, detect_positive: bool) -> Array:
    infinite = xp.isinf(x)
    if not detect_negative:
        infinite = infinite & (x > 0)
    return infinite if detect_positive else infinite & (x < 0)


def _isinf_element(operands: Sequence[Scalar], attrs: Mapping[str, object]) -> Scalar:
    (x,) = operands
    found: Scalar = unary("isinf", x)
    if not attrs["detect_negative"]:
        found = binary("and", found, compare("gt", x, literal(0, x)))
    if not attrs["detect_positive"]:
        found = binary("and", found, compare("lt", x, literal(0, x)))
    return found


_FLAG: Final = Attr((bool,), True)

OPS: Final[tuple[OpDef, ...]] = (
    OpDef(
        name="where",
        summary="The element of x where the condition holds, else that of y.",
        operands=(Operand("condition"), Operand("x"), Operand("y")),
        infer=_infer_where,
        compute=_where,
        loops=loop(select),
        content=elementwise(chosen),
        traits=EXACT,
    ),
    OpDef(
        name="clip",
        summary="Keep between min and max; max everywhere if min is greater; NaN stays.",
        operands=(Operand("x"), Operand("min", optional=True), Operand("max", optional=True)),
        infer=elementwise_rule(NUMERIC),
        compute=lifted(_clip),
        loops=Elementwise(_clip_element),
        content=_clip_content,
        traits=EXACT,
    ),
    OpDef(
        name="cast",
        summary="Convert to another dtype: floats to integers saturate, NaN to 0; integers wrap.",
        operands=(X,),
        attrs={"to": Attr((DType,)), "saturate": Attr((bool,), True)},
        infer=_infer_cast,
        compute=_cast,
        loops=Elementwise(_cast_element),
        content=_cast_content,
        traits=EXACT,
        origin="onnx",
    ),
    OpDef(
        name="bitcast",
        summary="Read the bits of each element as another dtype of the same width.",
        operands=(X,),
        attrs={"to": Attr((DType,))},
        infer=_infer_bitcast,
        compute=_bitcast,
        traits=frozenset({Trait.EXACT}),
        origin="onnx",
    ),
    operator(
        "isnan",
        "Whether it is NaN.",
        FLOATS,
        ufunc("isnan"),
        loop(lambda x: unary("isnan", x)),
        result=BOOL,
        traits=EXACT,
    ),
    operator(
        "isinf",
        "Whether it is infinite, of the signs asked for.",
        FLOATS,
        _isinf,
        Elementwise(_isinf_element),
        attrs={"detect_negative": _FLAG, "detect_positive": _FLAG},
        result=BOOL,
        traits=EXACT,
    ),
)
