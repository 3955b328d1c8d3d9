"""Calls of kernels from Python, at a fraction of what `ctypes` costs for each argument.

A small compiled function takes one tuple: a *header* and the arrays themselves. It compares the
arrays with the shapes and strides that the header was made for, reads their addresses where NumPy
keeps them, writes them to the kernel's argument block and calls the kernel. Nothing is allocated.

The header is an array of 64-bit words::

    kernel, block, low, high, number of arrays, then for each array: rank, dims, strides

The places of fields in NumPy's and Python's objects are part of their binary interfaces; a probe
makes sure of them, and without it kernels are called the slow way.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:  # it loads LLVM, which need not be installed
    from reference_vm.jit.machine import Machine

Launch: TypeAlias = Callable[[tuple[Any, ...]], int]
"""``launch((header, *arrays))``: 0 if the kernel ran, 1 if the arrays are not as in the header."""

_TYPE: Final = 8
"""Byte offsets: of an object's type, of an array's fields, and of a tuple's items."""

_DATA, _RANK, _DIMS, _STRIDES, _ITEMS = 16, 24, 32, 40, 24


def fast_launch(machine: Machine) -> Launch | None:
    """Return the function that calls kernels; ``None`` if objects are laid out in another way."""
    if not _as_expected():
        return None
    return ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object)(machine.glue_address(_text()))


def header(
    entry: int, block: int, low_high: tuple[int, int], arrays: Sequence[Any]
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the header for arrays of these shapes and strides."""
    words = [entry, block, *low_high, len(arrays)]
    for x in arrays:
        words += [x.ndim, *x.shape, *x.strides]
    return np.array(words, dtype=np.int64)


def _as_expected() -> bool:
    probe = np.zeros((2, 3, 5), dtype=np.int64)

    def word(at: int) -> int:
        return ctypes.c_ssize_t.from_address(at).value

    def three(at: int) -> tuple[int, ...]:
        return tuple(word(at + 8 * i) for i in range(3))

    arguments, base = (probe, None), id(probe)
    return (
        ctypes.sizeof(ctypes.c_void_p) == 8
        and word(base + _TYPE) == id(np.ndarray)
        and word(base + _DATA) == probe.ctypes.data
        and ctypes.c_int.from_address(base + _RANK).value == 3
        and three(word(base + _DIMS)) == probe.shape
        and three(word(base + _STRIDES)) == probe.strides
        and word(id(arguments) + _ITEMS) == base
    )


def _text() -> str:
    """The function in LLVM IR: a loop over the arrays around one over their axes."""
    return f"""
define i32 @kernel(ptr %arguments) nounwind {{
entry:
  %items = getelementptr i8, ptr %arguments, i64 {_ITEMS}
  %head = load ptr, ptr %items
  %head.data = getelementptr i8, ptr %head, i64 {_DATA}
  %header = load ptr, ptr %head.data
  %head.type = getelementptr i8, ptr %head, i64 {_TYPE}
  %type = load ptr, ptr %head.type
  %kernel = load ptr, ptr %header
  %block.place = getelementptr i64, ptr %header, i64 1
  %block = load ptr, ptr %block.place
  %low.place = getelementptr i64, ptr %header, i64 2
  %low = load i64, ptr %low.place
  %high.place = getelementptr i64, ptr %header, i64 3
  %high = load i64, ptr %high.place
  %count.place = getelementptr i64, ptr %header, i64 4
  %count = load i64, ptr %count.place
  %start = getelementptr i64, ptr %header, i64 5
  br label %arrays

arrays:
  %i = phi i64 [ 0, %entry ], [ %i.next, %fits ]
  %expected = phi ptr [ %start, %entry ], [ %expected.next, %fits ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %array, label %run

array:
  %i.next = add i64 %i, 1
  %item.place = getelementptr ptr, ptr %items, i64 %i.next
  %x = load ptr, ptr %item.place
  %x.type.place = getelementptr i8, ptr %x, i64 {_TYPE}
  %x.type = load ptr, ptr %x.type.place
  %is.array = icmp eq ptr %x.type, %type
  br i1 %is.array, label %ranked, label %differs

ranked:
  %rank.place = getelementptr i8, ptr %x, i64 {_RANK}
  %rank32 = load i32, ptr %rank.place
  %rank = sext i32 %rank32 to i64
  %rank.expected = load i64, ptr %expected
  %same.rank = icmp eq i64 %rank, %rank.expected
  br i1 %same.rank, label %measure, label %differs

measure:
  %dims.place = getelementptr i8, ptr %x, i64 {_DIMS}
  %dims = load ptr, ptr %dims.place
  %strides.place = getelementptr i8, ptr %x, i64 {_STRIDES}
  %strides = load ptr, ptr %strides.place
  %dims.expected = getelementptr i64, ptr %expected, i64 1
  %strides.expected = getelementptr i64, ptr %dims.expected, i64 %rank
  %expected.next = getelementptr i64, ptr %strides.expected, i64 %rank
  br label %axes

axes:
  %a = phi i64 [ 0, %measure ], [ %a.next, %axis ]
  %more.axes = icmp slt i64 %a, %rank
  br i1 %more.axes, label %axis, label %fits

axis:
  %a.next = add i64 %a, 1
  %d.place = getelementptr i64, ptr %dims, i64 %a
  %d = load i64, ptr %d.place
  %d.expected.place = getelementptr i64, ptr %dims.expected, i64 %a
  %d.expected = load i64, ptr %d.expected.place
  %s.place = getelementptr i64, ptr %strides, i64 %a
  %s = load i64, ptr %s.place
  %s.expected.place = getelementptr i64, ptr %strides.expected, i64 %a
  %s.expected = load i64, ptr %s.expected.place
  %d.xor = xor i64 %d, %d.expected
  %s.xor = xor i64 %s, %s.expected
  %any = or i64 %d.xor, %s.xor
  %same = icmp eq i64 %any, 0
  br i1 %same, label %axes, label %differs

fits:
  %data.place = getelementptr i8, ptr %x, i64 {_DATA}
  %data = load i64, ptr %data.place
  %word.place = getelementptr i64, ptr %block, i64 %i
  store i64 %data, ptr %word.place
  br label %arrays

run:
  call void %kernel(ptr %block, i64 %low, i64 %high)
  ret i32 0

differs:
  ret i32 1
}}
"""
