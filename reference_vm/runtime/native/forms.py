"""One address for each dtype and shape: two values have the same if one word is equal.

Forms lie where the loop finds them too (`records`), and makes them; what they are is read there.
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias, final

import numpy as np

from reference_vm.devices.host_memory import POISON
from reference_vm.jit.words import load, store
from reference_vm.runtime.native.heap import Heap, read, write
from reference_vm.runtime.native.layout import WORD, Form, State
from reference_vm.runtime.native.records import find, link
from reference_vm.runtime.native.room import Room
from reference_vm.runtime.sizes import ADDRESSES
from reference_vm.types import DTYPES, DType
from reference_vm.types.arrays import to_numpy

Dims: TypeAlias = tuple[int, ...]

SHAPE: Final = -1
"""The kind of a shape value. Those of dtypes begin with 1, and 0 is none."""

_DTYPES: Final = tuple(DTYPES.values())

KINDS: Final = {dtype: number for number, dtype in enumerate(_DTYPES, 1)}
"""The kind of a tensor of each dtype; that of a scalar which was read is negative."""


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

    @property
    def kind(self) -> int:
        if self.dtype is None:
            return SHAPE
        return SHAPE - KINDS[self.dtype] if self.scalar else KINDS[self.dtype]


@final
class Forms:
    """The forms that a session has met."""

    def __init__(self, state: int, room: Room) -> None:
        self._state = state
        self._room = room
        self._kinds = Heap()
        self._arrays = tuple(map(to_numpy, _DTYPES))
        store(state, State.KINDS, self._kinds.put(_about()))
        self._addresses: dict[Known, int] = {}
        self._known: dict[int, Known] = {}
        self._lasting: dict[int, Known] = {}
        self._heap = Heap()
        self._is_settled = False

    def settle(self) -> None:
        """Let all forms that were made so far stay when the others are forgotten."""
        self._is_settled = True

    def clear(self) -> None:
        """Forget the forms whose memory was given back with the room's."""
        self._known = dict(self._lasting)
        self._addresses = {known: address for address, known in self._lasting.items()}
        for address, known in self._lasting.items():
            self._link(address, known)

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
        found = self._known.get(address)
        if found is None:  # the loop made it
            kind, rank = read(address + Form.KIND * WORD, 2)
            dims = tuple(read(address + Form.DIMS * WORD, rank))
            found = Known(None if kind == SHAPE else _DTYPES[kind - 1], dims)
            self._known[address], self._addresses[found] = found, address
        return found

    def array(self, address: int) -> tuple[int, Dims, Any]:
        """Return bytes, dims and NumPy's dtype of a tensor, by its form."""
        words = read(address, Form.DIMS)
        dims = tuple(read(address + Form.DIMS * WORD, words[Form.RANK]))
        return words[Form.NBYTES], dims, self._arrays[words[Form.KIND] - 1]

    def _of(self, known: Known) -> int:
        found = self._addresses.get(known)
        return self._found(known) if found is None else found

    def _found(self, known: Known) -> int:
        """Return a form that was not asked for before; the loop may have made it."""
        itemsize = 1 if known.dtype is None else known.dtype.itemsize
        if any(not -ADDRESSES <= d < ADDRESSES for d in known.dims):
            return 0
        if known.dtype is not None:
            spans = math.prod(d for d in known.dims if d) * itemsize
            if any(d < 0 for d in known.dims) or spans >= ADDRESSES:
                return 0
        key = (ctypes.c_int64 * (2 + len(known.dims)))(known.kind, len(known.dims), *known.dims)
        table = load(self._state, State.FORMS)
        address = find(table, ctypes.addressof(key), len(key), Form.KIND) or self._made(known)
        self._addresses[known], self._known[address] = address, known
        return address

    def _made(self, known: Known) -> int:
        dims = known.dims
        words = [0, known.nbytes, _poison(known.dtype), self._scalar_of(known)]
        words += [int(known.scalar and not known.is_float), known.kind, len(dims), *dims]
        if self._is_settled and dims:
            address = self._room.take(len(words))
        else:
            address = self._heap.take(len(words))
            self._lasting[address] = known
        write(address, words)
        self._link(address, known)
        return address

    def _link(self, address: int, known: Known) -> None:
        link(load(self._state, State.FORMS), address, 2 + len(known.dims), Form.KIND)

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


@cache
def _about() -> tuple[int, ...]:
    """Return what the loop knows of the kinds, from 0: of none."""
    pairs = ((d.itemsize, _poison(d)) for d in _DTYPES)
    return (0, 0, *(word for pair in pairs for word in pair))
