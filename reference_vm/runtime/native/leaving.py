"""What the loop leaves to Python: the instruction is done by the interpreter's own step.

Where the same operands would give the same again (a kernel's plan, an operator on shapes, a call's
or a cast's instance), that is remembered, and the loop does it itself the next time.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast, final

from reference_vm.bytecode.instructions import (
    HostOp,
    Launch,
    MatchCast,
    Return,
    View,
)
from reference_vm.diagnostics import DataError
from reference_vm.jit.words import load, store
from reference_vm.runtime.frames import Frame as PythonFrame
from reference_vm.runtime.native.heap import Heap, read, write
from reference_vm.runtime.native.layout import (
    CELLS,
    OBJECT,
    SLOT,
    WORD,
    Form,
    Frame,
    FunctionRecord,
    Memo,
    Slot,
    State,
)
from reference_vm.runtime.native.opcodes import SURE, Op
from reference_vm.runtime.native.opcodes import Launch as LaunchWords
from reference_vm.runtime.native.plans import Contents
from reference_vm.runtime.native.program import NativeProgram, Place
from reference_vm.runtime.native.run import BOOKS, NativeRun, Step
from reference_vm.runtime.native.stack import Stack
from reference_vm.runtime.native.trees import Tree, tree_of
from reference_vm.runtime.native.values import Registers, Values

_REMEMBERED: Final = 16
"""Sets of operands that an operator on shapes is remembered for."""

_SHORT: Final = 256
"""Bytes of an operand up to which its elements are looked at."""


def launch_record(pc: int) -> int:
    """Return the address of the words of a launch, which may stand aside."""
    operands = SURE.get(Op(load(pc, 0)))
    return pc if operands is None else load(pc, 5 + operands)


@final
@dataclass
class _Waiting:
    """Stands for the interpreter's stack of frames while a step runs."""

    depth: int
    frame: PythonFrame
    callee: PythonFrame | None = None
    replaces: bool = False

    def __len__(self) -> int:
        return self.depth

    def __getitem__(self, _: int) -> PythonFrame:
        return self.frame

    def append(self, callee: PythonFrame) -> None:
        self.callee = callee

    def __setitem__(self, _: int, callee: PythonFrame) -> None:
        self.callee, self.replaces = callee, True

    def clear(self) -> None:
        """Do nothing: the frames are the loop's."""


