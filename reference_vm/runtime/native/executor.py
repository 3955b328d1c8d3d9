"""Runs functions in the native loop.

    executor = NativeExecutor(image, traced=True, checked=False)
    result = executor.run(code, args)
    executor.trace()                        # the records of that run

What an instruction needs that the loop has not got (memory, a kernel seen for the first time, a
device of its own) is seen to here, and the loop goes on. Errors are those of the interpreter: the
step that fails is its own.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from reference_vm.bytecode.executable import FunctionCode
from reference_vm.devices.ledger import Ledger
from reference_vm.jit import pool_code, words
from reference_vm.jit.machine import shared_machine
from reference_vm.jit.pool import shared_pool
from reference_vm.jit.words import load, store
from reference_vm.runtime.faults import FAILURES, located
from reference_vm.runtime.image import Image
from reference_vm.runtime.machine import argument_error, check_count
from reference_vm.runtime.native.delivery import Arrays, Delivery
from reference_vm.runtime.native.handed import DataIn, DataOut
from reference_vm.runtime.native.heap import Words, address_of, aligned_words
from reference_vm.runtime.native.layout import WORD, Command, Left, State
from reference_vm.runtime.native.leaving import Leaving
from reference_vm.runtime.native.loop import FUNCTIONS
from reference_vm.runtime.native.path import Path, bare
from reference_vm.runtime.native.program import NativeProgram
from reference_vm.runtime.native.remembered import Remembered
from reference_vm.runtime.native.run import NativeRun, Step
from reference_vm.runtime.native.shadow import Shadow
from reference_vm.runtime.native.snapshot import Snapshot
from reference_vm.runtime.native.stack import Stack
from reference_vm.runtime.native.values import Values
from reference_vm.runtime.symbols import BindError, bind_symbols
from reference_vm.runtime.trace import Trace

if TYPE_CHECKING:
    from reference_vm.jit.pool import Pool

PATH: Final = 1 << 16
"""Words that the loop notes before Python takes them over."""

NOTES: Final = 1 << 12
"""Launches of kernels that read operands on the host, done by the loop itself in a traced run."""

_NATIVE: Final = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


@cache
def native_code() -> Callable[[int, int, int], int]:
    """Return the loop as machine code, ``native(state, command, argument)``; one a process."""
    machine, text = shared_machine(), words.source(FUNCTIONS)
    return _NATIVE(machine.address(text, lambda: words.print_module(FUNCTIONS)))


# As plain numbers, since members of an enumeration are slow to index with.
_WANTED: Final = int(State.WANTED)
_ENTRY: Final = int(State.ENTRY)
_SERIAL: Final = int(State.SERIAL)
_REFUSED: Final = int(Left.REFUSED)
_RETURNED: Final = int(Left.RETURNED)
_DELIVERED: Final = int(State.DELIVERED)
_LOG: Final = int(State.LOG)
_LOG_BEGIN: Final = int(State.LOG_BEGIN)
_LAUNCHES: Final = int(State.LAUNCHES)
_READS: Final = int(State.READS)
_WRITES: Final = int(State.WRITES)
_EXPECTED: Final = int(State.EXPECTED)
_ARRAYS: Final = int(State.ARRAYS)


@final
class NativeExecutor:
    """The native form of a session's program."""

    def __init__(self, image: Image, *, traced: bool, checked: bool) -> None:
        pool = shared_pool()
        self._traced = traced
        self._start = int(Command.START_LOGGED if traced else Command.START)
        self._resume = int(Command.RUN_LOGGED if traced else Command.RUN)
        self._path: Path | None = None
        self._like: tuple[FunctionCode, int, int] | None = None
        """How the loop began the last run by itself: function, remembered call, serial number."""

        self._expected: dict[str, Arrays] = {}
        """What each function gave last, if that was tensors on the host."""

        self._image = image
        self._ledger = image.host.ledger
        self._checked = checked
        self._native = native_code()
        self._words = aligned_words(State.WORDS)
        self._state = state = address_of(self._words)
        self._cells = (ctypes.c_int64 * State.WORDS).from_address(state)
        self._log = aligned_words(PATH)
        self._notes = aligned_words(NOTES)
        self._prepare(pool)
        self.program = NativeProgram(image, state, pool)
        self._memory = self.program.memory
        self._stack = Stack(state)
        self._values = Values(state, self.program)
        self._leaving = Leaving(self.program, state, self._stack, self._values)
        out = DataOut(self.program, self._call)
        self._delivery = Delivery(self.program, state, self._values, out)
        self._data_in = DataIn(self.program, self._values, self._call)
        self._remembered = Remembered(self.program, state)
        self._shadow = Shadow(image)
        self.busy: dict[str, object] = {}
        """Whoever runs here, under ``run``: each has an object of its own to be known by."""

        self._run: NativeRun | None = None
        self._is_open = False
        """Whether a run began and has not given all back."""

    def _prepare(self, pool: Pool) -> None:
        cells = self._cells
        cells[State.CHECKED] = int(self._checked)
        cells[State.LOG_BEGIN] = address_of(self._log)
        cells[State.LOG_END] = address_of(self._log) + self._log.nbytes
        cells[State.NOTES_BEGIN] = address_of(self._notes) if self._traced else 0
        cells[State.NOTES_END] = address_of(self._notes) + self._notes.nbytes
        cells[State.POOL_RUN] = pool.run_address
        cells[State.POOL_STATE] = pool.state
        worth = load(pool.state, pool_code.WORTH)
        cells[State.WORTH] = worth if pool.threads > 1 else 1 << 62

    def trace(self) -> Trace:
        """Return the records of the last run; none while another one goes on."""
        me = object()
        try:
            alone = self.busy.setdefault("run", me) is me
            return self._last_trace() if alone else Trace()
        finally:
            if "run" in self.busy and self.busy["run"] is me:
                del self.busy["run"]

    def _last_trace(self) -> Trace:
        if self._path is None:
            self._path = Path(self.program, self._shadow)
            if self._like is not None:
                self._path.begin_like(*self._like)
                self._path.close(self._log, self._noted, self._plans())
        return self._path.trace()

    def left(self) -> Counter[str]:
        """Return what instructions Python did in all runs, and how often: ``Launch take``."""
        found: Counter[str] = Counter()
        for place, times in self._leaving.done.items():
            instruction = self.program.instruction(place)
            site = getattr(instruction, "site", None)
            found[f"{type(instruction).__name__} {site.op if site else ''}".rstrip()] += times
        return found

    @property
    def _noted(self) -> int:
        """How many words of the path the loop has noted since Python took them over."""
        return (self._cells[_LOG] - self._cells[_LOG_BEGIN]) // WORD

    def _plans(self) -> Words:
        """Return the plans that were noted in the last run."""
        cells = self._cells
        return self._notes[: (cells[State.NOTES] - cells[State.NOTES_BEGIN]) // WORD]

    def run(self, code: FunctionCode, args: tuple[Any, ...]) -> Any:
        """Run a function on NumPy arguments; return NumPy results.

        Whoever calls this must be the one in `busy`. Whatever ends a run, an interrupt too, all
        memory is given back then.

        Raises:
            ExecutionError: An argument does not fit, or the run failed.
        """
        check_count(code, args)
        if self._is_open:  # the run before was interrupted while it was closed
            self._begin_anew()
        try:
            self._is_open = True
            self._path = self._like = None
            head = self._remembered.gates.get(code.name)
            if head is None:
                return self._with_python(Left.REFUSED, code, args)
            return self._as_before(head, code, args)
        finally:
            if self._is_open:
                self._begin_anew()

    def _as_before(self, head: int, code: FunctionCode, args: tuple[Any, ...]) -> Any:
        """Run a function that was run before, by the loop alone if it can."""
        cells, memory, expected = self._cells, self._memory, self._expected.get(code.name)
        if expected is None:
            cells[_EXPECTED] = 0
        else:
            arrays = expected.fresh()
            cells[_EXPECTED], cells[_ARRAYS] = expected.address, id(arrays)
        cells[_ENTRY], serial = head, cells[_SERIAL]
        memory.begin()
        left = self._native(self._state, self._start, id(args))
        memory.end()
        if left != _REFUSED:
            self._like = code, cells[_ENTRY], serial
        if left != _RETURNED:
            return self._with_python(left, code, args)
        if cells[_DELIVERED]:
            assert expected is not None
            self._count(expected.sizes)
            self._is_open = False
            return expected.nested(arrays)
        found = self._delivery.arrays()
        if found is None:
            return self._with_python(left, code, args)
        result = self._fetched(code, found)
        self._is_open = False
        return result

    def _with_python(self, left: int, code: FunctionCode, args: tuple[Any, ...]) -> Any:
        """Run a function to its end, from where the loop left it."""
        path, self._cells[_EXPECTED] = None, 0
        if self._traced:
            path = self._path = Path(self.program, self._shadow)
            if self._like is not None:
                path.begin_like(*self._like)
        run = self._run = NativeRun(self.program.memory, self._traced, self._checked)
        run.running = left != Left.REFUSED
        whole = False
        try:
            if left == Left.REFUSED:
                left = self._begin(code, args, run, path)
            if left != Left.RETURNED:
                with np.errstate(all="ignore"):
                    self._go_on(left, run, path)
            run.running = False
            delivered = self._deliver(code, run, path)
            whole = True
            return delivered
        except BindError as error:
            whole = True
            if run.running:  # of a call inside
                raise located(error, self._instruction()) from error
            raise argument_error(error, code) from None
        except FAILURES as error:
            whole = True
            raise located(error, self._instruction() if run.running else None) from error
        finally:
            if whole:  # else tables may be half changed, and all is made anew
                self._close(run, path)

    def _begin(
        self, code: FunctionCode, args: tuple[Any, ...], run: NativeRun, path: Path | None
    ) -> int:
        """Begin a call as the interpreter does, and run as far as the loop gets."""
        self._tidy()
        program, number = self.program, self._image.executable.indices[code.name]
        with np.errstate(all="ignore"):
            try:
                values, noted = self._data_in.place(code, args, run)
            finally:
                if path is not None:
                    path.prepare(run.taken())
            symbols = bind_symbols(code, values, self._image.executable.data_types)
        pairs = zip(code.params, values, strict=True)
        slots = [w for p, v in pairs for w in self._values.argument(p.type, v)]
        instance = program.instance(number, symbols)
        self._stack.begin(program.records[number], instance, slots)
        self._cells[State.LOG] = self._cells[State.LOG_BEGIN]
        self._cells[State.NOTES] = self._cells[State.NOTES_BEGIN]
        self._remembered.add(number, args)
        program.bindings.learn_call(program.records[number], code, values, slots)
        if path is not None:
            path.begin(code, noted, symbols, self._cells[State.SERIAL])
        run.running = True
        return self._call(self._resume, 0)

    def _tidy(self) -> None:
        """Forget what is remembered, if that is too much."""
        if self.program.is_full:
            self._forget()
        self.program.room.ensure()

    def _forget(self) -> None:
        """Forget all that sizes decide."""
        self._remembered.clear()
        self._leaving.forget()
        self._expected.clear()
        self._delivery.clear()
        self.program.tidy()

    def _call(self, command: int, argument: int) -> int:
        """Call the loop, with the host's count of bytes in its hands meanwhile."""
        self._memory.begin()
        self._cells[_WANTED] = -1
        left = self._native(self._state, command, argument)
        self._memory.end()
        return left

    def _go_on(self, left: int, run: NativeRun, path: Path | None) -> None:
        """Run to the end."""
        while left != Left.RETURNED:
            self._see_to(left, run, path)
            if run.result is not None:
                return
            left = self._call(self._resume, 0)

    def _see_to(self, left: int, run: NativeRun, path: Path | None) -> None:
        """Do what the loop came back for."""
        memory = self.program.memory
        match left:
            case Left.MEMORY:
                if not memory.make_room(self._cells[State.WANTED]):
                    self._do(run, path)
                    return
            case Left.BUFFERS:
                memory.grow_table()
            case Left.STACK:
                self._stack.grow()
            case Left.CELLS:
                self.program.cell_memory.make_room()
            case Left.LOG:
                assert path is not None
                path.take(self._log, self._log.size)
                self._cells[State.LOG] = self._cells[State.LOG_BEGIN]
                if path.is_long:
                    plans = len(self._plans())
                    path.go_on(self._snapshot(run), self._cells[State.RECORDS], plans)
                return
            case _:
                self._do(run, path)
                return
        self._unlog(path)

    def _snapshot(self, run: NativeRun) -> Snapshot:
        return Snapshot(
            self._stack.used.copy(),
            self._memory.table.copy(),
            self.program.cell_memory.copy(),
            self._cells[State.SERIAL],
            [bare(value) for value in self._values.objects],
            dict(run.live),
            dict(run.shared),
        )

    def _do(self, run: NativeRun, path: Path | None) -> None:
        """Do one instruction in Python, if the loop cannot do it by now."""
        step, logged, done = Step(), self._cells[State.LOG] - WORD, False
        try:
            done = self._leaving.do(run, step)
        finally:
            step.serial = self._cells[State.SERIAL]
            self._cells[State.RECORDS] += sum(kind == "entry" for kind, _ in step.events)
            if path is not None and (done or step.events):
                path.note(step)
            if not done:
                self._unlog(path)
            run.events = []
        if done and path is not None:
            store(logged, 0, load(logged, 0) | 1)

    def _unlog(self, path: Path | None) -> None:
        """Take back the note of an instruction that is begun again."""
        if path is not None:
            self._cells[State.LOG] -= WORD

    def _deliver(self, code: FunctionCode, run: NativeRun, path: Path | None) -> Any:
        found = self._delivery.arrays() if run.result is None else None
        if found is not None:
            return self._fetched(code, found)
        delivered = self._delivery.slowly(run)
        if path is not None:
            path.end(run.taken())
        return delivered

    def _fetched(self, code: FunctionCode, results: Arrays) -> Any:
        """Return results that are tensors on the host; all memory is given back then."""
        arrays = results.fresh()
        self._call(Command.FINISH, id(arrays))
        self._count(results.sizes)
        self._expected[code.name] = results
        return results.nested(arrays)

    def _instruction(self) -> Any:
        place = self.program.places[self._cells[State.PC]]
        return self.program.instruction(place)

    def _close(self, run: NativeRun, path: Path | None) -> None:
        """Give back all memory of a run, and count what it did."""
        cells = self._cells
        if path is not None:
            path.close(self._log, self._noted, self._plans())
        run.log = None
        self._memory.end()  # an interrupt may have come before it was told
        if cells[State.LAST] or cells[State.CELL_BUMP] != cells[State.CELL_CHUNK]:
            self._call(Command.FINISH, 0)
        run.close()
        self._memory.close_run()
        self.program.cell_memory.close_run()
        self._values.clear()
        self._count()
        self._run, self._is_open = None, False

    def _begin_anew(self) -> None:
        """Give back all memory of a run that was interrupted, wherever it was.

        Tables may be half changed, so nothing is freed but all is made anew; of the run there is
        no trace.
        """
        self._path = self._like = None
        if self._run is not None:
            self._run.log = None
            self._run.close()
        self._memory.begin_anew()
        self.program.cell_memory.begin_anew()
        self._stack.begin_anew()
        self._cells[State.SCRATCH_BYTES] = self._cells[State.WORKSPACE_BYTES] = 0
        self._forget()
        self._values.clear()
        self._cells[_EXPECTED] = 0
        self._count()
        self._run, self._is_open = None, False

    def _count(self, delivered: Sequence[int] = ()) -> None:
        """Let the host's ledger know what the loop did, and of the bytes of each result."""
        cells, ledger = self._cells, self._ledger
        for nbytes in delivered:
            ledger.note("out", nbytes)
        ledger.launches += cells[_LAUNCHES]
        cells[_LAUNCHES] = 0
        if cells[_READS] or cells[_WRITES]:
            self._count_copies(cells, ledger)

    def _count_copies(self, cells: Any, ledger: Ledger) -> None:
        for direction, copies in (("out", _READS), ("in", _WRITES)):
            if cells[copies]:
                ledger.copies[direction] += cells[copies]
                ledger.bytes[direction] += cells[copies + 1]
                cells[copies] = cells[copies + 1] = 0
