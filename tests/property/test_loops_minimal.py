"""Loops copy as little as they can wherever their parameters live, as trying every home finds."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_vm as rv
from tests.property.loop_programs import TRIPS, LoopProgram, loop_program

COUNTED = ("read", "host", "result")
KINDS = ("plain", "nested", "in turn")
X = np.array([1.0, -2.0, 0.5, 3.0], np.float32)


def made(written: LoopProgram) -> int:
    """Return how many copies a run makes, and check its values against those of one device."""
    module = rv.parse(written.text)
    session = rv.Session(rv.compile(module, "host=cpu:0,a=sim:0", check=True))
    alone = rv.Session(rv.compile(module, "host=cpu:0,a=cpu:0"))
    found = session.run("main", X, np.array(TRIPS))
    np.testing.assert_array_equal(found, alone.run("main", X, np.array(TRIPS)))
    causes = [r.cause.kind for r in session.trace if r.cause is not None]
    return sum(1 for kind in causes if kind in COUNTED)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_other_homes_copy_less_in_each_trip(kind: str, seed: int) -> None:
    """What a call hands over and is handed back counts once, and may be one more than it need."""
    written = loop_program(random.Random(seed), kind)
    least, count = written.least(), made(written)

    calls = sum(TRIPS if loop.name == "inner" else 1 for loop in written.loops.values())
    values = max(len(loop.params) for loop in written.loops.values())
    assert least <= count <= least + calls * values
    assert kind == "nested" or count - least < TRIPS


@pytest.mark.parametrize("kind", KINDS)
def test_most_random_loops_copy_the_least_there_is(kind: str) -> None:
    programs = [loop_program(random.Random(seed), kind) for seed in range(30)]

    exact = sum(written.least() == made(written) for written in programs)

    assert exact >= 20


@pytest.mark.parametrize("kind", KINDS)
def test_random_loops_would_copy_more_elsewhere(kind: str) -> None:
    """With every parameter and result on the host, as they begin and end."""
    programs = [loop_program(random.Random(seed), kind) for seed in range(30)]

    assert sum(written.on_host() > written.least() for written in programs) > 8
