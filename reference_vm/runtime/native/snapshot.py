"""Where a run was at some point: so that its trace can begin there, when its start is forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from reference_vm.devices.api import Buffer, Tensor
from reference_vm.jit.words import load
from reference_vm.runtime.frames import Frame as PythonFrame
from reference_vm.runtime.frames import Run
from reference_vm.runtime.holds import Closure, Data
from reference_vm.runtime.native.cell_memory import Chunks
from reference_vm.runtime.native.celled import CellClosure, CellData
from reference_vm.runtime.native.heap import Words
from reference_vm.runtime.native.layout import (
    CELLS,
    INDEX_BITS,
    INDEX_MASK,
    OBJECT,
    SCALAR,
    SLOT,
    BufferEntry,
    Cell,
    Frame,
    FunctionRecord,
    Maker,
)
from reference_vm.runtime.native.makers import Constructor
from reference_vm.runtime.native.program import NativeProgram
from reference_vm.runtime.native.shadow import Shadow
from reference_vm.runtime.native.trees import Tree, count
from reference_vm.runtime.nesting import Inner, Leaf, rebuilt


@final
@dataclass(frozen=True, slots=True)
class Snapshot:
    """The frames and buffers of a run at one point, as the loop has them."""

    stack: Words
    table: Words
    cells: Chunks
    serial: int
    objects: Sequence[Any]
    """What Python knew by number, without data."""

    live: Mapping[int, Buffer]
    """What Python had allocated and not given back, and the holds on it beyond the first."""

    shared: Mapping[int, int]


@final
@dataclass
class Restoring:
    """Makes a run stand where a snapshot was taken."""

    program: NativeProgram
    shadow: Shadow
    snapshot: Snapshot
    seen: Mapping[int, Buffer]
    _buffers: dict[int, Buffer] = field(default_factory=dict)
    _made: dict[int, Data | Closure] = field(default_factory=dict)
    """What cells have become, by reference."""

    _empty: list[tuple[Data | Closure, int]] = field(default_factory=list)
    """Of these, those that what is inside is still missing of, with the cell's address."""

    def restore(self, run: Run) -> None:
        """Give a run the frames and buffers of the snapshot."""
        run.live.update(self.snapshot.live)
        run.shared.update(self.snapshot.shared)
        entries = self.snapshot.table.reshape(-1, BufferEntry.WORDS)
        own = entries[(entries[:, BufferEntry.REFERENCE] > 0) & (entries[:, BufferEntry.CLASS] > 0)]
        for entry in own[own[:, BufferEntry.REFERENCE].argsort()].tolist():
            buffer = self._buffer(entry[BufferEntry.REFERENCE])
            run.live[buffer.id] = buffer
            if entry[BufferEntry.HOLDS] > 1:
                run.shared[buffer.id] = entry[BufferEntry.HOLDS] - 1
        run.stack.extend(self._frames(run))
        while self._empty:
            self._fill(*self._empty.pop())

    def _frames(self, run: Run) -> Iterator[PythonFrame]:
        words = self.snapshot.stack
        at = 0
        while at < words.size:
            size = load(int(words[at + Frame.FUNCTION]), FunctionRecord.FRAME_WORDS)
            yield self._frame(words[at : at + size].tolist(), run)
            at += size

    def _frame(self, words: list[int], run: Run) -> PythonFrame:
        number = load(words[Frame.FUNCTION], FunctionRecord.NUMBER)
        code = self.program.codes[number]
        pairs = zip(code.slots, code.trees, strict=True)
        registers = [self._value(words, slot, tree) for slot, tree in pairs]
        symbols = self.program.symbols(words[Frame.INSTANCE])
        frame = PythonFrame(self.shadow[number], registers, symbols, run)
        if words[Frame.CALLER]:
            _, frame.target = self.program.target(words[Frame.RETURN])
        return frame

    def _value(self, words: Sequence[int], at: int, tree: Tree) -> Any:
        if tree is None:
            return self._slot(*words[at : at + SLOT])
        parts: list[Any] = []
        for item in tree:
            parts.append(self._value(words, at, item))
            at += SLOT * count(item)
        return tuple(parts)

    def _slot(self, place: int, reference: int, form: int) -> Any:
        if reference == OBJECT:
            return rebuilt(self.snapshot.objects[place], self._object)
        if reference <= CELLS:
            return self._cell(place, reference)
        if form == 0 or reference == SCALAR:
            return self._buffer(reference) if reference > 0 else None
        known = self.program.forms[form]
        if known.dtype is None:
            return known.dims
        buffer, address = self._buffer(reference), self._entry(reference)[BufferEntry.ADDRESS]
        return Tensor(buffer, int(place - address), known.dtype, known.dims, known.nbytes)

    def _object(self, value: Any) -> Leaf | Inner[Any]:
        """Return what a value that only Python knows is made of."""
        if isinstance(value, CellData | CellClosure):
            return Leaf(self._cell(value.cell.address, value.cell.reference))
        return Inner(value, tuple) if isinstance(value, tuple) else Leaf(value)

    def _cell(self, address: int, reference: int) -> Data | Closure | None:
        """Return what a cell is, which is filled later; ``None`` if it is no more."""
        found = self._made.get(reference)
        head = self.snapshot.cells.read(address, Cell.SLOTS)
        if found is None and head[Cell.REFERENCE] == reference:
            maker = self.program.makers[head[Cell.MAKER]]
            if isinstance(maker, Constructor):
                found = Data(maker.data_type, maker.tag, ())
            else:
                found = Closure(maker.function, ())
            found.holds = head[Cell.HOLDS]
            self._made[reference] = found
            self._empty.append((found, address))
        return found

    def _fill(self, made: Data | Closure, address: int) -> None:
        head = self.snapshot.cells.read(address, Cell.SLOTS)
        words = self.snapshot.cells.read(
            address, Cell.SLOTS + SLOT * load(head[Cell.MAKER], Maker.SLOTS)
        )
        inside = self._value(words, Cell.SLOTS, self.program.makers[head[Cell.MAKER]].trees)
        if isinstance(made, Data):
            made.fields = inside
        else:
            made.captured = inside

    def _entry(self, reference: int) -> Words:
        first = (reference & INDEX_MASK) * BufferEntry.WORDS
        return self.snapshot.table[first : first + BufferEntry.WORDS]

    def _buffer(self, reference: int) -> Buffer:
        found = self._buffers.get(reference) or self.seen.get(reference >> INDEX_BITS)
        if found is None:
            nbytes = int(self._entry(reference)[BufferEntry.NBYTES])
            found = Buffer(self.program.image.host, nbytes, None)
        self._buffers[reference] = found
        return found


__all__ = ["Restoring", "Snapshot"]
