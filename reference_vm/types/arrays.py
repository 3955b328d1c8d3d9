"""Dtypes as NumPy knows them. The only module of `types` that loads NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import ml_dtypes
import numpy as np
import numpy.typing as npt

from reference_vm.types.dtype import DTYPES, DType

NUMPY: Final[Mapping[str, np.dtype[Any]]] = MappingProxyType(
    {
        "bool": np.dtype(np.bool_),
        "i4": np.dtype(ml_dtypes.int4),
        "i8": np.dtype(np.int8),
        "i16": np.dtype(np.int16),
        "i32": np.dtype(np.int32),
        "i64": np.dtype(np.int64),
        "u4": np.dtype(ml_dtypes.uint4),
        "u8": np.dtype(np.uint8),
        "u16": np.dtype(np.uint16),
        "u32": np.dtype(np.uint32),
        "u64": np.dtype(np.uint64),
        "f16": np.dtype(np.float16),
        "bf16": np.dtype(ml_dtypes.bfloat16),
        "f32": np.dtype(np.float32),
        "f64": np.dtype(np.float64),
        "f8e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
        "f8e5m2": np.dtype(ml_dtypes.float8_e5m2),
    }
)

_OURS: Final = {numpy: DTYPES[name] for name, numpy in NUMPY.items()}


def to_numpy(dtype: DType) -> np.dtype[Any]:
    """Return NumPy's dtype (or that of ml_dtypes) for ``dtype``."""
    return NUMPY[dtype.name]


def from_numpy(dtype: npt.DTypeLike) -> DType:
    """Return our dtype for NumPy's.

    Raises:
        TypeError: We have none, as for strings and complex numbers.
    """
    found = _OURS.get(np.dtype(dtype).newbyteorder("="))
    if found is None:
        raise TypeError(f"no dtype of the language matches NumPy's {np.dtype(dtype)}")
    return found