@final
@dataclass
class Leaving:
    """Does instructions for the loop."""

    program: NativeProgram
    state: int
    stack: Stack
    values: Values
    done: Counter[Place] = field(default_factory=Counter)
    """How often each instruction was done here."""

    _memos: Heap = field(default_factory=Heap)
    _remembering: set[int] = field(default_factory=set)
    """The instructions for which anything is."""

    _told: dict[Place, Contents] = field(default_factory=dict)
    """What each launch read on the host last; nothing for one that reads nothing."""

    _tried: tuple[int, ...] = ()
    """Where, and for what forms, a plan was found last, so that the loop could go on by itself."""

    def forget(self) -> None:
        """Forget what operators on shapes made of operands of certain forms."""
        for pc in self._remembering:
            store(pc, 2, 0)
        self._remembering.clear()
        self._memos = Heap()
        self._tried = ()

    def do(self, run: NativeRun, step: Step) -> bool:
        """Do the instruction that the loop is at, noted in ``step``.

        The loop goes on behind it, or in the function that it calls.

        Returns:
            Whether it was done: not if the loop can now do it itself.
        """
        pc, frame = load(self.state, State.PC), load(self.state, State.FRAME)
        place = self.program.places[pc]
        instruction = self.program.instruction(place)
        if isinstance(instruction, Launch) and self._plan(pc, frame, instruction):
            return False
        self.done[place] += 1
        run.events = step.events
        if isinstance(instruction, Return):
            self._return(run, place, frame, instruction)
        else:
            self._step(run, place, pc, frame, step)
        return True

    def _step(self, run: NativeRun, place: Place, pc: int, frame: int, step: Step) -> None:
        program = self.program
        code, prepared = program.codes[place.function], program.image.functions[place.function]
        registers = Registers(self.values, frame, code.slots, code.trees)
        instance = load(frame, Frame.INSTANCE)
        before = program.symbols(instance)
        shown = PythonFrame(prepared, cast("list[Any]", registers), before, run, place.index)
        waiting = _Waiting(load(self.state, State.DEPTH), shown)
        run.stack = cast("list[PythonFrame]", waiting)
        forms = self._operands(pc, frame)
        contents = self._contents(place, pc, frame, forms)
        jump = prepared.steps[place.index](shown)
        step.symbols = shown.symbols
        if not isinstance(self.program.instruction(place), BOOKS):
            step.written = registers.written
        if shown.symbols != before:
            store(frame, Frame.INSTANCE, program.instance(place.function, shown.symbols))
        if waiting.callee is not None:
            self._call(place, frame, waiting)
        else:
            following = place.index + 1 if jump is None else jump
            store(self.state, State.PC, program.starts[place.function][following])
        if contents is not None:
            self._remember_launch(place, pc, instance, forms, contents)
        else:
            self._remember(place, pc, frame, instance, forms)
        if self.values.are_many:
            self.values.collect(self.stack.used)

    def _operands(self, pc: int, frame: int) -> list[int]:
        """Return the forms of an instruction's operands, where they can be remembered."""
        record = launch_record(pc)
        match load(record, 0):
            case Op.LAUNCH | Op.LAUNCH_ONE:
                count = load(record, LaunchWords.OPERANDS)
                places = read(record + LaunchWords.SLOTS * WORD, count)
            case Op.FACT | Op.RESHAPE:
                places = read(pc + 4 * WORD, load(pc, 3))
            case Op.MATCH:
                places = [load(pc, 2)]
            case _:
                places = []
        return [load(frame, p + Slot.FORM) for p in places]

    def _plan(self, pc: int, frame: int, launch: Launch) -> bool:
        """Whether the loop will find a plan for a launch that it found none for before."""
        if load(pc, 0) == Op.LEAVE or not load(launch_record(pc), LaunchWords.LISTED):
            return False
        forms = self._operands(pc, frame)
        here = (pc, frame, *forms)
        if self._tried == here:
            self._tried = ()
            return False
        if not self._can_plan(launch, forms):
            return False
        if self.program.room.ensure():
            return True
        try:
            found = self.program.plans.find(launch, forms)
        except DataError:
            return False
        self._tried = here
        return bool(found)

    def _can_plan(self, launch: Launch, forms: Sequence[int]) -> bool:
        """Whether a kernel could be machine code for operands of these forms."""
        if not all(forms):
            return False
        program = self.program
        reads = program.image.shape_function(launch.kernel).reads
        known = [program.forms[f] for f in forms]
        return not any(
            k.scalar or (r and k.dtype is not None) for k, r in zip(known, reads, strict=True)
        )

    # Remembering.

    def _remember(
        self, place: Place, pc: int, frame: int, instance: int, forms: Sequence[int]
    ) -> None:
        program = self.program
        instruction = program.instruction(place)
        if load(pc, 0) == Op.LEAVE or not all(forms):
            return
        match instruction:
            case HostOp() | View() if load(pc, 0) in (Op.FACT, Op.RESHAPE):
                self._remember_fact(pc, frame, forms)
            case MatchCast():
                write(instance + load(pc, 3) * WORD, [forms[0], load(frame, Frame.INSTANCE)])
                code, symbols = program.function(place), program.symbols(instance)
                program.bindings.learn_cast(code, instruction, pc, symbols, forms[0])

    def _contents(self, place: Place, pc: int, frame: int, forms: Sequence[int]) -> Contents | None:
        """Return the elements that a launch reads on the host; ``None``: it is not remembered."""
        launch = self.program.instruction(place)
        if not isinstance(launch, Launch) or load(pc, 0) == Op.LEAVE or not all(forms):
            return None
        record = launch_record(pc)
        known = [self.program.forms[f] for f in forms]
        if any(k.scalar for k in known):
            return None
        found: list[tuple[int, bytes]] = []
        for i, read_on_host in enumerate(self.program.image.shape_function(launch.kernel).reads):
            if read_on_host and known[i].dtype is not None:
                slot = load(record, LaunchWords.SLOTS + i)
                nbytes = load(forms[i], Form.NBYTES)
                if nbytes > _SHORT:
                    return None
                found.append((i, ctypes.string_at(load(frame, slot + Slot.ADDRESS), nbytes)))
        return tuple(found)

    def _remember_launch(
        self, place: Place, pc: int, instance: int, forms: Sequence[int], contents: Contents
    ) -> None:
        """Let the loop do a launch by itself if its operands are the same again.

        Those that are read on the host must have been the same twice: a launch in a loop that
        reads a counter is not worth a plan for each round.
        """
        last, self._told[place] = self._told.get(place, ()), contents
        if last != contents:
            return
        launch = cast("Launch", self.program.instruction(place))
        plan = self.program.plans.find(launch, forms, contents)
        store(instance, load(launch_record(pc), LaunchWords.PLAN), plan)

    def _remember_fact(self, pc: int, frame: int, forms: Sequence[int]) -> None:
        if any(self.program.forms[f].scalar for f in forms):
            return
        address, reference, form = read(frame + load(pc, 1) * WORD, SLOT)
        if not form or reference == OBJECT:
            return
        data = 0
        if load(pc, 0) == Op.FACT and reference > 0:
            nbytes = load(form, Form.NBYTES)
            data = self._memos.take(nbytes // WORD + 1)
            ctypes.memmove(data, address, nbytes)
        following, listed = load(pc, 2), 0
        while following and listed < _REMEMBERED:
            following, listed = load(following, Memo.NEXT), listed + 1
        first = load(pc, 2) if listed < _REMEMBERED else 0
        self._remembering.add(pc)
        store(pc, 2, self._memos.put([first, form, data, *forms]))

    # Calls.

    def _call(self, place: Place, frame: int, waiting: _Waiting) -> None:
        """Let the function run next that a step called."""
        callee, program = waiting.callee, self.program
        assert callee is not None
        code = callee.function.code
        number = program.image.executable.indices[code.name]
        arguments = zip(code.params, callee.registers, strict=False)
        words = [w for p, v in arguments for w in self.values.words(tree_of(p.type), v)]
        instance, record = program.instance(number, callee.symbols), program.records[number]
        values = callee.registers[: len(code.params)]
        program.bindings.learn_call(record, code, values, words)
        if waiting.replaces:
            self.stack.replace(record, instance, words)
            inner = load(self.state, State.FRAME)
        else:
            slot = program.codes[place.function].slots[callee.target]
            back = program.starts[place.function][place.index + 1]
            inner = self.stack.push(record, instance, words, back, slot)
        if tree_of(code.result) != self._expected(inner):
            store(inner, Frame.TARGET, -abs(load(inner, Frame.TARGET)))
        if code.symbols:
            sizes = [callee.symbols[code.symbols.index(s)] for s in code.hidden_symbols]
            self._remember_call(record, instance, inner, sizes)

    def _remember_call(self, record: int, instance: int, inner: int, sizes: Sequence[int]) -> None:
        """Let the loop choose an instance by itself for arguments like those of a frame."""
        count = load(record, FunctionRecord.PARAMETERS)
        words = read(inner + Frame.SLOTS * WORD, count * SLOT)
        slots = [words[i : i + SLOT] for i in range(0, len(words), SLOT)]
        forms = [0 if s[Slot.REFERENCE] <= CELLS else s[Slot.FORM] for s in slots]
        if all(f or s[Slot.REFERENCE] <= CELLS for f, s in zip(forms, slots, strict=True)):
            self.program.add_way(record, instance, [*forms, *sizes])

    def _expected(self, frame: int) -> Tree:
        """Return the tree of the register for the result of a frame."""
        if not load(frame, Frame.CALLER):
            number = load(load(frame, Frame.FUNCTION), FunctionRecord.NUMBER)
            return tree_of(self.program.image.executable.functions[number].result)
        function, register = self.program.target(load(frame, Frame.RETURN))
        return self.program.codes[function].trees[register]

    def _return(self, run: NativeRun, place: Place, frame: int, instruction: Return) -> None:
        """Return a value that is in one slot to a caller that has several for it, or the reverse.

        With no caller it is the run's result, a tuple of it alone.
        """
        code = self.program.codes[place.function]
        source = instruction.source
        value = self.values.get(frame + code.slots[source] * WORD, code.trees[source])
        if not self.stack.pop(self.values.words(self._expected(frame), value)):
            run.result = (value,)
