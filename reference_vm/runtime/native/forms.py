"""One address for each dtype and shape: two values have the same if one word is equal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np

from reference_vm.devices.host_memory import POISON
from reference_vm.runtime.native.heap import Heap
from reference_vm.runtime.sizes import ADDRESSES
from reference_vm.types import DType
from reference_vm.types.arrays import to_numpy

Dims: TypeAlias = tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class Known:
    """What a form is."""

    dtype: DType | None
    """``None``: a shape value."""

    dims: Dims
    scalar: bool = False
    """Whether it is a value that was read, not a tensor."""

    @property
    def is_float(self) -> bool:
        return self.dtype is not None and self.dtype.is_float

    @property
    def nbytes(self) -> int:
        return 0 if self.dtype is None else math.prod(self.dims) * self.dtype.itemsize


@final
class Forms:
    """The forms that a session has met."""

    def __init__(self) -> None:
        self._heap = Heap()
        self._addresses: dict[Known, int] = {}
        self._known: dict[int, Known] = {}

    def tensor(self, dtype: DType, dims: Dims) -> int:
        """Return the form of a tensor; 0 if no such tensor can be."""
        return self._of(Known(dtype, dims))

    def shape(self, dims: Dims) -> int:
        """Return the form of a shape value; 0 if its dims are no words."""
        return self._of(Known(None, dims))

    def scalar(self, dtype: DType) -> int:
        """Return the form of a scalar that was read."""
        return self._of(Known(dtype, (), True))

    def __getitem__(self, address: int) -> Known:
        """Return what a form is."""
        return self._known[address]

    def _of(self, known: Known) -> int:
        found = self._addresses.get(known)
        return self._made(known) if found is None else found

    def _made(self, known: Known) -> int:
        dims = known.dims
        itemsize = 1 if known.dtype is None else known.dtype.itemsize
        if any(not -ADDRESSES <= d < ADDRESSES for d in dims):
            return 0
        if known.dtype is not None:
            spans = math.prod(d for d in dims if d) * itemsize
            if any(d < 0 for d in dims) or spans >= ADDRESSES:
                return 0
        words = [len(self._known), known.nbytes, _poison(known.dtype), len(dims)]
        words += [self._scalar_of(known), int(known.scalar and not known.is_float)]
        address = self._heap.put([*words, *dims])
        self._addresses[known], self._known[address] = address, known
        return address

    def _scalar_of(self, known: Known) -> int:
        is_one = known.dtype is not None and known.dims == () and not known.scalar
        return self.scalar(known.dtype) if is_one and known.dtype else 0


def _poison(dtype: DType | None) -> int:
    """Return eight bytes that make a tensor unreadable, as `host_memory.poison` does."""
    if dtype is None:
        return 0
    if dtype.is_integer:
        return int.from_bytes(bytes([POISON]) * 8, "little")
    if not dtype.is_float:
        return 0
    elements = np.full(8 // dtype.itemsize, np.nan, to_numpy(dtype))
    return int(elements.view(np.int64)[0])
