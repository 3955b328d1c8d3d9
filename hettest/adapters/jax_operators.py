"""The operators that JAX has, as functions of the namespace ``jax.numpy``.

Each takes the namespace, the operands and the attributes. Operands whose data decide a shape are
tuples of ints or NumPy arrays. An operator that is not here is not claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from hettest.language import DType, numpy_dtype

Function = Callable[..., Any]

_SAME_NAME: Final = (
    *("abs", "ceil", "floor", "negative", "reciprocal", "round", "sign", "sqrt", "square"),
    *("exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
    *("acos", "acosh", "asin", "asinh", "atan", "atanh"),
    *(
        "add",
        "subtract",
        "multiply",
        "divide",
        "floor_divide",
        "remainder",
        "fmod",
        "pow",
        "maximum",
        "minimum",
    ),
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "isnan", "where"),
    *("logical_and", "logical_or", "logical_xor", "logical_not", "matmul"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert"),
    *("bitwise_left_shift", "bitwise_right_shift"),
)
"""``jax.numpy`` has it by this name, for the same operands."""

_REDUCTIONS: Final = ("all", "any", "mean")


def _named(name: str) -> Function:
    return lambda xp, *operands: getattr(xp, name)(*operands)


def _reduction(name: str) -> Function:
    return lambda xp, x, *, axis, keepdims: getattr(xp, name)(x, axis=axis, keepdims=keepdims)


def _extremum(name: str, least: bool) -> Function:
    """Of nothing it is the dtype's least or greatest value, which JAX wants to be told."""

    def call(xp: Any, x: Any, *, axis: Any, keepdims: bool) -> Any:
        if xp.issubdtype(x.dtype, xp.floating):
            initial = -xp.inf if least else xp.inf
        elif x.dtype == bool:
            initial = not least
        else:
            limits = xp.iinfo(x.dtype)
            initial = x.dtype.type(limits.min if least else limits.max)
        return getattr(xp, name)(x, axis=axis, keepdims=keepdims, initial=initial)

    return call


def _activation(name: str) -> Function:
    def call(xp: Any, *operands: Any, **attrs: Any) -> Any:
        from jax import nn

        return getattr(nn, name)(*operands, **attrs)

    return call


def _sum(xp: Any, x: Any, *, axis: Any, keepdims: bool) -> Any:
    return xp.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


