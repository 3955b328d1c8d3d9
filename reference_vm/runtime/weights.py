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
from typing import Any, Final, final

import numpy as np

from reference_vm.bytecode.executable import ConstantSlot, WeightFile
from reference_vm.diagnostics import CompileError, catalog
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import DTYPES

_DTYPES: Final[Mapping[str, str]] = MappingProxyType(
    {"BOOL": "bool", "BF16": "bf16", "F8_E4M3": "f8e4m3fn", "F8_E5M2": "f8e5m2"}
    | {name.upper(): name for name in DTYPES}
)


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
        except (_Refused, OSError, ValueError, KeyError, TypeError) as error:
            raise CompileError(
                catalog.bad_weights(weight.file, weight.key, str(error), slot.span)
            ) from error

    def _read(self, slot: ConstantSlot, weight: WeightFile) -> Any:
        content = self._path(weight.file).read_bytes()
        size = int.from_bytes(content[:8], "little")
        if size > len(content) - 8:
            raise _Refused("the file is truncated")
        header = json.loads(content[8 : 8 + size])
        if weight.key not in header:
            raise _Refused("the file has no such key")
        entry = header[weight.key]
        found = f"{_DTYPES.get(entry['dtype'], entry['dtype'])}{list(entry['shape'])}"
        expected = f"{slot.dtype}{list(slot.shape)}"
        if found != expected:
            raise _Refused(f"the file holds {found}, expected {expected}")
        start, end = entry["data_offsets"]
        data = content[8 + size :][start:end]
        if len(data) != math.prod(slot.shape) * slot.dtype.itemsize:
            raise _Refused("the file is truncated")
        return np.frombuffer(data, to_numpy(slot.dtype)).reshape(slot.shape)

    def _path(self, file: str) -> Path:
        if self.folder is None:
            raise _Refused("the module was not read from a folder; say weights=FOLDER")
        path = (self.folder / file).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise _Refused("the path leaves the module's folder")
        return path
