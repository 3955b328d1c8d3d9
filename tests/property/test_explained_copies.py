"""Every copy in the trace of a random program has its explanation, and no other is explained."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings

import reference_vm as rv
from reference_vm.passes.explanation import FunctionPlan, Transfer
from reference_vm.runtime.trace import Record
from tests.property.placed_programs import MAP, program
from tests.property.test_passes import SEEDS

MANY = settings(max_examples=60, deadline=None)
X = np.ones(4, np.float32)


@pytest.mark.parametrize("policy", ["copy", "replicate"])
@MANY
@given(seed=SEEDS)
def test_every_copy_of_a_run_is_explained(policy: str, seed: int) -> None:
    module = rv.parse(program(random.Random(seed), branches=True).text())
    session = rv.Session(rv.compile(module, MAP, policy=policy))
    session.run("main", X, X, X, np.array(seed % 2 == 0), np.array(seed % 3 == 0))
    (plan,) = rv.explain(module, MAP, policy=policy).functions

    for record in (*session.trace, *session.load_trace):
        if record.kind == "copy":
            assert any(explains(t, record, plan) for t in plan.transfers), record


@MANY
@given(SEEDS)
def test_without_branches_every_copy_that_is_explained_is_made(seed: int) -> None:
    module = rv.parse(program(random.Random(seed)).text())
    session = rv.Session(rv.compile(module, MAP))
    session.run("main", X, X, X, np.array(True), np.array(True))
    (plan,) = rv.explain(module, MAP).functions

    made = Counter(_key(r) for r in session.trace if r.kind == "copy")
    said = Counter(
        (str(t.source.device), str(t.target.device), t.cause, t.reader)
        for t in plan.transfers
        if t.cause != "constant"
    )
    assert made == said


def _key(record: Record) -> tuple[str | None, str | None, str, str | None]:
    assert record.cause is not None
    return record.source, record.target, record.cause.kind, record.cause.reader


def explains(transfer: Transfer, record: Record, plan: FunctionPlan) -> bool:
    key = (str(transfer.source.device), str(transfer.target.device))
    assert record.cause is not None
    same = record.cause.value is None or record.cause.value in names(transfer.value, plan)
    return same and (*key, transfer.cause, transfer.reader) == _key(record)


def names(value: int, plan: FunctionPlan) -> Iterator[str]:
    """Yield what a trace may call a value: any value with the same bytes, or a view of one.

    An explicit copy holds what it was copied from, and later transfers may start there.
    """
    found = {r.value: r for r in plan.residences}

    def origin(at: int) -> int:
        before = found[at].moved_from
        return at if before is None else origin(before)

    for residence in plan.residences:
        if origin(residence.value) == origin(value):
            yield residence.name
            yield from (v.text for v in residence.views)


@MANY
@given(SEEDS)
def test_every_value_has_a_place_a_rule_and_a_reason(seed: int) -> None:
    module = rv.parse(program(random.Random(seed), branches=True).text())
    (plan,) = rv.explain(module, MAP).functions

    assert all(r.why.text for r in plan.residences)
    assert len({r.value for r in plan.residences}) == len(plan.residences)
    assert all(t.made.text and t.read.text for t in plan.transfers)
