"""A run that is interrupted, wherever it is, leaves no memory in use and a session that works.

Python asks for interrupts where a function is called, and where it returned: there they are made to
come, at one such point after the other, and by a clock at any.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from types import FrameType
from typing import Any

import numpy as np
import pytest

from reference_vm.devices.api import Buffer
from reference_vm.devices.cpu import CpuDevice
from reference_vm.program.program import Program
from reference_vm.runtime.frames import Run
from reference_vm.session import Session
from tests.unit.native.both import bits
from tests.unit.native.data_programs import DATA
from tests.unit.native.programs import SAMPLES, X

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""What comes while a generator is closed reaches nobody."""

NAMES = ("loop", "chain", "list", "map and reverse", "list given and returned", "views", "growing")
POINTS = 30
"""Of each program's first run; of later ones, which are short, there are fewer."""


class Interrupted(BaseException):
    """Comes from outside, as `KeyboardInterrupt` does."""


@contextmanager
def interrupt_at(point: int) -> Iterator[Callable[[], int]]:
    """Raise at the call or return of that number; tell how many came."""
    seen = 0

    def look(_frame: FrameType, _event: str, _argument: object) -> None:
        nonlocal seen
        seen += 1
        if seen == point:
            raise Interrupted

    sys.setprofile(look)
    try:
        yield lambda: seen
    finally:
        sys.setprofile(None)


def fresh(name: str) -> tuple[Session, Callable[[], Any]]:
    """Return a session of a program, and a run of its first call."""
    session = Session(program(name))
    call = (SAMPLES | DATA)[name].calls[0]
    return session, lambda: session.run("main", *call)


@cache
def program(name: str) -> Program:
    return (SAMPLES | DATA)[name].compiled()


def points(session: Session, run: Callable[[], Any]) -> int:
    """Return how many calls and returns there are in a run."""
    with interrupt_at(0) as seen:
        run()
    assert session.notes == ()
    return seen()


@pytest.mark.parametrize("name", NAMES)
def test_a_first_run_that_is_interrupted(name: str) -> None:
    expected = bits(fresh(name)[1]())
    last = points(*fresh(name))
    for point in range(1, last, max(1, last // POINTS)):
        session, run = fresh(name)
        check(session, run, point, expected)


@pytest.mark.parametrize("name", NAMES)
def test_a_later_run_that_is_interrupted(name: str) -> None:
    session, run = fresh(name)
    expected = bits(run())
    run()
    last = points(session, run)
    for point in range(1, last, max(1, last // POINTS)):
        check(session, run, point, expected)


def check(session: Session, run: Callable[[], Any], point: int, expected: Any) -> None:
    """Interrupt a run; see that nothing is left of it, and that later ones are native and right."""
    before = {name: m.current for name, m in session.memory().items()}
    with suppress(Interrupted), interrupt_at(point):
        run()
    assert {name: m.current for name, m in session.memory().items()} == before, point

    for _ in range(2):
        assert bits(run()) == expected, point
        assert session.notes == (), point
        assert {name: m.current for name, m in session.memory().items()} == before, point
    assert len(session.trace) > 0


def test_interrupts_by_a_clock() -> None:
    session, run = fresh("map and reverse")
    sample = DATA["map and reverse"]
    expected, long = bits(run()), sample.calls[2]
    before = session.memory()["cpu:0"].current
    caught = 0

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise Interrupted

    old = signal.signal(signal.SIGALRM, stop)
    try:
        for number in range(200):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 * (1 + number % 40))
                for _ in range(50):
                    session.run("main", *long)
            except Interrupted:
                caught += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, old)

    assert caught > 100
    assert bits(run()) == expected
    assert session.notes == ()
    assert session.memory()["cpu:0"].current == before


def test_an_interrupt_while_the_last_run_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was let go of before the interrupt is not let go of again."""
    session, _ = fresh("list given and returned")
    run = partial(session.run, "main", ["Cons", X, ("Nil",)])  # which Python puts into buffers
    expected, free = bits(run()), CpuDevice.free
    interrupted: list[Buffer] = []

    def free_once(device: CpuDevice, buffer: Buffer) -> None:
        free(device, buffer)
        if not interrupted and sys._getframe(1).f_code is Run.close.__code__:
            interrupted.append(buffer)
            raise Interrupted

    monkeypatch.setattr(CpuDevice, "free", free_once)
    with pytest.raises(Interrupted):
        run()

    assert interrupted
    assert bits(run()) == expected
    assert session.notes == ()


@pytest.mark.parametrize("interpreter", [False, True])
def test_a_trace_may_be_asked_for_while_another_thread_runs(interpreter: bool) -> None:
    sample = SAMPLES["loop"]
    session = Session(sample.compiled(), interpreter=interpreter)
    ended = threading.Event()

    def runs() -> None:
        while not ended.is_set():
            session.run("main", np.array(100), np.zeros(4, np.float32))

    thread = threading.Thread(target=runs)
    thread.start()
    try:
        found = [len(session.trace) for _ in range(300)]
    finally:
        ended.set()
        thread.join()

    assert len(found) == 300
    assert len(session.trace) > 100


def test_the_second_thread_is_interpreted_and_counted() -> None:
    sample = SAMPLES["loop"]
    session = Session(sample.compiled())
    before = session.memory()["cpu:0"].current
    started, results = threading.Event(), []

    def long() -> None:
        started.set()
        results.append(session.run("main", np.array(1_000_000), np.zeros(4, np.float32)))

    thread = threading.Thread(target=long)
    thread.start()
    started.wait()
    x = np.ones(4, np.float32)
    while thread.is_alive() and not session.notes:
        np.testing.assert_array_equal(session.run("main", np.array(1), x)[0], 2 * x)
    thread.join()

    (note,) = session.notes
    assert note.endswith("run was interpreted, since another thread was running the session")
    assert int(results[0][1]) == 1_000_000
    session.run("main", np.array(1), x)
    assert session.notes == (note,)
    assert session.memory()["cpu:0"].current == before
