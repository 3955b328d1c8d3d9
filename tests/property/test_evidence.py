"""Right runs of random programs contradict themselves nowhere: no check of reports complains."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from hettest.backend.protocol import Options
from hettest.devicemap import parse_binding
from hettest.expect import arrivals, evidence
from hettest.outcome import Status
from hettest.runner import TextProgram
from reference_vm.conformance import Backend
from tests.property.placed_programs import MAP, program
from tests.property.planned_modules import modules
from tests.property.test_passes import SEEDS
from tests.unit.hettest.situations import situation

X = np.ones(4, np.float32)


@pytest.mark.parametrize("policy", ["copy", "replicate"])
@settings(max_examples=25, deadline=None)
@given(seed=SEEDS)
def test_programs_with_branches(policy: str, seed: int) -> None:
    text = program(random.Random(seed), branches=True).text()
    _holds(text, (X, X, X, np.array(seed % 2 == 0), np.array(seed % 3 == 0)), policy)


@pytest.mark.parametrize("policy", ["copy", "replicate"])
@settings(max_examples=25, deadline=None)
@given(seed=SEEDS)
def test_modules_of_functions(policy: str, seed: int) -> None:
    _holds(modules(random.Random(seed)).text(), (X, X), policy)


def _holds(text: str, args: tuple[Any, ...], policy: str) -> None:
    """Also where nothing is shown of what was computed, so that the taken arms are not known."""
    program, binding = TextProgram("random", text), parse_binding(MAP)
    for kept in (True, False):
        options = Options(policy, "cpu:0", extra={"intermediates": kept})
        seen = Backend().compile(program, binding, options).run("main", args)
        found = situation(text, args, seen, binding, policy=policy)
        clauses = [*arrivals.check(found), *evidence.check(found)]
        assert all(c.status is Status.PROVEN for c in clauses), clauses
