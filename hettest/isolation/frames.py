"""What crosses the pipe: questions as pickles, answers as JSON with the bytes of arrays behind.

The kit asks, and trusts its own questions. An answer comes from a process that may be broken or
hostile, so nothing in it is ever executed: a frame says how long its two parts are, and both are
read only up to a limit::

    8 bytes   MAGIC
    4 bytes   length of the JSON text
    8 bytes   length of the arrays' bytes
              the JSON text, then the arrays
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn, final

from hettest.files import cleaned, encodable

if TYPE_CHECKING:
    from hettest.backend.protocol import Array

MAGIC: Final = b"hettest\x02"
HEAD: Final = struct.Struct("<8sIQ")
LENGTH: Final = struct.Struct("<Q")
"""What stands before a question: how long its pickle is."""

LONGEST_TEXT: Final = 64 << 20
"""Bytes of JSON in one answer, at most."""

LONGEST_ARRAYS: Final = 1 << 30
"""Bytes of arrays in one answer, at most."""

_LONGEST: Final = 400
"""Characters of what is said of a malformed answer."""

_NUMPY: Final = frozenset("biufc")
_ORDERS: Final = frozenset("<>=|")


@final
class Malformed(ValueError):
    """An answer is none; says at which key, what was found, and what was expected."""

    def __init__(self, message: str) -> None:
        super().__init__(message if len(message) < _LONGEST else f"{message[:_LONGEST]}…")


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that has been read: plain data, and the arrays that it names."""

    data: dict[str, Any]
    arrays: tuple[Array, ...] = ()


def pack(data: dict[str, Any], arrays: Sequence[Array] = ()) -> list[bytes]:
    """Return the parts of a frame, to be sent one after the other."""
    blocks = [array.tobytes() for array in arrays]
    if arrays:
        data = {**data, "arrays": [[_name(array.dtype), list(array.shape)] for array in arrays]}
    text = json.dumps(data, allow_nan=False).encode()
    size = sum(map(len, blocks))
    if len(text) > LONGEST_TEXT or size > LONGEST_ARRAYS:
        raise ValueError(
            f"what is to be said takes {len(text)} bytes and arrays of {size} bytes, "
            f"at most {LONGEST_TEXT} and {LONGEST_ARRAYS} can be sent"
        )
    return [HEAD.pack(MAGIC, len(text), size), text, *blocks]


def lengths(head: bytes) -> tuple[int, int]:
    """Return how long the two parts are that follow a frame's head.

    Raises:
        Malformed: This is no head of a frame, or the frame is too long.
    """
    magic, text, arrays = HEAD.unpack(head)
    if magic != MAGIC:
        raise Malformed("wrote into the kit's own pipe")
    if text > LONGEST_TEXT or arrays > LONGEST_ARRAYS:
        raise Malformed(
            f"announced an answer of {text} bytes and arrays of {arrays} bytes, "
            f"at most {LONGEST_TEXT} and {LONGEST_ARRAYS} are read"
        )
    return text, arrays


def unpack(text: bytes, block: bytes) -> Answer:
    """Return what a frame holds.

    Raises:
        Malformed: It holds something else than an answer.
    """
    try:
        data = json.loads(text, parse_constant=_refuse)
        if b"\\ud" in text or b"\\uD" in text:
            data = cleaned(data, encodable)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"answered what is no JSON: {error}") from None
    if not isinstance(data, dict):
        raise Malformed(f"answered {kind(data)}, expected an object")
    forms = data.pop("arrays", [])
    return Answer(data, tuple(_arrays(forms, block)))


def kind(value: object) -> str:
    """Return what a piece of JSON is, for messages."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return "null" if value is None else names.get(type(value), "a number")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


def _name(dtype: Any) -> str:
    """Return what a dtype is called: NumPy's with its order of bytes, others by name."""
    return str(dtype.name) if dtype.isbuiltin == 2 else str(dtype.str)


def _arrays(forms: object, block: bytes) -> list[Array]:
    if not isinstance(forms, list):
        raise Malformed(f"arrays is {kind(forms)}, expected a list")
    found, start = [], 0
    for number, form in enumerate(forms):
        array = _array(f"arrays[{number}]", form, block, start)
        found.append(array)
        start += array.nbytes
    if start != len(block):
        raise Malformed(f"arrays take {start} bytes, found {len(block)}")
    return found


def _array(place: str, form: object, block: bytes, start: int) -> Array:
    import numpy as np

    match form:
        case [str(name), list(shape)] if all(type(n) is int and 0 <= n < 1 << 62 for n in shape):
            dtype = _dtype(place, name)
        case _:
            raise Malformed(f"{place} is {kind(form)}, expected a dtype and a shape")
    count = math.prod(shape)
    if start + count * dtype.itemsize > len(block):
        raise Malformed(f"{place} is of {name}{shape}, which is more than was sent")
    try:
        if not count:
            return np.empty(shape, dtype)
        flat = np.frombuffer(block, dtype, count, start)
        return flat.reshape(shape).copy()
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        raise Malformed(f"{place} is of {name}, rank {len(shape)}: {error}") from None


def _dtype(place: str, name: str) -> Any:
    import ml_dtypes
    import numpy as np

    if name[:1] in _ORDERS and name[1:2] in _NUMPY and name[2:].isdecimal() and len(name) < 6:
        try:
            return np.dtype(name)
        except TypeError:
            raise Malformed(f"{place} is of {name!r}, which is no dtype") from None
    found = getattr(ml_dtypes, name, None) if name.isidentifier() else None
    if isinstance(found, type) and issubclass(found, np.generic):
        return np.dtype(found)
    raise Malformed(f"{place} is of {name[:40]!r}, which is no dtype")
