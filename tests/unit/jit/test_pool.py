"""The thread pool: every round of a job is done once, whoever does it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from reference_vm.diagnostics import CompileError
from reference_vm.jit import pool_code
from reference_vm.jit.machine import Machine
from reference_vm.jit.object_cache import ObjectCache
from reference_vm.jit.pool import VARIABLE, Pool, default_threads

MACHINE = Machine(ObjectCache(None))

COUNTING = """
define void @kernel(ptr %block, i64 %low, i64 %high) {
entry:
  %counts = load ptr, ptr %block
  %scratch.place = getelementptr i64, ptr %block, i64 1
  %scratch = load i64, ptr %scratch.place
  br label %head
head:
  %i = phi i64 [ %low, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %high
  br i1 %more, label %body, label %leave
body:
  %place = getelementptr i64, ptr %counts, i64 %i
  %count = load i64, ptr %place
  %counted = add i64 %count, 1
  %kept = add i64 %counted, %scratch
  %only = sub i64 %kept, %scratch
  store i64 %only, ptr %place
  %next = add i64 %i, 1
  br label %head
leave:
  ret void
}
"""
"""Adds 1 to the count of each round; word 1 of its block is for scratch memory."""


@pytest.fixture(params=[1, 2, 5])
def pool(request: pytest.FixtureRequest) -> Iterator[Pool]:
    made = Pool(MACHINE, request.param)
    yield made
    made.stop()


def count(pool: Pool, low: int, high: int, grain: int = 1, work: int = 1 << 40) -> Any:
    """Return how often each round up to ``high`` was done."""
    counts = np.zeros(high, dtype=np.int64)
    block = np.array([counts.ctypes.data, 0], dtype=np.int64)
    scratch = np.zeros(64 * pool.threads, dtype=np.uint8)
    entry = MACHINE.glue_address(COUNTING)
    place = (block.ctypes.data, 2)
    pool.run((entry, *place, low, high, grain, work, scratch.ctypes.data, 64, 1))
    return counts


@pytest.mark.parametrize("rounds", [1, 2, 7, 64, 1001])
@pytest.mark.parametrize("grain", [1, 3, 2000])
def test_every_round_is_done_once(pool: Pool, rounds: int, grain: int) -> None:
    for _ in range(50):
        np.testing.assert_array_equal(count(pool, 0, rounds, grain), 1)


def test_rounds_outside_of_the_range_are_not_done(pool: Pool) -> None:
    found = count(pool, 10, 25)
    assert found.sum() == 15
    assert not found[:10].any()


def test_threads_that_fell_asleep_are_woken(pool: Pool) -> None:
    pool.start()
    pool._state[pool_code.SPINS] = 0
    for _ in range(200):
        np.testing.assert_array_equal(count(pool, 0, 64), 1)


def test_small_work_is_not_shared(pool: Pool) -> None:
    before = int(pool._state[pool_code.TICKET])
    np.testing.assert_array_equal(count(pool, 0, 64, work=1), 1)
    assert int(pool._state[pool_code.TICKET]) == before


def test_callers_at_the_same_time_do_not_disturb_each_other(pool: Pool) -> None:
    found: list[Any] = []

    def call() -> None:
        found.extend(count(pool, 0, 500) for _ in range(50))

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(found) == 200
    assert all((counts == 1).all() for counts in found)


def test_a_stopped_pool_works_alone_and_starts_again(pool: Pool) -> None:
    count(pool, 0, 64)
    pool.stop()
    np.testing.assert_array_equal(count(pool, 0, 64), 1)


def test_the_environment_limits_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    available = default_threads()
    monkeypatch.setenv(VARIABLE, "1")
    assert default_threads() == 1
    monkeypatch.setenv(VARIABLE, str(available + 5))
    assert default_threads() == available
    monkeypatch.setenv(VARIABLE, "")
    assert default_threads() == available


@pytest.mark.parametrize("nonsense", ["many", "0", "-1", "1.5", "²", "1 2"])
def test_a_number_of_threads_that_means_nothing_is_refused(
    monkeypatch: pytest.MonkeyPatch, nonsense: str
) -> None:
    monkeypatch.setenv(VARIABLE, nonsense)

    with pytest.raises(CompileError) as caught:
        default_threads()

    said = str(caught.value)
    assert f"REFERENCE_VM_THREADS is {nonsense!r}, expected a number of threads, 1 or more" in said
    assert "unset it to use every processor" in said
