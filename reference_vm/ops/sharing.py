"""Large work on NumPy arrays, shared over threads; the BLAS in one thread at a time.

A BLAS that shares one product over its own threads lets them spin for each other: where processors
are busy with something else, a product of microseconds takes tens of milliseconds. So every product
runs in one thread of the BLAS, and large work is cut into parts, which sleeping threads take.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeVar, final

import numpy as np

from reference_vm.devices.cpu import cores

Item = TypeVar("Item")

_FOLDERS: Final = ("../numpy.libs", ".dylibs")
"""Where NumPy's wheels keep their BLAS, seen from the package."""

_NAMES: Final = (
    ("scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"),
    ("scipy_openblas_get_num_threads", "scipy_openblas_set_num_threads"),
    ("openblas_get_num_threads64_", "openblas_set_num_threads64_"),
    ("openblas_get_num_threads", "openblas_set_num_threads"),
)


WORTH: Final = 1 << 25
"""Multiplications from which on work is shared: some 700 microseconds of one processor.

A helper costs some ten microseconds where a processor is free, but where none is, the caller may
wait for it for a time slice of the system.
"""


@final
@dataclass(frozen=True, slots=True)
class _Blas:
    """How to ask NumPy's BLAS for its number of threads, and to set it."""

    get: Callable[[], int]
    set: Callable[[int], None]
    threads: int
    """Its number when it was found."""


@lru_cache(maxsize=1)
def _blas() -> _Blas | None:
    """Return NumPy's BLAS, ``None`` if it is another than OpenBLAS or not to be found."""
    package = Path(np.__file__).parent
    for path in (p for folder in _FOLDERS for p in (package / folder).glob("*openblas*")):
        library = ctypes.CDLL(str(path))
        for get, set_ in _NAMES:
            if hasattr(library, get) and hasattr(library, set_):
                getter, setter = getattr(library, get), getattr(library, set_)
                setter.argtypes, setter.restype = [ctypes.c_int], None
                return _Blas(getter, setter, getter())
    return None


@lru_cache(maxsize=1)
def threads() -> int:
    """Return how many threads share large work, the caller's included.

    No more than the process has processors, nor than its user lets the BLAS have.
    """
    blas = _blas()
    return 1 if blas is None else max(1, min(cores(), blas.threads))


def is_worth_sharing(multiplications: int) -> bool:
    """Whether work of so many multiplications is large, and there are threads for it."""
    return multiplications >= WORTH and threads() > 1


@final
class _Alone:
    """A context in which the BLAS uses one thread; may be entered by several threads at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._entered = 0
        self._before = 1

    def __enter__(self) -> None:
        blas = _blas()
        if blas is None:
            return
        with self._lock:
            if not self._entered:
                self._before = blas.get()
                blas.set(1)
            self._entered += 1

    def __exit__(self, *_: object) -> None:
        blas = _blas()
        if blas is None:
            return
        with self._lock:
            self._entered -= 1
            if not self._entered:
                blas.set(self._before)


ALONE: Final = _Alone()
"""For products too small to share."""


@lru_cache(maxsize=1)
def _pool(_process: int) -> ThreadPoolExecutor:
    """Return the threads of this process; those of its parent are none in a forked one."""
    return ThreadPoolExecutor(max(1, threads() - 1), thread_name_prefix="reference-vm")


def share(items: Sequence[Item], work: Callable[[Iterator[Item]], None]) -> None:
    """Call ``work`` in several threads at once and return when all ``items`` are done.

    Each call takes its items from the one iterator that it is given, so that a thread which is held
    up takes fewer. Items must not depend on each other.
    """
    queue = iter(items)
    others = min(threads(), len(items)) - 1
    with ALONE:
        tasks = [_submit(work, queue) for _ in range(others)]
        try:
            work(queue)
        finally:
            started = [task for task in tasks if not task.cancel()]
            wait(started)
    for task in started:
        task.result()


def _submit(work: Callable[[Iterator[Item]], None], queue: Iterator[Item]) -> Any:
    # The context carries NumPy's error state, without which a thread would warn.
    return _pool(os.getpid()).submit(copy_context().run, work, queue)


__all__ = ["ALONE", "is_worth_sharing", "share", "threads"]
