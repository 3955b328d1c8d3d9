"""How the right factor of a matrix product lies in memory while it is multiplied: in panels.

A panel is some columns of the matrix, as many as the kernel keeps sums of in registers, row after
row; the last one is filled up with zeros. So the kernel reads the factor in order. One that is
known when a program is loaded is put into panels once, and only that form is kept.
"""

from __future__ import annotations

import importlib.util
from typing import Any, Final

import numpy as np

from reference_vm.types import DType

VECTORS: Final = 3
"""Vectors of each row of sums that a tile of the product holds in registers."""


def vector_bytes(features: frozenset[str]) -> int:
    """Return the bytes of the widest vectors of a processor that has these features."""
    if {"avx512f", "avx512bw", "avx512vl"} <= features:
        return 64
    return 32 if {"avx2", "fma"} <= features else 16


def panel_width(features: frozenset[str], sum_bytes: int) -> int:
    """Return the columns of a panel, for sums of so many bytes an element."""
    return VECTORS * (vector_bytes(features) // sum_bytes)


def host_width(dtype: DType) -> int:
    """Return the columns of a panel of elements of a float dtype, on this machine."""
    features: frozenset[str] = frozenset()
    if importlib.util.find_spec("llvmlite") is not None:
        from reference_vm.jit.machine import shared_machine

        features = shared_machine().features
    return panel_width(features, max(dtype.itemsize, 4))


def packed_shape(rows: int, columns: int, width: int) -> tuple[int, int, int]:
    """Return the dims of a matrix in panels: panels, rows, columns of a panel."""
    return (-(-columns // width), rows, width)


def pack(matrix: Any, width: int) -> Any:
    """Return a matrix ``[rows, columns]`` in panels, a fresh array of `packed_shape`."""
    rows, columns = matrix.shape
    panels, _, _ = packed_shape(rows, columns, width)
    result = np.zeros((panels, rows, width), matrix.dtype)
    whole = columns // width
    if whole:
        split = matrix[:, : whole * width].reshape(rows, whole, width)
        result[:whole] = split.transpose(1, 0, 2)
    if panels > whole:
        result[whole, :, : columns - whole * width] = matrix[:, whole * width :]
    return result


def unpack(panels: Any, columns: int) -> Any:
    """Return the matrix that lies in ``panels``, in order."""
    count, rows, width = panels.shape
    return panels.transpose(1, 0, 2).reshape(rows, count * width)[:, :columns].copy()
