"""The operators that PyTorch has, as functions of the namespace ``torch``: elementwise, reductions.

Each takes the namespace, the operands and the attributes. Operands whose data decide a shape are
tuples of ints or `HostValue`. `torch_operators_movement` and `torch_operators_nn` hold the others.
An operator that is in none of them is not claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from hettest.language import DType

Function = Callable[..., Any]


@final
@dataclass(frozen=True)
class HostValue:
    """An operand whose data decide a shape, in numbers."""

    numbers: tuple[Any, ...]
    dtype: str
    """As NumPy and PyTorch call it."""


def host_value(array: Any) -> HostValue:
    """Return a NumPy array of rank 0 or 1 in numbers."""
    return HostValue(tuple(array.reshape(-1).tolist()), array.dtype.name)


def spelled(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes with the dtypes among them by name."""
    return {key: str(a) if isinstance(a, DType) else a for key, a in attrs.items()}


_SAME_NAME: Final = (
    *("abs", "ceil", "floor", "negative", "reciprocal", "round", "sign", "sqrt", "square"),
    *("exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "erf", "relu", "sigmoid"),
    *("acos", "acosh", "asin", "asinh", "atan", "atanh"),
    *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "pow"),
    *("maximum", "minimum", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    *("isnan", "where", "logical_and", "logical_or", "logical_xor", "logical_not", "matmul"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"),
)
"""``torch`` has it by this name, for the same operands."""

_RENAMED: Final = {"bitwise_invert": "bitwise_not", "equal": "eq"}

_DTYPES: Final = {
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "bf16": "bfloat16",
    "bool": "bool",
}


def dtype_of(torch: Any, name: str) -> Any:
    """Return PyTorch's dtype for the language's ``name``, such as ``bf16``."""
    return getattr(torch, _DTYPES[name])


def functional(torch: Any) -> Any:
    """Return ``torch.nn.functional``."""
    return torch.nn.functional


def named(name: str) -> Function:
    """Return the operator that ``torch`` has by this name, for the same operands."""
    return lambda torch, *operands: getattr(torch, name)(*operands)


def _activation(name: str) -> Function:
    def call(torch: Any, x: Any, **attrs: Any) -> Any:
        return getattr(functional(torch), name)(x, **attrs)

    return call


def _on_axis(name: str) -> Function:
    return lambda torch, x, *, axis: getattr(torch, name)(x, axis)


def _axes(x: Any, axis: Any) -> tuple[int, ...]:
    return tuple(range(x.ndim)) if axis is None else tuple(axis)


def _reduction(name: str) -> Function:
    def call(torch: Any, x: Any, *, axis: Any, keepdims: bool) -> Any:
        if axis is None or axis:
            axes = _axes(x, axis)
            return getattr(torch, name)(x, axes, keepdims) if axes else getattr(torch, name)(x)
        # To PyTorch no axes would mean all of them.
        return x.to(torch.bool) if name in ("all", "any") else x.clone()

    return call


def _sum(torch: Any, x: Any, *, axis: Any, keepdims: bool) -> Any:
    axes = _axes(x, axis)
    return torch.sum(x, axes, keepdims, dtype=x.dtype) if axes else x.clone()


def _prod(torch: Any, x: Any, *, axis: Any, keepdims: bool) -> Any:
    """PyTorch takes one axis at a time."""
    for each in sorted((a % x.ndim for a in _axes(x, axis)), reverse=True):
        x = torch.prod(x, each, keepdims, dtype=x.dtype)
    return x.clone()


def _extremum_place(name: str) -> Function:
    def call(torch: Any, x: Any, *, axis: int, keepdims: bool, select_last: bool) -> Any:
        if not select_last:
            return getattr(torch, name)(x, axis, keepdims)
        last = x.shape[axis] - 1
        return last - getattr(torch, name)(torch.flip(x, (axis,)), axis, keepdims)

    return call


def _cumulative(name: str, start: int) -> Function:
    def call(torch: Any, x: Any, *, axis: int, exclusive: bool, reverse: bool) -> Any:
        x = torch.flip(x, (axis,)) if reverse else x
        if exclusive and x.shape[axis]:
            first = torch.full_like(x.narrow(axis, 0, 1), start)
            x = torch.cat((first, x.narrow(axis, 0, x.shape[axis] - 1)), axis)
        found = getattr(torch, name)(x, axis, dtype=x.dtype)
        return torch.flip(found, (axis,)) if reverse else found

    return call


def _trunc_divide(torch: Any, x: Any, y: Any) -> Any:
    return torch.div(x, y, rounding_mode="trunc")


def _clip(torch: Any, x: Any, low: Any = None, high: Any = None) -> Any:
    return x.clone() if low is None and high is None else torch.clamp(x, low, high)


def _cast(torch: Any, x: Any, *, to: str, saturate: bool) -> Any:
    return x.to(dtype_of(torch, to))


def _gelu(torch: Any, x: Any, *, approximate: str) -> Any:
    return functional(torch).gelu(x, approximate=approximate)


def _leaky_relu(torch: Any, x: Any, *, alpha: float) -> Any:
    return functional(torch).leaky_relu(x, alpha)


def _selu(torch: Any, x: Any, *, alpha: float, gamma: float) -> Any:
    return torch.ops.aten.elu(x, alpha, gamma)


def _hard_sigmoid(torch: Any, x: Any, *, alpha: float, beta: float) -> Any:
    return torch.clamp(x * alpha + beta, 0, 1)


def _thresholded_relu(torch: Any, x: Any, *, alpha: float) -> Any:
    """``torch.nn.functional.threshold`` keeps NaN, which the definition does not."""
    return torch.where(x > alpha, x, torch.zeros_like(x))


def _shrink(torch: Any, x: Any, *, bias: float, lambd: float) -> Any:
    """``hardshrink`` and ``softshrink`` keep NaN, which the definition does not."""
    towards = torch.where(x > lambd, x - bias, torch.zeros_like(x))
    return torch.where(x < -lambd, x + bias, towards)


def _prelu(torch: Any, x: Any, slope: Any) -> Any:
    return torch.where(x < 0, slope * x, x)


def _isinf(torch: Any, x: Any, *, detect_negative: bool, detect_positive: bool) -> Any:
    if detect_negative and detect_positive:
        return torch.isinf(x)
    if detect_negative:
        return torch.isneginf(x)
    return torch.isposinf(x) if detect_positive else torch.zeros_like(x, dtype=torch.bool)


def _einsum(torch: Any, *xs: Any, equation: str) -> Any:
    return torch.einsum(equation, *xs)


def _det(torch: Any, x: Any) -> Any:
    return torch.linalg.det(x)


def _matmul_integer(
    torch: Any, a: Any, b: Any, a_zero_point: Any = None, b_zero_point: Any = None
) -> Any:
    wide_a, wide_b = a.to(torch.int32), b.to(torch.int32)
    if a_zero_point is not None:
        zero = a_zero_point.to(torch.int32)
        wide_a = wide_a - (zero[..., None] if zero.ndim else zero)
    if b_zero_point is not None:
        wide_b = wide_b - b_zero_point.to(torch.int32)
    return torch.matmul(wide_a, wide_b)


ARITHMETIC: Final[Mapping[str, Function]] = {
    **{name: named(name) for name in _SAME_NAME},
    **{name: named(other) for name, other in _RENAMED.items()},
    **{name: _reduction(name) for name in ("all", "any", "mean")},
    **{name: _activation(name) for name in ("celu", "elu", "mish", "softplus", "softsign")},
    **{name: _on_axis(name) for name in ("log_softmax", "softmax")},
    "hard_swish": _activation("hardswish"),
    "max": _reduction("amax"),
    "min": _reduction("amin"),
    "sum": _sum,
    "prod": _prod,
    "argmax": _extremum_place("argmax"),
    "argmin": _extremum_place("argmin"),
    "cumulative_sum": _cumulative("cumsum", 0),
    "cumulative_prod": _cumulative("cumprod", 1),
    "trunc_divide": _trunc_divide,
    "clip": _clip,
    "cast": _cast,
    "gelu": _gelu,
    "leaky_relu": _leaky_relu,
    "selu": _selu,
    "hard_sigmoid": _hard_sigmoid,
    "thresholded_relu": _thresholded_relu,
    "shrink": _shrink,
    "prelu": _prelu,
    "isinf": _isinf,
    "einsum": _einsum,
    "det": _det,
    "matmul_integer": _matmul_integer,
}
