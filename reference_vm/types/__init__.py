"""What both the compiler and the runtime name: dtypes, dims, types, devices, attributes."""

from reference_vm.types.attrs import NO_ATTRS, Attrs, AttrValue
from reference_vm.types.device import GLOBAL_SCOPE, HOST, DeviceMap, DeviceName, VirtualDevice
from reference_vm.types.dim import UNKNOWN, Dim, Poly, Shape, Unknown
from reference_vm.types.dtype import DTYPES, DType
from reference_vm.types.types import (
    AdtType,
    FunctionType,
    ShapeType,
    TensorType,
    TupleType,
    Type,
    leaves,
    map_tensors,
    substitute_dims,
    substitute_params,
    tensors,
)

__all__ = [
    "DTYPES",
    "GLOBAL_SCOPE",
    "HOST",
    "NO_ATTRS",
    "UNKNOWN",
    "AdtType",
    "AttrValue",
    "Attrs",
    "DType",
    "DeviceMap",
    "DeviceName",
    "Dim",
    "FunctionType",
    "Poly",
    "Shape",
    "ShapeType",
    "TensorType",
    "TupleType",
    "Type",
    "Unknown",
    "VirtualDevice",
    "leaves",
    "map_tensors",
    "substitute_dims",
    "substitute_params",
    "tensors",
]
