"""Random programs with dynamic shapes and control flow hold in every way; faults are found.

A thousand of them: ``python -m tests.dynamic --count=1000``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import reference_vm as rv
from reference_vm.ir.nodes import Call, Closure, If, Match
from reference_vm.ir.rewrite import walk
from tests.dynamic.generating import generate
from tests.dynamic.program import Outcome
from tests.dynamic.running import failure, problems

SEEDS = range(32)


@pytest.mark.parametrize("first", SEEDS[::8])
def test_programs_hold_in_every_way(first: int) -> None:
    for seed in range(first, first + 8):
        program = generate(seed)
        found = list(problems(program))
        assert not found, failure(program, found)


def test_a_seed_makes_one_program() -> None:
    assert generate(7).text == generate(7).text
    assert len({generate(seed).text for seed in SEEDS}) == len(SEEDS)


def test_programs_have_all_that_is_dynamic() -> None:
    seen: Counter[str] = Counter()
    for seed in range(250):
        program = generate(seed)
        seen[program.outcome.error or "a value"] += 1
        for function in rv.parse(program.text).functions:
            bindings = list(walk(function.body))
            seen.update(b.value.op for b in bindings if isinstance(b.value, Call))
            seen.update(type(b.value).__name__ for b in bindings)
    wanted = {"nonzero", "compress", "unique", "top_k", "arange", "reshape", "slice", "tile", "pad"}
    wanted |= {If.__name__, Match.__name__, Closure.__name__, "Construct", "Invoke", "MakeTuple"}
    wanted |= {"shape-mismatch", "index-out-of-range", "division-by-zero", "match_cast"}
    assert {name for name in wanted if seen[name] < 4} == set()


def test_a_wrong_outcome_is_told_with_the_seed_and_the_program() -> None:
    program = next(p for p in map(generate, SEEDS) if p.outcome.leaves)
    shorter = tuple(np.zeros((9, 9, 9)) for _ in program.outcome.leaves)
    wrong = replace(program, outcome=Outcome(shorter, leaves=shorter))

    found = list(problems(wrong))

    assert any("expected float64[9, 9, 9]" in line for line in found)
    assert f"--first={program.seed} --count=1" in failure(wrong, found)
    assert program.text in failure(wrong, found)


def test_an_error_that_was_not_foreseen_is_told() -> None:
    program = next(p for p in map(generate, range(200)) if p.outcome.error)

    found = list(problems(replace(program, outcome=Outcome((), None))))

    assert any(program.outcome.error or "" in line for line in found)
