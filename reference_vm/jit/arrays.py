"""Where NumPy and Python keep the fields of arrays and tuples, in bytes from the object.

The places are part of their binary interfaces. Machine code that reads them asks `as_expected`
first, and does without where they are others.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Final

import numpy as np

TYPE: Final = 8
"""Of any object."""

DATA: Final = 16
RANK: Final = 24
DIMS: Final = 32
STRIDES: Final = 40
DESCRIPTION: Final = 56
"""Of an array: the dtype object."""

FLAGS: Final = 64
PLAIN: Final = 0x1 | 0x100
"""The flags of an array that is aligned and in row-major order."""

ITEMS: Final = 24
"""Of a tuple."""


@cache
def as_expected() -> bool:
    """Whether the fields of this process's arrays and tuples are where this module says."""
    probe = np.zeros((2, 3, 5), dtype=np.int64)
    arguments, base = (probe, None), id(probe)
    return (
        ctypes.sizeof(ctypes.c_void_p) == 8
        and _word(base + TYPE) == id(np.ndarray)
        and _word(base + DATA) == probe.ctypes.data
        and _int(base + RANK) == 3
        and _three(_word(base + DIMS)) == probe.shape
        and _three(_word(base + STRIDES)) == probe.strides
        and _word(base + DESCRIPTION) == id(probe.dtype)
        and _int(base + FLAGS) & PLAIN == PLAIN
        and not _int(id(probe.T) + FLAGS) & 1
        and _word(id(arguments) + ITEMS) == base
    )


def _word(at: int) -> int:
    return ctypes.c_ssize_t.from_address(at).value


def _int(at: int) -> int:
    return ctypes.c_int.from_address(at).value


def _three(at: int) -> tuple[int, ...]:
    return tuple(_word(at + 8 * i) for i in range(3))
