"""The threads that native kernels share, one pool a process.

A kernel's range of rounds is cut into parts, which the caller and the pool's threads take in turn.
Forking and joining takes about a microsecond while the threads look for work, which they do for a
short while after each job, and then sleep until they are called. What is too small to share, or
called while another caller has the pool, runs in the caller alone. Kernels promise that any
division gives the same bits, so results do not depend on the threads.

Native code calls ``void (int64_t *state, int64_t *job)`` at `Pool.run_address` with `Pool.state`
and a job of its own (`pool_code.JOB`); Python calls `Pool.run`.
"""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, final

import llvmlite.binding as llvm
import numpy as np

from reference_vm.diagnostics import CompileError, catalog
from reference_vm.jit import pool_code
from reference_vm.jit.machine import Machine, shared_machine

VARIABLE: Final = "REFERENCE_VM_THREADS"
"""The environment variable that limits the number of threads."""

WORTH: Final = 30_000
"""The work from which on a job is shared, in instructions on single elements: some 4 us."""

_SPINS: Final = 4_000
"""How often a thread looks for a job before it sleeps: some 100 us."""

_LINE: Final = 64

_Call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


def default_threads() -> int:
    """Return how many threads share a kernel: the processors that this process may use.

    Reads the environment when called: `VARIABLE` may set a lower number.

    Raises:
        CompileError: It is no number, or less than 1.
    """
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = os.environ.get(VARIABLE, "").strip()
    if not limit:
        return available or 1
    if not limit.isascii() or not limit.isdecimal() or int(limit) == 0:
        expected, how = "a number of threads, 1 or more", "unset it to use every processor"
        raise CompileError(catalog.invalid_option(VARIABLE, limit, expected, how))
    return min(available or 1, int(limit))


@final
class Pool:
    """Threads that share jobs. They start with the first job and end with the pool."""

    def __init__(self, machine: Machine, threads: int) -> None:
        self._machine = machine
        self._memory = np.zeros(pool_code.STATE_WORDS + _LINE // 8, dtype=np.int64)
        offset = -self._memory.ctypes.data % _LINE // 8
        self._state = self._memory[offset : offset + pool_code.STATE_WORDS]
        self._state[pool_code.WORTH] = WORTH
        self._state[pool_code.SPINS] = _SPINS
        self._lock = threading.Lock()
        self._wanted = threads
        self._started: list[threading.Thread] = []
        self._end: Callable[[], object] | None = None
        self._run, self._join, self._stop = self._functions()

    @property
    def threads(self) -> int:
        """How many threads share a job, the caller included."""
        return self._wanted if self._is_supported else 1

    @property
    def state(self) -> int:
        """The address of the pool's state."""
        return int(self._state.ctypes.data)

    @property
    def run_address(self) -> int:
        """The address of ``void (int64_t *state, int64_t *job)``; the threads must be started."""
        return self._run

    def start(self) -> None:
        """Start the threads, unless they run."""
        with self._lock:
            if self._started or self.threads < 2:
                return
            self._state[pool_code.STOP] = 0
            for slot in range(1, self.threads):
                work = _worker(self._join, self.state, slot, (self._memory, self._machine))
                thread = threading.Thread(target=work, name=f"kernel-{slot}", daemon=True)
                thread.start()
                self._started.append(thread)
            self._state[pool_code.THREADS] = self.threads
            end = (self._stop, self._memory, self.state, tuple(self._started), self._machine)
            self._end = weakref.finalize(self, _end, *end)

    def stop(self) -> None:
        """End the threads and wait for them; jobs run in their callers alone until `start`."""
        with self._lock:
            self._state[pool_code.THREADS] = 0
            if self._end is not None:
                self._end()
            self._end = None
            self._started.clear()

    def forget(self) -> None:
        """Know of no threads: those of a process that was forked are not in its child."""
        self._lock = threading.Lock()
        self._started, self._end = [], None
        self._state[: pool_code.WORTH] = 0

    def run(self, job: Sequence[int] | np.ndarray[Any, np.dtype[np.int64]]) -> None:
        """Do a job (`pool_code.JOB`), shared if it is worth it; returns when it is done.

        The interpreter's lock is given up meanwhile. A job with scratch memory needs as much of it
        for each of `threads`; its block is written to.
        """
        if not self._started:
            self.start()
        words = np.asarray(job, dtype=np.int64)
        _Call(self._run)(self.state, words.ctypes.data)

    @property
    def _is_supported(self) -> bool:
        return pool_code.is_supported(llvm.get_process_triple())

    def _functions(self) -> tuple[int, int, int]:
        if not self._is_supported:
            return 0, 0, 0
        text = pool_code.pool_text(llvm.get_process_triple())
        found = (ctypes.c_int64 * 3)()
        tell = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._machine.glue_address(text))
        tell(ctypes.addressof(found))
        return found[0], found[1], found[2]


@cache
def shared_pool() -> Pool:
    """Return the pool of this process."""
    pool = Pool(shared_machine(), default_threads())
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=pool.forget)
    return pool


def _worker(join: int, state: int, slot: int, kept: object) -> Callable[[], None]:
    """Return what a thread does; ``kept`` must live as long as it runs."""

    def work(_: object = kept) -> None:
        _Call(join)(state, slot)

    return work


def _end(
    stop: int, _memory: object, state: int, threads: Sequence[threading.Thread], _code: object
) -> None:
    """End a pool's threads; called when the pool or the process ends."""
    _Call(stop)(state, None)
    for thread in threads:
        thread.join()
