"""The way that a run took, and the trace made from it.

The loop notes the address of each instruction that it runs; where Python did one, the word is odd
and a `Step` says what happened. The trace is made when somebody asks: the interpreter's own steps
go the same way once more, on devices that compute nothing and give out no memory, so that its
records are the interpreter's. Of a very long run only the last part is kept, from a `Snapshot`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np

from reference_vm.bytecode.executable import FunctionCode
from reference_vm.bytecode.instructions import Branch, BranchTag, Jump, Launch
from reference_vm.devices.api import Buffer, DeviceApi, Tensor
from reference_vm.runtime.frames import Frame, PreparedFunction, Run, enter
from reference_vm.runtime.holds import Data
from reference_vm.runtime.log import LIMIT, PathLog
from reference_vm.runtime.native.celled import CellClosure, CellData
from reference_vm.runtime.native.handed import Listed
from reference_vm.runtime.native.heap import Words
from reference_vm.runtime.native.program import NativeProgram
from reference_vm.runtime.native.remembered import array_forms
from reference_vm.runtime.native.run import BOOKS, Event, Step
from reference_vm.runtime.native.shadow import Shadow
from reference_vm.runtime.native.snapshot import Restoring, Snapshot
from reference_vm.runtime.nesting import Inner, Leaf, rebuilt
from reference_vm.runtime.sizes import Symbols
from reference_vm.runtime.symbols import bind_symbols
from reference_vm.runtime.trace import Trace

SEGMENT: Final = 1 << 20
"""Instructions after which a part of the way ends, and what is too old is forgotten."""

_DECIDED: Final = (Branch, BranchTag, Jump)
"""Instructions that do nothing but choose the way."""


def bare(value: Any) -> Any:
    """Return what the books need of a value: tensors without their data, shapes, and data types.

    What lies in cells is for a `Snapshot` to keep.
    """
    return rebuilt(value, _bare)


def _bare(value: Any) -> Leaf | Inner[Any]:
    match value:
        case CellData() | CellClosure() | Buffer() | Listed() | int():
            return Leaf(value)
        case Tensor():
            return Leaf(Tensor(value.buffer, value.offset, value.dtype, value.shape, value.nbytes))
        case Data(data_type=data_type, tag=tag, fields=fields):
            return Inner(fields, lambda inside: Data(data_type, tag, inside))
        case tuple():
            return Inner(value, tuple)
        case _:
            return Leaf(None)


@final
@dataclass(slots=True)
class _Segment:
    """A part of the way."""

    start: Snapshot | None
    """Where it begins; ``None``: with the run."""

    records: int
    """How many came before it."""

    plans: int = 0
    """How many plans had been noted before it."""

    words: list[np.ndarray[Any, np.dtype[np.int32]]] = field(default_factory=list)
    """The instructions' addresses, from the first of all."""

    steps: list[Step] = field(default_factory=list)
    """What Python did, in order."""

    length: int = 0

    def instructions(self) -> Iterator[int]:
        for words in self.words:
            yield from words.tolist()


