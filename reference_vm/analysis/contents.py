"""What is known at compile time of the elements of small integer tensors and shape values.

After ``%s = shape_of(%x)`` with ``%x: f32[n, 4]`` the content of ``%s`` is ``(n, 4)``. It lets
chains that compute shapes keep symbolic dims.
"""

from __future__ import annotations

from typing import Final

from reference_vm.ir.nodes import Constant
from reference_vm.ops.definition import Content
from reference_vm.types.dtype import Kind

LIMIT: Final = 64
"""The most elements that are tracked."""


def of_constant(constant: Constant) -> Content | None:
    """Return the elements of an integer or bool constant of rank 0 or 1, if they are few."""
    dtype = constant.dtype
    if dtype.is_float or len(constant.shape) > 1:
        return None
    size, data = dtype.itemsize, constant.data
    if len(data) > LIMIT * size:
        return None
    signed = dtype.kind is Kind.SIGNED
    return tuple(
        int.from_bytes(data[i : i + size], "little", signed=signed)
        for i in range(0, len(data), size)
    )


__all__ = ["LIMIT", "of_constant"]
