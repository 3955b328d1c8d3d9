"""Evaluates scalar expressions of the loop IR on NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from reference_vm.loops.scalar import (
    Binary,
    Cast,
    Compare,
    Input,
    Literal,
    Scalar,
    Select,
    Unary,
)
from reference_vm.ops.catalog import OPS
from reference_vm.types import DType
from reference_vm.types.arrays import to_numpy
from tests.unit.ops.values import Array

_NAMES = {
    "neg": "negative",
    "not": "logical_not",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "max": "maximum",
    "min": "minimum",
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "round": "rint",
    "rem": "remainder",
    "pow": "power",
    "floor_div": "floor_divide",
}
_OURS = {"trunc_div": "trunc_divide", "shl": "bitwise_left_shift", "shr": "bitwise_right_shift"}


def evaluate(scalar: Scalar, inputs: Sequence[Array | None]) -> Any:
    """Return the value of ``scalar``, whose `Input` numbers index ``inputs``."""
    with np.errstate(all="ignore"):
        return _value(scalar, inputs)


def _value(scalar: Scalar, inputs: Sequence[Array | None]) -> Any:
    match scalar:
        case Input(index=index):
            return inputs[index]
        case Literal(value=value, dtype=dtype):
            return to_numpy(dtype).type(value)
        case Unary(op="erf", x=x):
            return _erf(_value(x, inputs))
        case Unary(op=op, x=x) if op in ("floor", "ceil", "round") and not x.dtype.is_float:
            return _value(x, inputs)
        case Unary(op=op, x=x):
            return getattr(np, _NAMES.get(op, op))(_value(x, inputs))
        case Binary(op=op, x=x, y=y) if op in _OURS:
            return OPS[_OURS[op]].compute(np, _value(x, inputs), _value(y, inputs))
        case Binary(op=op, x=x, y=y) | Compare(op=op, x=x, y=y):
            return getattr(np, _NAMES.get(op, op))(_value(x, inputs), _value(y, inputs))
        case Select(condition=condition, x=x, y=y):
            return np.where(_value(condition, inputs), _value(x, inputs), _value(y, inputs))
        case Cast(x=x, dtype=dtype):
            return _cast(_value(x, inputs), dtype)
    raise AssertionError(f"the test evaluates no {type(scalar).__name__}")


def _erf(x: Array) -> Array:
    return np.asarray([math.erf(v) for v in x.ravel()]).reshape(x.shape).astype(x.dtype)


def _cast(x: Array, dtype: DType) -> Array:
    found: Array = OPS["cast"].compute(np, x, to=dtype, saturate=True)
    return found
