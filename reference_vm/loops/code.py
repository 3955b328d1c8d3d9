"""Straight-line scalar code: what a kernel does for one element, as numbered instructions.

Each instruction has one result and is referred to by its number. Equal instructions are one, so a
value used twice is computed once. The set is small on purpose: whatever has special cases (NaN in
``max``, guarded division, saturating casts, transcendental functions) is spelled out in these
instructions by `loops.expand`, so that all printers give the same bits.

=============================================  ====================================================
``load``                                       the element of access number ``detail``
``literal``                                    the number ``detail``
``add sub mul div neg abs sqrt fma``           as IEEE says, never contracted; integers wrap
``floor ceil round trunc fmod copysign``       floats only; ``round`` is half to even
``sdiv srem``                                  integers of either sign; the divisor is safe
``and or xor not shl shr``                     integers and bools; the shift is within the width
``eq ne lt le gt ge``                          to bool; with NaN only ``ne`` is true
``select``                                     ``args[0] ? args[1] : args[2]``
``cast``                                       between numbers; the value fits when it is a float
                                               that becomes an integer; rounds to f32; f16 and bf16
                                               come from and become f32 only
``bitcast``                                    the same bits as another dtype
``call``                                       the function ``detail`` of the C library, on f64
``fold``                                       ``args[0]`` over the row, beginning with
                                               ``args[1]``; ``detail``: add, mul, max or min
``count``                                      the number of elements in the row, as i64
=============================================  ====================================================
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, Union, final

from reference_vm.types.dtype import BOOL, F32, F64, I32, I64, DType

Detail: TypeAlias = Union[str, int, float, bool, None]


@final
@dataclass(frozen=True, slots=True)
class Instruction:
    """One step; ``args`` are the numbers of earlier instructions."""

    op: str
    args: tuple[int, ...]
    dtype: DType
    """Of the result."""

    detail: Detail = None
    """What the table in the module's docstring says; for a fold the operation."""


@final
@dataclass
class Code:
    """Instructions under construction, in order of computation."""

    instructions: list[Instruction] = field(default_factory=list)
    _numbers: dict[Hashable, int] = field(default_factory=dict)

    def emit(self, op: str, args: Sequence[Number], dtype: DType, detail: Detail = None) -> Number:
        """Return the result of an instruction, which is added unless an equal one is there."""
        numbers = tuple([a.index for a in args])
        told = detail.hex() if isinstance(detail, float) else detail  # NaN equals itself
        key = (op, numbers, dtype.name, told)
        index = self._numbers.get(key)
        if index is None:
            index = self._numbers[key] = len(self.instructions)
            self.instructions.append(Instruction(op, numbers, dtype, detail))
        return Number(self, index, dtype)

    def load(self, access: int, dtype: DType) -> Number:
        return self.emit("load", (), dtype, access)

    def literal(self, value: float | bool, dtype: DType) -> Number:
        return self.emit("literal", (), dtype, _literal(value, dtype))


def _literal(value: float | bool, dtype: DType) -> float | int | bool:
    """Return ``value`` as an element of ``dtype``: rounded, or wrapped to its width."""
    if dtype.is_bool:
        return bool(value)
    if dtype.is_integer:
        wrapped = int(value) & ((1 << dtype.bits) - 1)
        return wrapped - (1 << dtype.bits) if wrapped > dtype.maximum else wrapped
    return round_to_f32(float(value)) if dtype == F32 else float(value)


def round_to_f32(value: float) -> float:
    """Return the f32 nearest to ``value``, infinite when it is out of range."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return rounded


@final
@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """The result of one instruction, with arithmetic that adds instructions.

    Python numbers are taken in the dtype of the other operand. Comparisons are methods (``lt``),
    since Python's must return bools.
    """

    code: Code
    index: int
    dtype: DType

    def like(self, value: float | bool | Number) -> Number:
        """Return a Python number as a literal of this dtype."""
        if isinstance(value, Number):
            assert value.dtype == self.dtype, (value.dtype, self.dtype)
            return value
        return self.code.literal(value, self.dtype)

    def _with(self, op: str, other: float | Number) -> Number:
        return self.code.emit(op, (self, self.like(other)), self.dtype)

    def _compare(self, op: str, other: float | Number) -> Number:
        return self.code.emit(op, (self, self.like(other)), BOOL)

    def unary(self, op: str) -> Number:
        return self.code.emit(op, (self,), self.dtype)

    def binary(self, op: str, other: float | Number) -> Number:
        return self._with(op, other)

    def __add__(self, other: float | Number) -> Number:
        return self._with("add", other)

    def __sub__(self, other: float | Number) -> Number:
        return self._with("sub", other)

    def __rsub__(self, other: float) -> Number:
        return self.like(other) - self

    def __mul__(self, other: float | Number) -> Number:
        return self._with("mul", other)

    def __truediv__(self, other: float | Number) -> Number:
        return self._with("div", other)

    def __rtruediv__(self, other: float) -> Number:
        return self.like(other) / self

    def __neg__(self) -> Number:
        return self.unary("neg")

    def __and__(self, other: int | Number) -> Number:
        return self._with("and", other)

    def __or__(self, other: int | Number) -> Number:
        return self._with("or", other)

    def __xor__(self, other: int | Number) -> Number:
        return self._with("xor", other)

    def __invert__(self) -> Number:
        return self.unary("not")

    def shift_left(self, bits: int | Number) -> Number:
        """Shift by fewer bits than the width."""
        return self._with("shl", bits)

    def shift_right(self, bits: int | Number) -> Number:
        """Shift by fewer bits than the width, the sign following when there is one."""
        return self._with("shr", bits)

    def eq(self, other: float | Number) -> Number:
        return self._compare("eq", other)

    def ne(self, other: float | Number) -> Number:
        return self._compare("ne", other)

    def lt(self, other: float | Number) -> Number:
        return self._compare("lt", other)

    def le(self, other: float | Number) -> Number:
        return self._compare("le", other)

    def gt(self, other: float | Number) -> Number:
        return self._compare("gt", other)

    def ge(self, other: float | Number) -> Number:
        return self._compare("ge", other)

    def is_nan(self) -> Number:
        return self.ne(self)

    def fma(self, factor: float | Number, term: float | Number) -> Number:
        """Return ``self * factor + term``, rounded once."""
        return self.code.emit("fma", (self, self.like(factor), self.like(term)), self.dtype)

    def select(self, x: float | Number, y: float | Number) -> Number:
        """Return ``x`` where this bool holds, else ``y``; one of them is a `Number`."""
        known = x if isinstance(x, Number) else y
        assert isinstance(known, Number)
        return self.code.emit("select", (self, known.like(x), known.like(y)), known.dtype)

    def cast(self, dtype: DType) -> Number:
        """Convert a number that fits; see `expand.saturate` for one that may not."""
        return self if dtype == self.dtype else self.code.emit("cast", (self,), dtype)

    def bits(self) -> Number:
        """Return the bits of a float as a signed integer of its width."""
        return self.code.emit("bitcast", (self,), I32 if self.dtype == F32 else I64)

    def as_float(self) -> Number:
        """Return the float whose bits this integer has."""
        return self.code.emit("bitcast", (self,), F32 if self.dtype == I32 else F64)

    def call(self, function: str, *more: Number) -> Number:
        """Return a function of the C library applied to f64."""
        return self.code.emit("call", (self, *more), F64, function)

    def fold(self, op: str, identity: float) -> Number:
        """Return this element folded over the row, beginning with ``identity``."""
        return self.code.emit("fold", (self, self.like(identity)), self.dtype, op)
