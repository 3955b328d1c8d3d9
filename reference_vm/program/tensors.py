"""Tensors by name as the bytes of a safetensors file, and back.

An 8-byte length, a JSON header that gives dtype, shape and place of each tensor, and the data, one
tensor after the other without gaps, in the order of the header.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, final

from reference_vm.types import DType

_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {"bool": "BOOL", "bf16": "BF16", "f8e4m3fn": "F8_E4M3", "f8e5m2": "F8_E5M2"}
    | {"i4": "I8", "u4": "U8"}
)
"""What safetensors calls a dtype, where it is not our name in capitals. Elements of 4 bits take a
byte each."""

LARGEST_HEADER: Final = 100_000_000
"""Bytes; the format's own limit."""

_ALIGNED: Final = 8


class TensorsError(Exception):
    """The bytes are no tensors as they are expected."""


@final
@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor."""

    dtype: DType
    shape: tuple[int, ...]
    data: bytes | memoryview


def dump(tensors: Mapping[str, Stored]) -> Iterator[bytes | memoryview]:
    """Yield the parts of a file of these tensors."""
    header: dict[str, Any] = {}
    end = 0
    for name, tensor in tensors.items():
        start, end = end, end + len(tensor.data)
        header[name] = {
            "dtype": _name(tensor.dtype),
            "shape": list(tensor.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNED)
    yield len(text).to_bytes(8, "little")
    yield text
    for tensor in tensors.values():
        yield tensor.data


def _name(dtype: DType) -> str:
    return _NAMES.get(dtype.name, dtype.name.upper())


def parse(
    content: bytes, expected: Mapping[str, tuple[DType, tuple[int, ...]]]
) -> dict[str, memoryview]:
    """Return the elements of each tensor that is expected; the file has these and no other.

    Raises:
        TensorsError: It has others, or is not of the form that `dump` makes.
    """
    header, begin = _header(content)
    if list(header) != list(expected):
        raise TensorsError(f"found {len(header)} tensors, expected the {len(expected)} of the code")
    found: dict[str, memoryview] = {}
    end = 0
    for name, (dtype, shape) in expected.items():
        start, end = end, end + math.prod(shape) * dtype.itemsize
        wanted = {"dtype": _name(dtype), "shape": list(shape), "data_offsets": [start, end]}
        if not _same(header[name], wanted):
            raise TensorsError(f"{name} is not {dtype}{list(shape)} at {start} to {end}")
        if begin + end > len(content):
            raise TensorsError("the file is truncated")
        found[name] = memoryview(content)[begin + start : begin + end]
    if begin + end != len(content):
        raise TensorsError(f"found {len(content) - begin} bytes of data, expected {end}")
    return found


def _header(content: bytes) -> tuple[dict[str, Any], int]:
    size = int.from_bytes(content[:8], "little")
    if len(content) < 8 or size > len(content) - 8:
        raise TensorsError("the file is truncated")
    if size > LARGEST_HEADER:
        raise TensorsError(f"the header has {size} bytes, expected {LARGEST_HEADER} at most")
    try:
        header = json.loads(content[8 : 8 + size])
    except (ValueError, RecursionError) as error:
        raise TensorsError("the header is not JSON") from error
    if not isinstance(header, dict):
        raise TensorsError("the header is not an object of tensors")
    return header, 8 + size


def _same(found: Any, wanted: Mapping[str, Any]) -> bool:
    """Whether two entries are written alike: ``true`` is not 1, nor 1.0."""
    return json.dumps(found) == json.dumps(wanted)
