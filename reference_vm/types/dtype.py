"""Element types: what one element of a tensor is.

A dtype is equal by content, and there is one instance of each: ``DTYPES["f32"] is F32``. Nothing
here needs NumPy; `types.arrays` maps dtypes to NumPy's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final, final


class Kind(StrEnum):
    """How the bits of an element are read."""

    BOOL = "bool"
    SIGNED = "signed"
    UNSIGNED = "unsigned"
    FLOAT = "float"


@final
@dataclass(frozen=True, slots=True)
class DType:
    """An element type, by the name that the text form uses."""

    name: str
    kind: Kind
    bits: int
    significand: int = 0
    """Bits of precision of a float, the implicit one included: 24 for ``f32``; 0 otherwise."""

    def __str__(self) -> str:
        return self.name

    @property
    def is_float(self) -> bool:
        return self.kind is Kind.FLOAT

    @property
    def is_integer(self) -> bool:
        """Whether the elements are integers; ``bool`` is not one."""
        return self.kind in (Kind.SIGNED, Kind.UNSIGNED)

    @property
    def is_bool(self) -> bool:
        return self.kind is Kind.BOOL

    @property
    def is_signed(self) -> bool:
        return self.kind in (Kind.SIGNED, Kind.FLOAT)

    @property
    def itemsize(self) -> int:
        """Bytes of one element in memory; sub-byte elements take a byte each."""
        return max(1, self.bits // 8)

    @property
    def minimum(self) -> int:
        """The least value of an integer dtype."""
        assert self.is_integer, f"{self.name} has no integer range"
        return -(1 << (self.bits - 1)) if self.kind is Kind.SIGNED else 0

    @property
    def maximum(self) -> int:
        """The greatest value of an integer dtype."""
        assert self.is_integer, f"{self.name} has no integer range"
        return (1 << (self.bits - 1 if self.kind is Kind.SIGNED else self.bits)) - 1

    @property
    def unit_roundoff(self) -> float:
        """Half the distance from 1 to the next greater number of a float dtype."""
        assert self.is_float, f"{self.name} does not round"
        return 2.0**-self.significand


BOOL: Final = DType("bool", Kind.BOOL, 8)
I4: Final = DType("i4", Kind.SIGNED, 4)
I8: Final = DType("i8", Kind.SIGNED, 8)
I16: Final = DType("i16", Kind.SIGNED, 16)
I32: Final = DType("i32", Kind.SIGNED, 32)
I64: Final = DType("i64", Kind.SIGNED, 64)
U4: Final = DType("u4", Kind.UNSIGNED, 4)
U8: Final = DType("u8", Kind.UNSIGNED, 8)
U16: Final = DType("u16", Kind.UNSIGNED, 16)
U32: Final = DType("u32", Kind.UNSIGNED, 32)
U64: Final = DType("u64", Kind.UNSIGNED, 64)
F16: Final = DType("f16", Kind.FLOAT, 16, 11)
BF16: Final = DType("bf16", Kind.FLOAT, 16, 8)
F32: Final = DType("f32", Kind.FLOAT, 32, 24)
F64: Final = DType("f64", Kind.FLOAT, 64, 53)
F8E4M3FN: Final = DType("f8e4m3fn", Kind.FLOAT, 8, 4)
F8E5M2: Final = DType("f8e5m2", Kind.FLOAT, 8, 3)

_ALL: Final = (
    *(BOOL, I4, I8, I16, I32, I64, U4, U8, U16, U32, U64),
    *(F16, BF16, F32, F64, F8E4M3FN, F8E5M2),
)

DTYPES: Final[Mapping[str, DType]] = MappingProxyType({d.name: d for d in _ALL})
"""Every dtype whose name is reserved in the text form, by name."""

COMPUTED: Final = (BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64)
"""The dtypes that operators compute on; the others only parse, print and verify."""

FLOATS: Final = tuple(d for d in COMPUTED if d.is_float)
INTEGERS: Final = tuple(d for d in COMPUTED if d.is_integer)
NUMERIC: Final = INTEGERS + FLOATS
