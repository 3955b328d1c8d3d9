"""Placement changes no value: random programs run as written, evaluated here by hand."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_vm as rv
from tests.property.placed_programs import MAP, Program, Statement, program

OPERATORS: dict[str, Any] = {
    "add": np.add,
    "multiply": np.multiply,
    "subtract": np.subtract,
    "negative": np.negative,
    "abs": np.abs,
}


def evaluated(written: Program, values: dict[str, Any]) -> Any:
    known = dict(values)
    _run(written.statements, known)
    return known[written.result]


def _run(statements: Sequence[Statement], known: dict[str, Any]) -> None:
    for s in statements:
        if s.operator == "if":
            inside, result = s.arms[0 if known[s.operands[0]] else 1]
            scope = dict(known)
            _run(inside, scope)
            known[s.name] = scope[result]
        else:
            operands = [known[o] for o in s.operands]
            known[s.name] = OPERATORS.get(s.operator, lambda x: x)(*operands)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(("copy", "replicate")),
    st.sampled_from((MAP, "host=cpu:0,a=sim:0,b=sim:0", "host=sim:0,a=cpu:0,b=sim:1")),
    st.booleans(),
)
def test_placement_changes_no_value(seed: int, policy: str, where: str, fuse: bool) -> None:
    rng = random.Random(seed)
    written = program(rng, branches=rng.random() < 0.5)
    tensors = {
        name: np.array([rng.randrange(-3, 4) for _ in range(4)], dtype=np.float32)
        for name in written.names
    }
    conditions = {name: np.array(rng.random() < 0.5) for name in ("c0", "c1")}
    values = {**tensors, **conditions}

    compiled = rv.compile(
        rv.parse(written.text()), where, policy=policy, fuse=fuse, executor="numpy", check=True
    )
    session = rv.Session(compiled)
    found = session.run("main", *values.values())

    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, evaluated(written, values))
    for record in session.trace:
        if record.kind != "copy":
            assert {a.device for a in record.reads} <= {record.device, "cpu:0"}
