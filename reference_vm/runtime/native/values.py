"""Taking values between slots of the loop and Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np

from reference_vm.devices.api import Buffer, Tensor
from reference_vm.jit.words import load
from reference_vm.runtime.native.forms import Forms
from reference_vm.runtime.native.heap import Words, read, write
from reference_vm.runtime.native.layout import (
    OBJECT,
    SCALAR,
    SLOT,
    WORD,
    BufferEntry,
)
from reference_vm.runtime.native.memory import entry_of
from reference_vm.runtime.native.pool import HostPool
from reference_vm.runtime.native.translation import Tree, count
from reference_vm.types.arrays import to_numpy

_FEW: Final = 1024
"""Objects that are not looked through."""


@final
class Values:
    """Reads and writes slots; what only Python understands is kept here, and numbered."""

    def __init__(self, state: int, forms: Forms, pool: HostPool) -> None:
        self._state = state
        self._forms = forms
        self._pool = pool
        self.objects: list[Any] = []
        self._free: list[int] = []
        self._limit = _FEW

    def get(self, address: int, tree: Tree) -> Any:
        """Return the value in the slots at an address."""
        if tree is None:
            return self._slot(address)
        parts: list[Any] = []
        for item in tree:
            parts.append(self.get(address, item))
            address += count(item) * SLOT * WORD
        return tuple(parts)

    def put(self, address: int, tree: Tree, value: Any) -> None:
        """Let the slots at an address hold a value."""
        write(address, self.words(tree, value))

    def words(self, tree: Tree, value: Any) -> list[int]:
        """Return the words of the slots for a value."""
        if tree is None:
            return self._words(value)
        if value is None:
            return [0] * (count(tree) * SLOT)
        return [w for t, v in zip(tree, value, strict=True) for w in self.words(t, v)]

    def _slot(self, address: int) -> Any:
        place, reference, form = read(address, SLOT)
        if reference == OBJECT:
            return self.objects[place]
        if form == 0:
            return None if reference == 0 else self._pool.buffer(reference)
        known = self._forms[form]
        if reference == SCALAR:
            assert known.dtype is not None
            bits = np.array([place], dtype=np.int64).view(np.uint8)[: known.dtype.itemsize]
            return bits.view(to_numpy(known.dtype)).reshape(())
        if known.dtype is None:
            return known.dims
        buffer = self._pool.buffer(reference)
        entry = entry_of(self._state, reference)
        offset = place - load(entry, BufferEntry.ADDRESS) if entry else 0
        return Tensor(buffer, offset, known.dtype, known.dims, known.nbytes)

    def _words(self, value: Any) -> list[int]:
        if value is None:
            return [0, 0, 0]
        if isinstance(value, Tensor) and value.buffer.device is self._pool.host:
            return self._tensor(value)
        if isinstance(value, Buffer) and value.device is self._pool.host:
            reference = self._pool.reference(value)
            return [self._address(reference), reference, 0]
        if isinstance(value, tuple) and all(type(d) is int for d in value):
            form = self._forms.shape(value)
            if form:
                return [0, 0, form]
        return [self._numbered(value), OBJECT, 0]

    def _numbered(self, value: Any) -> int:
        if self._free:
            number = self._free.pop()
            self.objects[number] = value
            return number
        self.objects.append(value)
        return len(self.objects) - 1

    @property
    def are_many(self) -> bool:
        """Whether it is time to look which objects no slot holds any more."""
        return len(self.objects) >= self._limit and not self._free

    def collect(self, stack: Words) -> None:
        """Forget the objects that no slot of the stack holds.

        A word that only looks like a slot's may keep one alive.
        """
        numbers = stack[np.flatnonzero(stack[1:] == OBJECT)]
        held = set(numbers.tolist())
        for number in range(len(self.objects)):
            if number not in held:
                self.objects[number] = None
                self._free.append(number)
        self._limit = max(_FEW, 2 * len(held))

    def clear(self) -> None:
        """Forget all objects."""
        self.objects.clear()
        self._free.clear()
        self._limit = _FEW

    def _tensor(self, tensor: Tensor) -> list[int]:
        reference = self._pool.reference(tensor.buffer)
        form = self._forms.tensor(tensor.dtype, tensor.shape)
        return [self._address(reference) + tensor.offset, reference, form]

    def _address(self, reference: int) -> int:
        entry = entry_of(self._state, reference)
        return load(entry, BufferEntry.ADDRESS) if entry else 0


@final
class Registers:
    """A frame's registers as the interpreter's steps see them."""

    def __init__(self, values: Values, frame: int, slots: Sequence[int], trees: Sequence[Tree]):
        self._values = values
        self._frame = frame
        self._slots = slots
        self._trees = trees
        self.written: dict[int, Any] = {}

    def __getitem__(self, register: int) -> Any:
        place = self._frame + self._slots[register] * WORD
        return self._values.get(place, self._trees[register])

    def __setitem__(self, register: int, value: Any) -> None:
        place = self._frame + self._slots[register] * WORD
        self._values.put(place, self._trees[register], value)
        self.written[register] = value


__all__ = ["Registers", "Values"]
