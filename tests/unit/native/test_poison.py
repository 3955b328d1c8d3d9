"""In a checked run dead memory is unreadable, in both executors alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import reference_vm as rv
from reference_vm.bytecode.instructions import Launch, Poison
from reference_vm.program.program import Program
from tests.unit.native.both import Both
from tests.unit.native.programs import SAMPLES, X


def poisoned(program: Program) -> Program:
    """Return a program that poisons its first result before that is read."""
    (code,) = program.executable.functions
    at = next(i for i, one in enumerate(code.instructions) if isinstance(one, Launch))
    launch = code.instructions[at]
    assert isinstance(launch, Launch)
    dead = Poison((launch.targets[0].register,))
    instructions = (*code.instructions[: at + 1], dead, *code.instructions[at + 1 :])
    changed = replace(code, instructions=instructions)
    return replace(program, executable=replace(program.executable, functions=(changed,)))


@pytest.mark.parametrize("checked", [False, True])
def test_what_is_poisoned_is_not_a_number_in_checked_runs(checked: bool) -> None:
    both = Both(poisoned(SAMPLES["chain"].compiled()), checked=checked)
    both.check("main", X)

    assert np.isnan(both.native.run("main", X)).all() == checked


@pytest.mark.parametrize("name", ["loop", "handed twice", "list", "views", "two devices", "branch"])
def test_deaths_that_the_compiler_marks_change_nothing(name: str) -> None:
    sample = SAMPLES[name]
    module = rv.parse(f"module {{\n{sample.text}\n}}")
    both = Both(rv.compile(module, sample.device_map, fuse=False, check=True), checked=True)
    for args in sample.calls:
        both.check("main", *args)
