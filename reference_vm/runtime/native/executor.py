"""Runs functions in the native loop.

    executor = NativeExecutor(image, checked=False)
    result = executor.run(code, args, path)

What an instruction needs that the loop has not got (memory, a kernel seen for the first time, a
device of its own) is seen to here, and the loop goes on. Errors are those of the interpreter: the
step that fails is its own.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, final

import numpy as np

from reference_vm.bytecode.executable import FunctionCode
from reference_vm.jit import pool_code, words
from reference_vm.jit.machine import Machine, shared_machine
from reference_vm.jit.pool import shared_pool
from reference_vm.jit.words import load, store
from reference_vm.runtime.arguments import place_arguments
from reference_vm.runtime.faults import FAILURES, located
from reference_vm.runtime.image import Image
from reference_vm.runtime.machine import argument_error, check_count
from reference_vm.runtime.native.heap import address_of, aligned_words
from reference_vm.runtime.native.layout import WORD, Command, Left, State
from reference_vm.runtime.native.leaving import Leaving
from reference_vm.runtime.native.loop import FUNCTIONS
from reference_vm.runtime.native.path import Path
from reference_vm.runtime.native.program import NativeProgram
from reference_vm.runtime.native.run import NativeRun, Step
from reference_vm.runtime.native.shadow import Shadow
from reference_vm.runtime.native.stack import Stack
from reference_vm.runtime.native.translation import tree_of
from reference_vm.runtime.native.values import Values
from reference_vm.runtime.results import deliver
from reference_vm.runtime.symbols import BindError, bind_symbols

_PATH: Final = 1 << 16
"""Words that the loop notes before Python takes them over."""

_NATIVE: Final = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


def native_code(machine: Machine) -> Callable[[int, int, int], int]:
    """Return the loop as machine code: ``native(state, command, argument)``."""
    text = words.source(FUNCTIONS)
    return _NATIVE(machine.address(text, lambda: words.print_module(FUNCTIONS)))


@final
class NativeExecutor:
    """The native form of a session's program."""

    def __init__(self, image: Image, *, checked: bool) -> None:
        pool = shared_pool()
        self._image = image
        self._checked = checked
        self._native = native_code(shared_machine())
        self._words = aligned_words(State.WORDS)
        self._state = state = address_of(self._words)
        store(state, State.CHECKED, int(checked))
        self._share_pool(pool)
        self.program = NativeProgram(image, state, pool)
        self._stack = Stack(state)
        self._values = Values(state, self.program.forms, self.program.memory)
        self._leaving = Leaving(self.program, state, self._stack, self._values)
        self._log = aligned_words(_PATH)
        self._shadow = Shadow(image)
        self._busy = threading.Lock()

    def path(self) -> Path:
        """Return what takes down the way of a run."""
        return Path(self.program, self._shadow)

    def acquire(self) -> bool:
        """Whether nobody else runs here; who is let in must call `release`."""
        return self._busy.acquire(blocking=False)

    def release(self) -> None:
        self._busy.release()

    def run(self, code: FunctionCode, args: Sequence[Any], path: Path | None) -> Any:
        """Run a function on NumPy arguments; return NumPy results.

        Raises:
            ExecutionError: An argument does not fit, or the run failed.
        """
        check_count(code, args)
        self.program.tidy()
        memory = self.program.memory
        memory.seen = {}
        run = NativeRun(memory, path is not None, self._checked)
        types = self._image.executable.data_types
        started = False
        try:
            with np.errstate(all="ignore"):
                values = place_arguments(self._image, code, args, run)
                symbols = bind_symbols(code, values, types)
                self._begin(code, values, symbols)
                if path is not None:
                    path.begin(code, values, symbols, run.taken(), load(self._state, State.SERIAL))
                started = True
                result = self._go(run, path)
                started = False
                delivered = deliver(result, run, types)
                if path is not None:
                    path.end(run.taken())
                return delivered
        except BindError as error:
            if started:  # of a call inside
                raise located(error, self._instruction()) from error
            raise argument_error(error, code) from None
        except FAILURES as error:
            raise located(error, self._instruction() if started else None) from error
        finally:
            self._close(run, path)

    def _begin(self, code: FunctionCode, values: Sequence[Any], symbols: tuple[int, ...]) -> None:
        number = self._image.executable.indices[code.name]
        program = self.program
        slots = [
            w
            for p, v in zip(code.params, values, strict=True)
            for w in self._values.words(tree_of(p.type), v)
        ]
        instance = program.instance(number, symbols)
        self._stack.begin(program.records[number], instance, slots)
        store(self._state, State.LOG, address_of(self._log))
        store(self._state, State.LOG_END, address_of(self._log) + self._log.nbytes)

    def _go(self, run: NativeRun, path: Path | None) -> Any:
        """Run to the end; return the result."""
        command = Command.RUN if path is None else Command.RUN_LOGGED
        while True:
            self.program.memory.begin()
            store(self._state, State.WANTED, -1)
            left = self._native(self._state, command, 0)
            self.program.memory.end()
            if left == Left.RETURNED:
                return self._result()
            self._see_to(left, run, path)
            if run.result is not None:
                return run.result[0]

    def _see_to(self, left: int, run: NativeRun, path: Path | None) -> None:
        """Do what the loop came back for."""
        memory = self.program.memory
        match left:
            case Left.MEMORY:
                if not memory.make_room(load(self._state, State.WANTED)):
                    self._do(run, path)
                    return
            case Left.BUFFERS:
                memory.grow_table()
            case Left.STACK:
                self._stack.grow()
            case Left.LOG:
                assert path is not None
                path.take(self._log, self._log.size)
                store(self._state, State.LOG, address_of(self._log))
                return
            case _:
                self._do(run, path)
                return
        self._unlog(path)

    def _do(self, run: NativeRun, path: Path | None) -> None:
        step, logged, done = Step(), load(self._state, State.LOG) - WORD, False
        try:
            done = self._leaving.do(run, step)
        finally:
            step.serial = load(self._state, State.SERIAL)
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
            store(self._state, State.LOG, load(self._state, State.LOG) - WORD)

    def _result(self) -> Any:
        pc, frame = load(self._state, State.PC), load(self._state, State.FRAME)
        place = self.program.places[pc]
        code = self.program.codes[place.function]
        tree = tree_of(self.program.function(place).result)
        first = load(pc, 2) if load(pc, 1) else 0
        assert code.slots
        return self._values.get(frame + first * WORD, tree)

    def _instruction(self) -> Any:
        place = self.program.places[load(self._state, State.PC)]
        return self.program.instruction(place)

    def _close(self, run: NativeRun, path: Path | None) -> None:
        """Give back all memory of a run, and count what it did."""
        memory, state, host = self.program.memory, self._state, self._image.host
        if path is not None:
            used = (load(state, State.LOG) - address_of(self._log)) // WORD
            path.close(self._log, used)
        run.log = None
        memory.begin()
        self._native(state, Command.FINISH, 0)
        memory.end()
        run.close()
        memory.close_run()
        self._values.objects.clear()
        host.ledger.launches += load(state, State.LAUNCHES)
        reads = load(state, State.READS)
        if reads:
            host.ledger.copies["out"] += reads
            host.ledger.bytes["out"] += load(state, State.READ_BYTES)
        for word in (State.LAUNCHES, State.READS, State.READ_BYTES):
            store(state, word, 0)

    def _share_pool(self, pool: Any) -> None:
        state = self._state
        store(state, State.POOL_RUN, pool.run_address)
        store(state, State.POOL_STATE, pool.state)
        worth = load(pool.state, pool_code.WORTH)
        store(state, State.WORTH, worth if pool.threads > 1 else 1 << 62)