@final
class Path:
    """The path of one run."""

    def __init__(self, program: NativeProgram, shadow: Shadow) -> None:
        self._program = program
        self._shadow = shadow
        self._begun: tuple[FunctionCode, Sequence[Any], Symbols] | None = None
        self._like: tuple[FunctionCode, int] | None = None
        self._first: list[Event] = []
        self._seen: Mapping[int, Buffer] = {}
        self._last: list[Event] = []
        self._serial = 0
        self._segments = [_Segment(None, 0)]
        self._rest: tuple[Words, int] = np.zeros(0, dtype=np.int64), 0
        self._plans: Words = np.zeros(0, dtype=np.int64)
        self._trace: Trace | None = None

    def prepare(self, events: list[Event]) -> None:
        """Note what placing the arguments did."""
        self._first = events
        self._seen = self._program.memory.seen

    def begin(
        self, code: FunctionCode, values: Sequence[Any], symbols: Symbols, serial: int
    ) -> None:
        """Note a call."""
        self._begun = code, [bare(v) for v in values], symbols
        self._serial = serial
        self._seen = self._program.memory.seen

    def begin_like(self, code: FunctionCode, entry: int, serial: int) -> None:
        """Note a call that the loop began, with arrays that took the numbers from ``serial``."""
        self._like = code, entry
        self._serial = serial + len(code.params)
        self._seen = self._program.memory.seen

    def _arguments(self) -> tuple[FunctionCode, Sequence[Any], Symbols] | None:
        """Return how the call began."""
        if self._like is None:
            return None if self._begun is None else self._unlisted(*self._begun)
        code, entry = self._like
        forms = array_forms(entry)
        values: list[Tensor] = []
        first = self._serial - len(forms)
        for number, form in enumerate(forms, first):
            known = self._program.forms[form]
            assert known.dtype is not None
            buffer = self._seen.get(number) or Buffer(self._program.image.host, known.nbytes, None)
            values.append(Tensor(buffer, 0, known.dtype, known.dims, known.nbytes))
        types = self._program.image.executable.data_types
        return code, values, bind_symbols(code, list(values), types)

    def _unlisted(
        self, code: FunctionCode, values: Sequence[Any], symbols: Symbols
    ) -> tuple[FunctionCode, Sequence[Any], Symbols]:
        """Return how a call began, with values of data types in place of lists of them."""
        program, seen = self._program, self._seen
        made = [v.value(program, seen) if isinstance(v, Listed) else v for v in values]
        return code, made, symbols

    def note(self, step: Step) -> None:
        """Note what Python did."""
        step.written = {register: bare(value) for register, value in step.written.items()}
        self._segments[-1].steps.append(step)

    def take(self, words: Words, used: int) -> None:
        """Note the way so far."""
        segment = self._segments[-1]
        segment.words.append((words[:used] - self._program.begin).astype(np.int32))
        segment.length += used

    @property
    def is_long(self) -> bool:
        """Whether a snapshot is to be taken, so that what came before can be forgotten."""
        return self._segments[-1].length >= SEGMENT

    def go_on(self, snapshot: Snapshot, records: int, plans: int) -> None:
        """Begin a segment where the run is now, after so many records and noted plans.

        What is too old is forgotten.
        """
        self._segments.append(_Segment(snapshot, records, plans))
        while len(self._segments) > 2 and records - self._segments[1].records >= LIMIT:
            del self._segments[0]

    def end(self, events: list[Event]) -> None:
        """Note what delivering the results did."""
        self._last = events

    def close(self, words: Words, used: int, plans: Words) -> None:
        """Note the last part of the way, and the plans for certain contents that were used.

        They must not change before the trace is made.
        """
        self._plans = plans
        if self._begun is not None or self._like is not None:
            self._rest = words, used

    def trace(self) -> Trace:
        """Return the records."""
        if self._trace is None:
            self.take(*self._rest)
            first = self._segments[0].start
            serial = self._serial if first is None else first.serial
            plans = iter(self._plans[self._segments[0].plans :].tolist())
            replay = _Replay(self._program, self._shadow, serial, self._seen, plans)
            self._trace = replay.trace(self)
        return self._trace

    def replay(self, onto: _Replay) -> None:
        """Go the way once more."""
        start = self._segments[0].start
        if start is not None:
            Restoring(self._program, self._shadow, start, self._seen).restore(onto)
        else:
            onto.apply(self._first)
            begun = self._arguments()
            if begun is None:
                return
            onto.enter(*begun)
        for segment in self._segments:
            self._replay(segment, onto)
        onto.apply(self._last)

    def _replay(self, segment: _Segment, onto: _Replay) -> None:
        steps = iter(segment.steps)
        for word in segment.instructions():
            place = self._program.places[self._program.begin + (word & ~1)]
            if word & 1:
                onto.repeat(place.function, place.index, next(steps))
            else:
                onto.step(place.function, place.index)
        for failed in steps:
            onto.apply(failed.events)


@final
class _Replay(Run):
    """A run that does nothing but keep the books."""

    __slots__ = ("_plans", "_program", "_seen", "_serial", "_shadow")

    def __init__(
        self,
        program: NativeProgram,
        shadow: Shadow,
        serial: int,
        seen: Mapping[int, Buffer],
        plans: Iterator[int],
    ) -> None:
        super().__init__(PathLog(LIMIT), False)
        self._program = program
        self._shadow = shadow
        self._serial = serial
        self._seen = seen
        self._plans = plans

    def trace(self, path: Path) -> Trace:
        assert self.log is not None
        path.replay(self)
        self.close()
        return self.log.trace()

    def allocate(self, device: DeviceApi, nbytes: int) -> Buffer:
        buffer = self._seen.get(self._serial)
        self._serial += 1
        if buffer is None:
            buffer = Buffer(device, nbytes, None)
        self.adopt(buffer)
        return buffer

    def apply(self, events: Sequence[Event]) -> None:
        """Do what the events say."""
        assert self.log is not None
        for kind, what in events:
            match kind:
                case "entry":
                    self.log.append(what)
                case "adopt":
                    self.adopt(what)
                case "share":
                    self.share(what)
                case _:
                    self.free(what)

    def enter(self, code: FunctionCode, values: Sequence[Any], symbols: Symbols) -> None:
        number = self._program.image.executable.indices[code.name]
        self.stack.append(enter(self._function(number), list(values), symbols, self))

    def step(self, function: int, index: int) -> None:
        """Do an instruction that the loop did."""
        frame = self._frame(function, index)
        instruction = frame.function.code.instructions[index]
        if isinstance(instruction, _DECIDED):
            return
        if isinstance(instruction, Launch) and self._reads(instruction, frame):
            self._shadow.host.data = self._program.plans.contents(next(self._plans))
        frame.steps[index](frame)

    def _reads(self, launch: Launch, frame: Frame) -> bool:
        """Whether tensors were read on the host for a launch."""
        reads = self._program.image.shape_function(launch.kernel).reads
        return any(
            read and isinstance(frame.registers[arg], Tensor)
            for arg, read in zip(launch.args, reads, strict=True)
        )

    def give_back(self, buffer: Buffer) -> None:
        """Do nothing: it was given back when the run took place."""

    def repeat(self, function: int, index: int, step: Step) -> None:
        """Do what Python did."""
        frame = self._frame(function, index)
        if isinstance(frame.function.code.instructions[index], BOOKS):
            frame.steps[index](frame)
            return
        self.apply(step.events)
        for register, value in step.written.items():
            frame.registers[register] = value
        frame.symbols = step.symbols
        self._serial = step.serial

    def _frame(self, function: int, index: int) -> Frame:
        frame = self.stack[-1]
        expected = self._program.image.executable.functions[function]
        assert frame.function.code is expected, "the path goes where no call led"
        frame.pc = index
        return frame

    def _function(self, number: int) -> PreparedFunction:
        return self._shadow[number]
