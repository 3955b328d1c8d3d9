"""Where a run was at some point: so that its trace can begin there, when its start is forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from reference_vm.bytecode.instructions import Invoke, InvokeClosure
from reference_vm.devices.api import Buffer, Tensor
from reference_vm.jit.words import load
from reference_vm.runtime.frames import Frame as PythonFrame
from reference_vm.runtime.frames import Run
from reference_vm.runtime.native.heap import Words
from reference_vm.runtime.native.layout import (
    INDEX_BITS,
    INDEX_MASK,
    OBJECT,
    SCALAR,
    SLOT,
    BufferEntry,
    Frame,
    FunctionRecord,
)
from reference_vm.runtime.native.program import NativeProgram
from reference_vm.runtime.native.shadow import Shadow
from reference_vm.runtime.native.translation import Tree, count


@final
@dataclass(frozen=True, slots=True)
class Snapshot:
    """The frames and buffers of a run at one point, as the loop has them."""

    stack: Words
    table: Words
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
            frame.target = self._target(words[Frame.RETURN])
        return frame

    def _target(self, back: int) -> int:
        """Return the register for the result of the call before the instruction at ``back``."""
        place = self.program.places[back]
        call = self.program.function(place).instructions[place.index - 1]
        assert isinstance(call, Invoke | InvokeClosure)
        return call.target

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
            return self.snapshot.objects[place]
        if form == 0 or reference == SCALAR:
            return self._buffer(reference) if reference > 0 else None
        known = self.program.forms[form]
        if known.dtype is None:
            return known.dims
        buffer, address = self._buffer(reference), self._entry(reference)[BufferEntry.ADDRESS]
        return Tensor(buffer, int(place - address), known.dtype, known.dims, known.nbytes)

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
