"""Elements as bytes: Python's numbers to the little-endian bytes of a constant, and back.

Works without NumPy, so that reading and printing programs loads none. Floats are rounded to
nearest, ties to even; a NaN becomes the default quiet NaN of its dtype.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, final

from reference_vm.types.dtype import BF16, F8E4M3FN, F8E5M2, F16, F32, F64, DType, Kind

Element: TypeAlias = bool | int | float

_INTEGER_CODES: Final = {
    (Kind.SIGNED, 1): "b",
    (Kind.SIGNED, 2): "h",
    (Kind.SIGNED, 4): "i",
    (Kind.SIGNED, 8): "q",
    (Kind.UNSIGNED, 1): "B",
    (Kind.UNSIGNED, 2): "H",
    (Kind.UNSIGNED, 4): "I",
    (Kind.UNSIGNED, 8): "Q",
}
_WORD_CODES: Final = {1: "B", 2: "H", 4: "I", 8: "Q"}
_NATIVE_FLOATS: Final = {F16: "e", F32: "f", F64: "d"}


@final
@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the bits of a float are."""

    mantissa: int
    """Bits of the fraction that is stored."""

    bias: int
    largest: int
    """The bits of the greatest finite number."""

    nan: int
    """The bits of the default NaN, without the sign."""

    infinity: int | None
    sign: int
    """The bit of the sign, as a mask."""


_LAYOUTS: Final = {
    F16: _Layout(10, 15, 0x7BFF, 0x7E00, 0x7C00, 0x8000),
    BF16: _Layout(7, 127, 0x7F7F, 0x7FC0, 0x7F80, 0x8000),
    F32: _Layout(23, 127, 0x7F7FFFFF, 0x7FC00000, 0x7F800000, 1 << 31),
    F64: _Layout(52, 1023, (0x7FF << 52) - 1, 0x7FF8 << 48, 0x7FF << 52, 1 << 63),
    F8E4M3FN: _Layout(3, 7, 0x7E, 0x7F, None, 0x80),
    F8E5M2: _Layout(2, 15, 0x7B, 0x7E, 0x7C, 0x80),
}


def encode(dtype: DType, values: Iterable[Element]) -> bytes:
    """Return ``values`` as the bytes of a constant, ``dtype.itemsize`` bytes each.

    Raises:
        OverflowError: A value is beyond the range of ``dtype``; an infinity is, where it has none.
    """
    if dtype.is_bool:
        return bytes(map(bool, values))
    if dtype.is_integer:
        items = [_in_range(dtype, int(v)) for v in values]
        return struct.pack(f"<{len(items)}{_INTEGER_CODES[dtype.kind, dtype.itemsize]}", *items)
    bits = [float_bits(dtype, float(v)) for v in values]
    return struct.pack(f"<{len(bits)}{_WORD_CODES[dtype.itemsize]}", *bits)


def _in_range(dtype: DType, value: int) -> int:
    if not dtype.minimum <= value <= dtype.maximum:
        raise OverflowError(f"{value} is beyond {dtype.minimum} to {dtype.maximum}")
    return value


def float_bits(dtype: DType, value: float) -> int:
    """Return the bits of ``value`` rounded to a float dtype.

    Raises:
        OverflowError: It rounds to no finite number of ``dtype``.
    """
    layout = _LAYOUTS[dtype]
    sign = layout.sign if math.copysign(1.0, value) < 0 else 0
    if math.isnan(value):
        return sign | layout.nan
    if math.isinf(value):
        if layout.infinity is None:
            raise OverflowError(f"{dtype} has no infinity")
        return sign | layout.infinity
    return sign | _magnitude_bits(layout, abs(value), value)


def _magnitude_bits(layout: _Layout, magnitude: float, value: float) -> int:
    if magnitude == 0:
        return 0
    least = 1 - layout.bias
    exponent = max(math.frexp(magnitude)[1] - 1, least)
    fraction = round(math.ldexp(magnitude, layout.mantissa - exponent))
    bits = ((exponent - least) << layout.mantissa) + fraction
    if bits > layout.largest:
        raise OverflowError(f"{value!r} is beyond the greatest finite number")
    return bits


def float_of(dtype: DType, bits: int) -> float:
    """Return the number that ``bits`` are in a float dtype."""
    if dtype in _NATIVE_FLOATS:
        word = struct.pack(f"<{_WORD_CODES[dtype.itemsize]}", bits)
        number: float = struct.unpack(f"<{_NATIVE_FLOATS[dtype]}", word)[0]
        return number
    layout = _LAYOUTS[dtype]
    sign, magnitude = (-1.0 if bits & layout.sign else 1.0), bits & ~layout.sign
    if magnitude == layout.infinity:
        return sign * math.inf
    if magnitude > layout.largest:
        return math.copysign(math.nan, sign)
    exponent, fraction = divmod(magnitude, 1 << layout.mantissa)
    if exponent:
        fraction += 1 << layout.mantissa
    return sign * math.ldexp(fraction, max(exponent, 1) - layout.bias - layout.mantissa)


def words(dtype: DType, data: bytes) -> Sequence[int]:
    """Return the bits of each element, as unsigned integers."""
    return struct.unpack(f"<{len(data) // dtype.itemsize}{_WORD_CODES[dtype.itemsize]}", data)


def decode(dtype: DType, data: bytes) -> tuple[Element, ...]:
    """Return the elements in ``data``, which `encode` made or could have made."""
    if dtype.is_bool:
        return tuple(map(bool, data))
    if dtype.is_integer:
        code = _INTEGER_CODES[dtype.kind, dtype.itemsize]
        return struct.unpack(f"<{len(data) // dtype.itemsize}{code}", data)
    return tuple(float_of(dtype, bits) for bits in words(dtype, data))


def is_default_nan(dtype: DType, bits: int) -> bool:
    """Whether ``bits`` are the NaN that the word ``nan`` stands for."""
    return bits == _LAYOUTS[dtype].nan


def is_nan(dtype: DType, bits: int) -> bool:
    """Whether ``bits`` are any NaN of a float dtype."""
    return math.isnan(float_of(dtype, bits))


def shortest(dtype: DType, bits: int) -> str:
    """Return the shortest decimal number that rounds to ``bits`` in a float dtype.

    It has a point or an exponent: ``0.1``, ``1e-05``; infinities are ``inf`` and ``-inf``, and
    every NaN is ``nan``.
    """
    value = float_of(dtype, bits)
    if dtype is F64 or value == 0 or not math.isfinite(value):
        return repr(value)
    sign = "-" if value < 0 else ""
    magnitude = bits & ~_LAYOUTS[dtype].sign
    for digits in range(1, 17):
        for candidate in _candidates(abs(value), digits):
            if _rounds_to(dtype, candidate, magnitude):
                return sign + repr(candidate)
    raise AssertionError(f"no decimal number rounds to {bits:#x} in {dtype}")


def _candidates(value: float, digits: int) -> tuple[float, float]:
    """Return the nearest number of so many digits, and the next greater one.

    Below a power of two the numbers lie closer, so the nearest may round away while the next
    greater does not.
    """
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    whole = int(mantissa.replace(".", ""))
    power = int(exponent) - digits + 1
    return float(f"{whole}e{power}"), float(f"{whole + 1}e{power}")


def _rounds_to(dtype: DType, candidate: float, magnitude: int) -> bool:
    try:
        return float_bits(dtype, candidate) == magnitude
    except OverflowError:
        return False
