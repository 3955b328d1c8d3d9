"""Scalar expressions of the loop IR: what happens to one element.

A tree of values, each of one dtype. f16 and bf16 operands are computed in f32 and rounded back
after *each operator* (semantics section 1), so a rule sees f32 and the caller adds the rounding.

Build them with the functions of this module; the printers in `loops.llvm` and `loops.c` decide how
each operation is spelled, and must give equal bits for everything but the transcendental ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias, Union, final

from reference_vm.types.dtype import BOOL, DType

UNARY: Final = frozenset(
    {"neg", "abs", "sign", "sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan"}
    | {"sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "floor", "ceil", "round"}
    | {"not", "isnan", "isinf"}
)
BINARY: Final = frozenset(
    {"add", "sub", "mul", "div", "floor_div", "trunc_div", "rem", "fmod", "pow", "max", "min"}
    | {"and", "or", "xor", "shl", "shr"}
)
COMPARE: Final = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})


@final
@dataclass(frozen=True, slots=True)
class Input:
    """The element of input number ``index`` at this place."""

    index: int
    dtype: DType


@final
@dataclass(frozen=True, slots=True)
class Literal:
    """A number known at compile time."""

    value: float | int | bool
    dtype: DType


@final
@dataclass(frozen=True, slots=True)
class Unary:
    op: str
    x: Scalar

    @property
    def dtype(self) -> DType:
        return BOOL if self.op in ("isnan", "isinf") else self.x.dtype


@final
@dataclass(frozen=True, slots=True)
class Binary:
    """``max`` and ``min`` propagate NaN; integer division is guarded (semantics section 1)."""

    op: str
    x: Scalar
    y: Scalar

    @property
    def dtype(self) -> DType:
        return self.x.dtype


@final
@dataclass(frozen=True, slots=True)
class Compare:
    op: str
    x: Scalar
    y: Scalar

    @property
    def dtype(self) -> DType:
        return BOOL


@final
@dataclass(frozen=True, slots=True)
class Select:
    condition: Scalar
    x: Scalar
    y: Scalar

    @property
    def dtype(self) -> DType:
        return self.x.dtype


@final
@dataclass(frozen=True, slots=True)
class Cast:
    """To another dtype: saturating, NaN to 0, for floats to integers (semantics section 1)."""

    x: Scalar
    dtype: DType


@final
@dataclass(frozen=True, slots=True)
class Fold:
    """``x`` of every place in the row folded with ``op``; only in a `kernel.Rows` rule."""

    op: str
    x: Scalar
    identity: float | int

    @property
    def dtype(self) -> DType:
        return self.x.dtype


@final
@dataclass(frozen=True, slots=True)
class RowLength:
    """How many places the row has, as a number of this dtype; only in a `kernel.Rows` rule."""

    dtype: DType


Scalar: TypeAlias = Union[Input, Literal, Unary, Binary, Compare, Select, Cast, Fold, RowLength]


def unary(op: str, x: Scalar) -> Scalar:
    assert op in UNARY, op
    return Unary(op, x)


def binary(op: str, x: Scalar, y: Scalar) -> Scalar:
    assert op in BINARY, op
    assert x.dtype == y.dtype, (op, x.dtype, y.dtype)
    return Binary(op, x, y)


def compare(op: str, x: Scalar, y: Scalar) -> Scalar:
    assert op in COMPARE, op
    assert x.dtype == y.dtype, (op, x.dtype, y.dtype)
    return Compare(op, x, y)


def literal(value: float, like: Scalar) -> Scalar:
    """Return ``value`` in the dtype of ``like``."""
    return Literal(value, like.dtype)


def select(condition: Scalar, x: Scalar, y: Scalar) -> Scalar:
    assert condition.dtype == BOOL
    assert x.dtype == y.dtype, (x.dtype, y.dtype)
    return Select(condition, x, y)


def fold(op: str, x: Scalar, identity: float) -> Scalar:
    assert op in ("add", "mul", "max", "min"), op
    return Fold(op, x, identity)


def cast(x: Scalar, dtype: DType) -> Scalar:
    return x if x.dtype == dtype else Cast(x, dtype)
