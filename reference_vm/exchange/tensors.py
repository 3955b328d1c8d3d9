"""ONNX tensors to constants: `TensorProto`, its many encodings, and external data.

Sizes are checked against the bytes that are there before anything is allocated, so that a model
of a few bytes cannot ask for terabytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from onnx import TensorProto, numpy_helper

from reference_vm.exchange.element_types import element_type_name, from_element_type
from reference_vm.exchange.refusals import external_data, invalid, unsupported_type
from reference_vm.ir.nodes import Constant
from reference_vm.types import DType
from reference_vm.types.arrays import to_numpy

_INT32_FIELD: Final = ("i4", "u4", "i8", "u8", "i16", "u16", "i32", "bool", "f16", "bf16")
_FLOAT8: Final = ("f8e4m3fn", "f8e5m2")
_DATA_FIELDS: Final = (
    *("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data"),
)
_FIELDS: Final = {"f32": "float_data", "f64": "double_data", "i64": "int64_data"}


def to_constant(tensor: TensorProto, where: str, folder: Path | None = None) -> Constant:
    """Return ``tensor`` as a constant.

    ``folder`` is where external data may lie; without one, external data is refused.

    Raises:
        CompileError: ``unsupported-type`` for strings and the like, ``invalid-model`` when sizes
            and data disagree, ``external-data`` when the file is missing or not for us to read.
    """
    where = f'{where}: tensor "{tensor.name}"' if tensor.name else where
    dtype = from_element_type(tensor.data_type)
    if dtype is None:
        raise unsupported_type(where, element_type_name(tensor.data_type))
    if tensor.HasField("segment"):
        raise invalid(where, "is stored in segments, which ONNX never put to use")
    _check_one_field(tensor, where)
    shape = _shape(tensor, where)
    count = math.prod(shape)
    if tensor.data_location == TensorProto.EXTERNAL:
        raw = _read_external(tensor, _packed_size(dtype, count), where, folder)
        return Constant(dtype, shape, _unpacked(dtype, raw, count))
    if tensor.HasField("raw_data"):
        return Constant(dtype, shape, _raw(tensor.raw_data, dtype, count, where))
    return Constant(dtype, shape, _field(tensor, dtype, count, where))


def _check_one_field(tensor: TensorProto, where: str) -> None:
    """Check that the data stands in one place; which one, is for others to check."""
    found = [name for name in (*_DATA_FIELDS, "raw_data") if len(getattr(tensor, name))]
    if tensor.data_location == TensorProto.EXTERNAL:
        found.append("external_data")
    if len(found) > 1:
        raise invalid(where, f"has data in {' and in '.join(found)}, expected one of them")


def _shape(tensor: TensorProto, where: str) -> tuple[int, ...]:
    shape = tuple(tensor.dims)
    if any(dim < 0 for dim in shape):
        raise invalid(where, f"has the dims {list(shape)}, expected none below 0")
    return shape


def _packed_size(dtype: DType, count: int) -> int:
    return (count * dtype.bits + 7) // 8


def _raw(raw: bytes, dtype: DType, count: int, where: str) -> bytes:
    expected = _packed_size(dtype, count)
    if len(raw) != expected:
        raise invalid(where, f"has {len(raw)} bytes of data, expected {expected}")
    return _unpacked(dtype, raw, count)


def _unpacked(dtype: DType, raw: bytes, count: int) -> bytes:
    """Return one byte for each element of a 4-bit dtype, and other data as it is."""
    if dtype.is_bool:
        truths: bytes = (np.frombuffer(raw, np.uint8) != 0).tobytes()
        return truths
    if dtype.bits >= 8:
        return raw
    packed = np.frombuffer(raw, np.uint8)
    nibbles = np.stack((packed & 15, packed >> 4), axis=-1).reshape(-1)[:count]
    if dtype.name == "i4":
        nibbles = ((nibbles ^ 8) - 8).astype(np.int8)
    return nibbles.astype(to_numpy(dtype)).tobytes()


def _field(tensor: TensorProto, dtype: DType, count: int, where: str) -> bytes:
    name = _field_name(dtype)
    found = len(getattr(tensor, name))
    expected = (count + 1) // 2 if dtype.bits < 8 else count
    if found != expected:
        raise invalid(where, f"has {found} elements in {name}, expected {expected}")
    if count == 0:
        return b""
    _check_range(getattr(tensor, name), name, dtype, where)
    try:
        array = numpy_helper.to_array(tensor)
    except (ValueError, OverflowError, TypeError) as error:
        raise invalid(where, f"has data in {name} that {dtype} cannot hold ({error})") from error
    return np.ascontiguousarray(array.astype(to_numpy(dtype), copy=False)).tobytes()


def _check_range(found: Sequence[int], name: str, dtype: DType, where: str) -> None:
    """Check that what a field of integers holds fits elements of ``dtype``, or their bits."""
    if name not in ("int32_data", "uint64_data"):
        return
    if dtype.is_bool:
        least, most = 0, 1
    elif dtype.is_integer and dtype.bits >= 8:
        least, most = dtype.minimum, dtype.maximum
    else:
        least, most = 0, (1 << max(dtype.bits, 8)) - 1  # the bits of a float, or of two integers
    for value in (min(found), max(found)):
        if not least <= value <= most:
            raise invalid(where, f"has {value} in {name}, expected {least} to {most} for {dtype}")


def _field_name(dtype: DType) -> str:
    if dtype.name in _INT32_FIELD or dtype.name in _FLOAT8:
        return "int32_data"
    return _FIELDS.get(dtype.name, "uint64_data")


def _read_external(tensor: TensorProto, size: int, where: str, folder: Path | None) -> bytes:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    path = _external_path(entries.get("location", ""), where, folder)
    offset = _number(entries.get("offset", "0"), "offset", where)
    length = _number(entries.get("length", str(size)), "length", where)
    if length != size:
        raise invalid(where, f"has {length} bytes of external data, expected {size}")
    try:
        available = path.stat().st_size
        if offset + size > available:
            message = f"reads to byte {offset + size} of {path.name}, which has {available}"
            raise external_data(where, message)
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(size)
    except OSError as error:
        raise external_data(where, f"cannot read {path.name}: {error.strerror}") from error


def _external_path(location: str, where: str, folder: Path | None) -> Path:
    if folder is None:
        raise external_data(where, "has external data, but the model came without a folder")
    if not location or "\0" in location:
        raise external_data(where, f"has no usable location: {location!r}")
    root = folder.resolve()
    path = (root / location).resolve()
    if not path.is_relative_to(root):
        raise external_data(where, f"location {location!r} leaves the model's folder")
    if not path.is_file():
        raise external_data(where, f"location {location!r} is not a file in the model's folder")
    return path


def _number(text: str, key: str, where: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise external_data(where, f"{key} is {text!r}, expected a count of bytes")
    return int(text)
