"""Weights files beside a module: safetensors, read by name.

A file is an 8-byte length, a JSON header that gives dtype, shape and place of each tensor, and the
data. Paths are relative to the module's folder and may not leave it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Final, final

import numpy as np

from reference_vm.bytecode.executable import ConstantSlot, WeightFile
from reference_vm.diagnostics import CompileError, catalog
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import DTYPES

_DTYPES: Final[Mapping[str, str]] = MappingProxyType(
    {"BOOL": "bool", "BF16": "bf16", "F8_E4M3": "f8e4m3fn", "F8_E5M2": "f8e5m2"}
    | {name.upper(): name for name in DTYPES}
)

_LARGEST_HEADER: Final = 100_000_000
"""Bytes; the format's own limit."""

_TRUTHS: Final = bytes([0]) + bytes([1]) * 255
"""What each byte of a bool is: anything but 0 is true."""


class _Refused(Exception):
    """Why a weight cannot be read."""


@final
@dataclass(frozen=True)
class WeightsFolder:
    """Where a module's weights files lie."""

    folder: Path | None = None
    """``None`` for a module that was not read from a folder."""

    def read(self, slot: ConstantSlot, weight: WeightFile) -> Any:
        """Return the array that a constant's file holds, checked against its dtype and shape.

        Raises:
            CompileError: The file or the key is missing, damaged, or of another dtype or shape.
        """
        try:
            return self._read(slot, weight)
        except (_Refused, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise CompileError(
                catalog.bad_weights(weight.file, weight.key, reason or str(error), slot.span)
            ) from error

    def _read(self, slot: ConstantSlot, weight: WeightFile) -> Any:
        path = self._path(weight.file)
        with path.open("rb") as file:
            header, begin = _header(file, path.stat().st_size)
            if weight.key not in header:
                raise _Refused("the file has no such key")
            entry = _entry(header[weight.key])
            found = f"{_DTYPES.get(entry.dtype, entry.dtype)}{list(entry.shape)}"
            expected = f"{slot.dtype}{list(slot.shape)}"
            if found != expected:
                raise _Refused(f"the file holds {found}, expected {expected}")
            nbytes = math.prod(slot.shape) * slot.dtype.itemsize
            if entry.end - entry.start != nbytes:
                extent = f"{entry.start} to {entry.end}"
                raise _Refused(f"the data is at {extent}, expected {nbytes} bytes")
            if begin + entry.end > path.stat().st_size:
                raise _Refused("the file is truncated")
            file.seek(begin + entry.start)
            data = file.read(nbytes)
        if slot.dtype.is_bool:
            data = data.translate(_TRUTHS)
        return np.frombuffer(data, to_numpy(slot.dtype)).reshape(slot.shape)

    def _path(self, file: str) -> Path:
        if self.folder is None:
            raise _Refused("the module was not read from a folder; say weights=FOLDER")
        try:
            path = (self.folder / file).resolve()
        except (RuntimeError, ValueError) as error:
            raise _Refused("the path cannot be followed") from error
        if not path.is_relative_to(self.folder.resolve()):
            raise _Refused("the path leaves the module's folder")
        if path.exists() and not path.is_file():
            raise _Refused("the path is not a file")
        return path


@final
@dataclass(frozen=True)
class _Entry:
    """What a header says of one tensor."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


def _header(file: BinaryIO, available: int) -> tuple[dict[str, Any], int]:
    """Return the header and where the data begins."""
    size = int.from_bytes(file.read(8), "little")
    if size > available - 8:
        raise _Refused("the file is truncated")
    if size > _LARGEST_HEADER:
        raise _Refused(f"the header has {size} bytes, expected {_LARGEST_HEADER} at most")
    try:
        header = json.loads(file.read(size))
    except (ValueError, RecursionError) as error:
        raise _Refused("the header is not JSON") from error
    if not isinstance(header, dict):
        raise _Refused("the header is not an object of tensors")
    return header, 8 + size


def _entry(found: Any) -> _Entry:
    fields = found if isinstance(found, dict) else {}
    dtype: object = fields.get("dtype")
    shape, offsets = _counts(fields.get("shape")), _counts(fields.get("data_offsets"))
    if not isinstance(dtype, str) or shape is None or offsets is None:
        raise _Refused("the header does not say dtype, shape and data_offsets of the tensor")
    if len(offsets) != 2 or offsets[0] > offsets[1]:
        raise _Refused(f"the header has data_offsets {list(offsets)}, expected a start and an end")
    return _Entry(dtype, shape, *offsets)


def _counts(value: Any) -> tuple[int, ...] | None:
    whole = isinstance(value, list) and all(type(v) is int and v >= 0 for v in value)
    return tuple(value) if whole else None
