"""Constants from tokens: ``const f32[2] [1.0, 2.0]`` and its other payloads."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Final

from reference_vm.diagnostics import Diagnostic, catalog
from reference_vm.ir.nodes import Constant, Weight
from reference_vm.source import Span
from reference_vm.text.cursor import Cursor
from reference_vm.types import DTYPES, DType
from reference_vm.types.dtype import F64
from reference_vm.types.elements import Element, encode

_SCALARS: Final = frozenset({"-", "INT", "FLOAT", "inf", "nan", "true", "false"})
MAX_SPLAT: Final = 1 << 29
"""How many bytes all the ``splat`` constants of a text may stand for."""


def parse_constant(c: Cursor) -> Constant | Weight:
    """Read a constant; its first word, ``const``, comes next."""
    first = c.at
    c.take("const")
    dtype = DTYPES[c.take("DTYPE", "a dtype such as f32")]
    shape = _shape(c)
    packed = c.accept("packed")
    if c.kind == "from":
        file, key = _weight(c)
        return Weight(dtype, shape, file, key, packed, c.since(first))
    data = _payload(c, dtype, shape)
    return Constant(dtype, shape, data, packed, c.since(first))


def _shape(c: Cursor) -> tuple[int, ...]:
    c.take("[")
    dims: list[int] = []
    if c.accept("]"):
        return ()
    while True:
        dims.append(c.integer("a dim; those of a constant are numbers"))
        if not c.accept(","):
            break
    c.take("]", "`,` or `]`")
    return tuple(dims)


def _weight(c: Cursor) -> tuple[str, str]:
    c.take("from")
    file = c.string("the weights file, a string")
    if not is_inside(file):
        c.note(catalog.weights_path(file, c.span(c.at - 1)))
    return file, c.string("the key of the tensor in the file, a string")


def is_inside(file: str) -> bool:
    """Whether a weights file is named by a path that stays in the module's own folder."""
    outside = not file or file.startswith("/") or ":" in file or "\\" in file
    return not outside and ".." not in file.split("/")


def _payload(c: Cursor, dtype: DType, shape: tuple[int, ...]) -> bytes:
    """Read what follows the shape and return the elements' bytes; as many as the shape says."""
    first, count = c.at, math.prod(shape)
    if c.accept("hex"):
        return _hex(c, dtype, shape)
    if c.accept("splat"):
        return _splat(c, dtype, count)
    if c.kind == "[":
        values = _elements(c, dtype)
    elif c.kind in _SCALARS:
        values = [_scalar(c, dtype)]
    else:
        raise c.error("data: a number, `[`, `splat`, `hex` or `from`")
    if len(values) != count:
        c.note(catalog.element_count(len(values), shape, count, c.since(first)))
    return encode(dtype, values)


def _splat(c: Cursor, dtype: DType, count: int) -> bytes:
    first = c.at
    element = encode(dtype, [_scalar(c, dtype)])
    c.splatted += len(element) * count
    if c.splatted > MAX_SPLAT:
        c.note(catalog.constant_too_large(len(element) * count, MAX_SPLAT, c.since(first)))
        return b""
    return element * count


def _hex(c: Cursor, dtype: DType, shape: tuple[int, ...]) -> bytes:
    text = c.string("the elements' bytes as a string of hex digits")
    span = c.span(c.at - 1)
    try:
        data = bytes.fromhex(text)
    except ValueError:
        c.note(catalog.invalid_hex(f"found {text[:40]!r}, expected pairs of hex digits", span))
        return b""
    expected = math.prod(shape) * dtype.itemsize
    if len(data) != expected:
        message = f"found {len(data)} bytes, expected {expected} for {dtype}{list(shape)}"
        c.note(catalog.invalid_hex(message, span))
    elif not readable(dtype, data):
        c.note(catalog.invalid_hex(f"a byte is no {dtype}", span))
    return data


def readable(dtype: DType, data: bytes) -> bool:
    """Whether each byte of a dtype that does not use all of its bits is one of its elements."""
    if dtype.is_bool:
        return not data.strip(b"\0\1")
    if dtype.bits >= 8:
        return True
    return all(
        dtype.minimum <= (b - 256 if dtype.is_signed and b > 127 else b) <= dtype.maximum
        for b in data
    )


def _elements(c: Cursor, dtype: DType) -> list[Element]:
    c.take("[")
    values: list[Element] = []
    if c.accept("]"):
        return values
    while True:
        values.append(_scalar(c, dtype))
        if not c.accept(","):
            break
    c.take("]", "`,` or `]`")
    return values


def _scalar(c: Cursor, dtype: DType) -> Element:
    """Read one element, as a value that `encode` takes; what does not fit is noted and gives 0."""
    first = c.at
    negative = c.accept("-")
    kind = c.kind
    if kind not in _SCALARS or kind == "-" or (negative and kind in ("true", "false")):
        raise c.error("a number" if negative else "a number, `inf`, `nan`, `true` or `false`")
    word = c.take(kind)
    value = _value(dtype, kind, "-" + word if negative else word, c.since(first))
    if isinstance(value, Diagnostic):
        c.note(value)
        return 0
    return value


def _value(dtype: DType, kind: str, word: str, span: Span) -> Element | Diagnostic:
    if dtype.is_bool:
        if kind in ("true", "false"):
            return kind == "true"
        return catalog.literal_type(word, dtype.name, "true or false", span)
    if kind in ("true", "false"):
        return catalog.literal_type(word, dtype.name, "numbers", span)
    if dtype.is_float:
        return _float(dtype, word, span)
    if kind != "INT":
        return catalog.literal_type(word, dtype.name, "integers", span)
    value = int(word) if len(word) < 40 else None
    if value is None or not dtype.minimum <= value <= dtype.maximum:
        allowed = f"{dtype.minimum} to {dtype.maximum}"
        return catalog.literal_out_of_range(word[:60], dtype.name, allowed, span)
    return value


def _float(dtype: DType, word: str, span: Span) -> float | Diagnostic:
    value = float(word)
    written_infinite = word.endswith("inf")
    if dtype is not F64 and math.isfinite(value):
        value = _rounded_to_odd(value, word)
    try:
        encode(dtype, [value])
    except OverflowError:
        allowed = "finite numbers only" if written_infinite else "no number so large"
        return catalog.literal_out_of_range(word[:60], dtype.name, allowed, span)
    if math.isinf(value) and not written_infinite:
        return catalog.literal_out_of_range(word[:60], dtype.name, "no number so large", span)
    return value


def _rounded_to_odd(value: float, word: str) -> float:
    """Return the float next to what ``word`` says whose last bit is odd, unless one is exact.

    Rounding that once more, to a shorter float, gives what rounding ``word`` itself would give;
    rounding the nearest float once more may not.
    """
    exact, found = Decimal(word), Decimal(value)
    if exact == found or value == 0:
        return value
    if int(math.ldexp(math.frexp(value)[0], 53)) & 1:
        return value
    return math.nextafter(value, math.inf if exact > found else -math.inf)
