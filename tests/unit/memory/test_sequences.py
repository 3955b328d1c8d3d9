"""Runs do not see one another: random programs, one session after the other's sizes and arms.

Each program has a symbol for the side of its matrices, in half of them with bounds, so that its
plan has storages of the upper bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference_vm.compiler import assemble
from reference_vm.passes.eliminate_dead_code import EliminateDeadCode
from reference_vm.program.memory import memory_problems
from reference_vm.program.program import Program
from reference_vm.runtime.peaks import peaks
from reference_vm.session import Session
from tests.unit.fuse.modules import context, placed
from tests.unit.memory.programs import random_program
from tests.unit.memory.test_plans import planned

SIDES = (3, 1, 9, 0, 2, 9, 3)
"""The least, the greatest and others, in no order."""


def program(seed: int, *, plain: bool = False) -> Program:
    signature, body = random_program(seed, "n", plain=plain)
    bounds = " bounds n in 0..9" if seed % 2 else ""
    module = placed(signature + bounds, body)
    return assemble(planned(EliminateDeadCode().run(module, context())))


def arguments(seed: int, turn: int, side: int) -> tuple[Any, ...]:
    generator = np.random.default_rng((seed, turn))
    x, y = generator.standard_normal((2, side, side)).astype(np.float32)
    return x, y, np.array(generator.random() < 0.5)


@pytest.mark.parametrize("seed", range(16))
def test_each_run_is_as_the_first_of_a_session(seed: int) -> None:
    made = program(seed)
    assert memory_problems(made) == []
    session = Session(made, checked=True, interpreter=bool(seed % 3))
    kept = []
    for turn, side in enumerate(SIDES):
        given = arguments(seed, turn, side)
        copies = [a.copy() for a in given]
        found = session.run("main", *given)
        alone = Session(made, interpreter=True).run("main", *given)
        np.testing.assert_array_equal(found, alone)
        for argument, copy in zip(given, copies, strict=True):
            np.testing.assert_array_equal(argument, copy)
        kept.append((found, found.copy()))
        assert session.memory()["cpu:0"].current == 0
    for result, copy in kept:
        np.testing.assert_array_equal(result, copy)


@pytest.mark.parametrize("seed", range(0, 40, 2))
def test_no_more_is_reserved_than_lives(seed: int) -> None:
    """Without bounds, and branches: a value that an arm not taken would have read lives on for it.

    Sizes are large enough for the alignment not to matter.
    """
    session = Session(program(seed, plain=True))
    for turn in range(2):
        session.run("main", *arguments(seed, turn, 64))
        (peak,) = peaks(session.trace).values()
        assert peak.ratio <= 1.1
