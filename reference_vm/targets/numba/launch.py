"""Calls of kernels from Python, with arrays given as Python objects.

Asking an array for its address costs a microsecond. So a small compiled function takes the arrays
themselves, reads their addresses where NumPy keeps them, which a probe finds out, and writes them
to the argument block.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, final

import numpy as np

from reference_vm.targets.numba.machine import Machine

Launch: TypeAlias = Callable[..., None]
"""``launch(kernel, block, low, high, *arrays)``; holds the interpreter's lock throughout."""


@final
@dataclass
class Launcher:
    """Makes the functions that call kernels of any number of arrays."""

    machine: Machine
    _made: dict[int, Launch] = field(default_factory=dict)
    _offset: int | None = None

    def for_arrays(self, count: int) -> Launch:
        """Return the function that calls a kernel of ``count`` arrays."""
        if count not in self._made:
            if self._offset is None:
                self._offset = _address_offset()
            self._made[count] = self._compile(count, self._offset)
        return self._made[count]

    def _compile(self, count: int, offset: int) -> Launch:
        address = self.machine.glue_address(_text(count, offset))
        kinds = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]
        prototype = ctypes.PYFUNCTYPE(None, *kinds, *[ctypes.py_object] * count)
        return prototype(address)


def _address_offset() -> int:
    """Return at which byte of an array object its data's address stands."""
    probe = np.zeros(3, dtype=np.int64)
    word = ctypes.sizeof(ctypes.c_void_p)
    for offset in range(word, 8 * word, word):
        if ctypes.c_size_t.from_address(id(probe) + offset).value == probe.ctypes.data:
            return offset
    raise RuntimeError("this NumPy keeps the addresses of arrays in an unknown place")


def _text(count: int, offset: int) -> str:
    arrays = "".join(f", ptr %a{i}" for i in range(count))
    lines = [f"define void @kernel(ptr %entry, ptr %block, i64 %low, i64 %high{arrays}) {{"]
    for i in range(count):
        lines += [
            f"  %p{i} = getelementptr i8, ptr %a{i}, i64 {offset}",
            f"  %d{i} = load i64, ptr %p{i}",
            f"  %w{i} = getelementptr i64, ptr %block, i64 {i}",
            f"  store i64 %d{i}, ptr %w{i}",
        ]
    return "\n".join(
        [*lines, "  call void %entry(ptr %block, i64 %low, i64 %high)", "  ret void", "}", ""]
    )


def addresses(arrays: Sequence[Any]) -> list[int]:
    """Return where the data of arrays lie."""
    return [x.ctypes.data for x in arrays]
