"""The operators that Relax has, as functions of the namespace ``relax.op``.

Each takes the namespace, the operands and the attributes. Operands whose data decide a shape are
expressions of Relax's shape type, or lists of ints where the program has them as a constant. An
operator that is not here is not claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from hettest.language import DType, numpy_dtype

Function = Callable[..., Any]

_SAME_NAME: Final = (
    *("abs", "ceil", "floor", "negative", "round", "sign", "sqrt", "square"),
    *("exp", "log", "erf", "sigmoid", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
    *("acos", "acosh", "asin", "asinh", "atan", "atanh"),
    *("add", "subtract", "multiply", "divide", "floor_divide", "maximum", "minimum"),
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "isnan", "where"),
    *("logical_and", "logical_or", "logical_xor", "logical_not", "matmul"),
    *("bitwise_and", "bitwise_or", "bitwise_xor"),
)
"""``relax.op`` has it by this name, for the same operands."""

_RENAMED: Final = {
    "bitwise_invert": "bitwise_not",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "pow": "power",
    "remainder": "floor_mod",
    "relu": "nn.relu",
}


def _named(name: str) -> Function:
    def call(relax_op: Any, *operands: Any) -> Any:
        found = relax_op
        for part in name.split("."):
            found = getattr(found, part)
        return found(*operands)

    return call


def _reduction(name: str) -> Function:
    def call(op: Any, x: Any, *, axis: Any, keepdims: bool) -> Any:
        return getattr(op, name)(x, None if axis is None else list(axis), keepdims)

    return call


def _on_axis(name: str) -> Function:
    return lambda op, x, *, axis: getattr(op.nn, name)(x, axis)


def _leaky_relu(op: Any, x: Any, *, alpha: float) -> Any:
    return op.nn.leakyrelu(x, alpha)


def _gelu(op: Any, x: Any, *, approximate: str) -> Any:
    return op.nn.gelu_tanh(x) if approximate == "tanh" else op.nn.gelu(x)


def _cast(op: Any, x: Any, *, to: DType, saturate: bool) -> Any:
    return op.astype(x, numpy_dtype(str(to)).name)


def _permute_dims(op: Any, x: Any, *, axes: Any) -> Any:
    return op.permute_dims(x, None if axes is None else list(axes))


def _expand_dims(op: Any, x: Any, *, axes: Any) -> Any:
    return op.expand_dims(x, list(axes))


def _squeeze(op: Any, x: Any, *, axes: Any) -> Any:
    return op.squeeze(x, None if axes is None else list(axes))


def _flip(op: Any, x: Any, *, axes: Any) -> Any:
    for axis in axes:
        x = op.flip(x, axis)
    return x


def _reshape(op: Any, x: Any, shape: Any, *, allow_zero: bool) -> Any:
    if not isinstance(shape, list) or allow_zero:
        return op.reshape(x, shape)
    own = x.ty.shape.values
    return op.reshape(x, [own[i] if size == 0 else size for i, size in enumerate(shape)])


def _flatten(op: Any, x: Any, *, axis: int) -> Any:
    shape = list(x.ty.shape.values)
    rows, columns = 1, 1
    for size in shape[:axis]:
        rows = rows * size
    for size in shape[axis:]:
        columns = columns * size
    return op.reshape(x, (rows, columns))


def _broadcast_to(op: Any, x: Any, shape: Any) -> Any:
    return op.broadcast_to(x, shape)


def _concat(op: Any, *xs: Any, axis: int) -> Any:
    return op.concat(list(xs), axis)


def _split(op: Any, x: Any, sizes: Any = None, *, axis: int, num_outputs: int) -> Any:
    if sizes is None:
        chunk = -(-int(x.ty.shape.values[axis]) // num_outputs)
        sizes = [chunk] * num_outputs
    ends = [sum(sizes[: i + 1]) for i in range(num_outputs - 1)]
    return op.split(x, ends, axis)


def _triangular(name: str) -> Function:
    return lambda op, x, k=0: getattr(op, name)(x, k)


def _take(op: Any, x: Any, indices: Any, *, axis: int) -> Any:
    return op.take(x, indices, axis, mode="wrap")


def _full(op: Any, shape: Any, value: Any) -> Any:
    return op.full(shape, value)


def _einsum(op: Any, *xs: Any, equation: str) -> Any:
    return op.einsum(list(xs), equation)


OPERATORS: Final[Mapping[str, Function]] = {
    **{name: _named(name) for name in _SAME_NAME},
    **{name: _named(other) for name, other in _RENAMED.items()},
    **{name: _reduction(name) for name in ("max", "mean", "min", "prod", "sum")},
    "softmax": _on_axis("softmax"),
    "log_softmax": _on_axis("log_softmax"),
    "leaky_relu": _leaky_relu,
    "gelu": _gelu,
    "cast": _cast,
    "permute_dims": _permute_dims,
    "expand_dims": _expand_dims,
    "squeeze": _squeeze,
    "flip": _flip,
    "flatten": _flatten,
    "reshape": _reshape,
    "broadcast_to": _broadcast_to,
    "concat": _concat,
    "split": _split,
    "tril": _triangular("tril"),
    "triu": _triangular("triu"),
    "take": _take,
    "full": _full,
    "einsum": _einsum,
}

ON_SHAPES: Final = ("shape_of", "shape_to_tensor", "tensor_to_shape")
"""Operators between tensors and shape values."""

NAMES: Final = (*OPERATORS, *ON_SHAPES)
