"""Taking values between slots of the loop and Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np

from reference_vm.devices.api import Buffer, Tensor
from reference_vm.jit.words import load, store
from reference_vm.runtime.holds import Closure, Data
from reference_vm.runtime.native.celled import CellClosure, CellData, CellView
from reference_vm.runtime.native.cells import is_pythons, take_cell
from reference_vm.runtime.native.heap import Words, read, write
from reference_vm.runtime.native.layout import (
    CELLS,
    OBJECT,
    SCALAR,
    SLOT,
    WORD,
    BufferEntry,
    Cell,
    Maker,
    Slot,
)
from reference_vm.runtime.native.makers import Constructor, Lambda
from reference_vm.runtime.native.memory import entry_of
from reference_vm.runtime.native.program import NativeProgram
from reference_vm.runtime.native.trees import Tree, count, tree_of
from reference_vm.types import AdtType, TupleType, Type
from reference_vm.types.arrays import to_numpy

_FEW: Final = 1024
"""Objects that are not looked through."""


@final
class Values:
    """Reads and writes slots; what only Python understands is kept here, and numbered."""

    def __init__(self, state: int, program: NativeProgram) -> None:
        self._state = state
        self._forms = program.forms
        self._pool = program.memory
        self._cells = program.cell_memory
        self._executable = program.image.executable
        self.makers = program.makers
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
        if reference <= CELLS:
            return self._celled(place, reference)
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
        if isinstance(value, CellData | CellClosure):
            return value.cell.words
        if isinstance(value, Closure):
            return self._closure(value)
        return [self._numbered(value), OBJECT, 0]

    # Cells.

    def argument(self, type_: Type, value: Any) -> list[int]:
        """Return the words of the slots for an argument, whose data is put into cells."""
        cells: list[int] = []
        open_: list[tuple[Sequence[Type], Data, int]] = []

        def words(type_: Type, value: Any) -> list[int]:
            if isinstance(type_, TupleType):
                return [w for t, v in zip(type_.items, value, strict=True) for w in words(t, v)]
            if not isinstance(type_, AdtType) or isinstance(value, CellData):
                return self._words(value)
            fields = self._executable.field_types(value.data_type, value.tag, type_.args)
            maker = Constructor(value.data_type, value.tag, tuple(map(tree_of, fields)))
            found = self._fresh(maker)
            open_.append((fields, value, found[Slot.ADDRESS]))
            return found

        found = words(type_, value)
        while open_:
            types, data, cell = open_.pop()
            parts = zip(types, data.fields, strict=True)
            write(cell + Cell.SLOTS * WORD, [w for t, v in parts for w in words(t, v)])
            cells.append(cell)
        self._tell_mixed(cells)
        return found

    def _closure(self, closure: Closure) -> list[int]:
        maker = self.makers.closure(closure.function, len(closure.captured))
        found = self._fresh(maker)
        cell = found[Slot.ADDRESS]
        self.put(cell + Cell.SLOTS * WORD, maker.trees, closure.captured)
        self._tell_mixed([cell])
        return found

    def _fresh(self, maker: Constructor | Lambda) -> list[int]:
        """Return the words of the slot for a fresh cell."""
        address = self.makers.address(maker)
        cell = take_cell(self._state, address)
        if not cell:
            self._cells.make_room()
            cell = take_cell(self._state, address)
        return [cell, load(cell, Cell.REFERENCE), address]

    def _tell_mixed(self, cells: Sequence[int]) -> None:
        """Say of cells whether there is in any of them what only Python can give back."""
        for cell in cells:
            store(cell, Cell.MIXED, 0)
        mixed = int(any(map(self._is_mixed, cells)))
        for cell in cells:
            store(cell, Cell.MIXED, mixed)

    def _is_mixed(self, cell: int) -> bool:
        slots = load(load(cell, Cell.MAKER), Maker.SLOTS)
        first = cell + Cell.SLOTS * WORD
        return any(is_pythons(self._state, first + i * SLOT * WORD) for i in range(slots))

    def _celled(self, address: int, reference: int) -> Any:
        """Return what a cell is; ``None`` if it is no more."""
        if load(address, Cell.REFERENCE) != reference:
            return None
        view = CellView(self, self._state, address, reference)
        maker = self.makers[view.maker]
        return CellData(view, maker) if isinstance(maker, Constructor) else CellClosure(view, maker)

    # Objects.

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
        """Forget the objects that no slot of the stack or of a cell holds.

        A word that only looks like a slot's may keep one alive.
        """
        held: set[int] = set()
        for words in (stack, *self._cells.used):
            held.update(words[np.flatnonzero(words[1:] == OBJECT)].tolist())
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
        form = self._forms.tensor(tensor.dtype, tensor.shape)
        if not form:  # a dim that is no word, of a tensor without elements
            return [self._numbered(tensor), OBJECT, 0]
        reference = self._pool.reference(tensor.buffer)
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