def _prod(xp: Any, x: Any, *, axis: Any, keepdims: bool) -> Any:
    return xp.prod(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


def _arg(name: str) -> Function:
    def call(xp: Any, x: Any, *, axis: int, keepdims: bool, select_last: bool) -> Any:
        if not select_last:
            return getattr(xp, name)(x, axis=axis, keepdims=keepdims)
        last = x.shape[axis] - 1
        return last - getattr(xp, name)(xp.flip(x, axis), axis=axis, keepdims=keepdims)

    return call


def _trunc_divide(xp: Any, x: Any, y: Any) -> Any:
    from jax import lax

    return lax.div(*xp.broadcast_arrays(x, y))


def _erf(xp: Any, x: Any) -> Any:
    from jax.scipy.special import erf

    return erf(x)


def _gelu(xp: Any, x: Any, *, approximate: str) -> Any:
    from jax import nn

    return nn.gelu(x, approximate=approximate == "tanh")


def _leaky_relu(xp: Any, x: Any, *, alpha: float) -> Any:
    from jax import nn

    return nn.leaky_relu(x, negative_slope=alpha)


def _clip(xp: Any, x: Any, low: Any = None, high: Any = None) -> Any:
    return xp.clip(x, low, high)


def _cast(xp: Any, x: Any, *, to: DType, saturate: bool) -> Any:
    return xp.astype(x, numpy_dtype(str(to)))


def _permute_dims(xp: Any, x: Any, *, axes: Any) -> Any:
    return xp.transpose(x, axes)


def _expand_dims(xp: Any, x: Any, *, axes: Any) -> Any:
    return xp.expand_dims(x, axes)


def _squeeze(xp: Any, x: Any, *, axes: Any) -> Any:
    return xp.squeeze(x, axes)


def _flip(xp: Any, x: Any, *, axes: Any) -> Any:
    return xp.flip(x, axes)


def _flatten(xp: Any, x: Any, *, axis: int) -> Any:
    rows = 1
    for size in x.shape[: axis % (x.ndim + 1) if axis < 0 else axis]:
        rows *= size
    return xp.reshape(x, (rows, x.size // rows if rows else -1))


def _reshape(xp: Any, x: Any, shape: Any, *, allow_zero: bool) -> Any:
    wanted = [int(size) for size in shape]
    if not allow_zero:
        wanted = [x.shape[i] if size == 0 else size for i, size in enumerate(wanted)]
    return xp.reshape(x, wanted)


def _broadcast_to(xp: Any, x: Any, shape: Any) -> Any:
    return xp.broadcast_to(x, tuple(int(size) for size in shape))


def _expand(xp: Any, x: Any, shape: Any) -> Any:
    both = xp.broadcast_shapes(x.shape, tuple(int(size) for size in shape))
    return xp.broadcast_to(x, both)


def _concat(xp: Any, *xs: Any, axis: int) -> Any:
    return xp.concatenate(xs, axis=axis)


def _split(xp: Any, x: Any, sizes: Any = None, *, axis: int, num_outputs: int) -> Any:
    if sizes is None:
        chunk = -(-x.shape[axis] // num_outputs)
        ends = [chunk * (i + 1) for i in range(num_outputs - 1)]
    else:
        ends = [sum(int(s) for s in sizes[: i + 1]) for i in range(num_outputs - 1)]
    return tuple(xp.split(x, ends, axis=axis))


def _slice(xp: Any, x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    along = range(len(starts)) if axes is None else [int(a) % x.ndim for a in axes]
    strides = [1] * len(starts) if steps is None else [int(s) for s in steps]
    index = [slice(None)] * x.ndim
    for axis, start, end, step in zip(along, starts, ends, strides, strict=True):
        first, last = int(start), int(end)
        reaches_front = step < 0 and last < -x.shape[axis]
        index[axis] = slice(first, None if reaches_front else last, step)
    return x[tuple(index)]


def _tile(xp: Any, x: Any, reps: Any) -> Any:
    return xp.tile(x, tuple(int(r) for r in reps))


def _triangular(name: str) -> Function:
    return lambda xp, x, k=0: getattr(xp, name)(x, int(k))


def _take(xp: Any, x: Any, indices: Any, *, axis: int) -> Any:
    return xp.take(x, indices, axis=axis)


def _take_along_axis(xp: Any, x: Any, indices: Any, *, axis: int) -> Any:
    return xp.take_along_axis(x, indices, axis=axis)


def _full(xp: Any, shape: Any, value: Any) -> Any:
    return xp.full(tuple(int(size) for size in shape), value, value.dtype)


def _einsum(xp: Any, *xs: Any, equation: str) -> Any:
    return xp.einsum(equation, *xs)


def _identity(xp: Any, x: Any) -> Any:
    return xp.copy(x)


OPERATORS: Final[Mapping[str, Function]] = {
    **{name: _named(name) for name in _SAME_NAME},
    **{name: _reduction(name) for name in _REDUCTIONS},
    **{name: _activation(name) for name in ("celu", "elu", "log_softmax", "mish", "relu")},
    **{name: _activation(name) for name in ("sigmoid", "softmax", "softplus")},
    "softsign": _activation("soft_sign"),
    "hard_swish": _activation("hard_swish"),
    "max": _extremum("max", least=True),
    "min": _extremum("min", least=False),
    "sum": _sum,
    "prod": _prod,
    "argmax": _arg("argmax"),
    "argmin": _arg("argmin"),
    "trunc_divide": _trunc_divide,
    "erf": _erf,
    "gelu": _gelu,
    "leaky_relu": _leaky_relu,
    "clip": _clip,
    "cast": _cast,
    "permute_dims": _permute_dims,
    "expand_dims": _expand_dims,
    "squeeze": _squeeze,
    "flip": _flip,
    "flatten": _flatten,
    "reshape": _reshape,
    "broadcast_to": _broadcast_to,
    "expand": _expand,
    "concat": _concat,
    "split": _split,
    "slice": _slice,
    "tile": _tile,
    "tril": _triangular("tril"),
    "triu": _triangular("triu"),
    "take": _take,
    "take_along_axis": _take_along_axis,
    "full": _full,
    "einsum": _einsum,
    "identity": _identity,
}

ON_SHAPES: Final = ("shape_of", "size_of", "shape_to_tensor", "tensor_to_shape")
"""What the adapter does itself, since JAX has shapes as Python's tuples."""

NAMES: Final = (*OPERATORS, *ON_SHAPES)
