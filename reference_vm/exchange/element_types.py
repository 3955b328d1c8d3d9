"""ONNX's element types and ours."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from onnx import TensorProto

from reference_vm.types import DTYPES, DType

_NAMES: Final = {
    TensorProto.BOOL: "bool",
    TensorProto.INT4: "i4",
    TensorProto.INT8: "i8",
    TensorProto.INT16: "i16",
    TensorProto.INT32: "i32",
    TensorProto.INT64: "i64",
    TensorProto.UINT4: "u4",
    TensorProto.UINT8: "u8",
    TensorProto.UINT16: "u16",
    TensorProto.UINT32: "u32",
    TensorProto.UINT64: "u64",
    TensorProto.FLOAT16: "f16",
    TensorProto.BFLOAT16: "bf16",
    TensorProto.FLOAT: "f32",
    TensorProto.DOUBLE: "f64",
    TensorProto.FLOAT8E4M3FN: "f8e4m3fn",
    TensorProto.FLOAT8E5M2: "f8e5m2",
}

_OURS: Final[Mapping[int, DType]] = MappingProxyType({k: DTYPES[v] for k, v in _NAMES.items()})
_THEIRS: Final[Mapping[DType, int]] = MappingProxyType({v: k for k, v in _OURS.items()})


def from_element_type(code: int) -> DType | None:
    """Return our dtype for a value of ``TensorProto.DataType``; ``None`` if we have none."""
    return _OURS.get(code)


def to_element_type(dtype: DType) -> int:
    """Return the value of ``TensorProto.DataType`` for our dtype; all have one."""
    return _THEIRS[dtype]


def element_type_name(code: int) -> str:
    """Return what ONNX calls an element type, for messages: ``STRING``; a number if unknown."""
    for name, number in TensorProto.DataType.items():
        if number == code:
            return str(name)
    return f"element type {code}"
