"""Random placed programs: right values, right places, exactly the copies of the definition.

`planning_offline` runs as many of them as it is told to.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_vm as rv
from reference_vm.compiler import assemble
from reference_vm.ir import rewrite, structural
from reference_vm.ir.nodes import Function, Module
from reference_vm.ops.catalog import OPS
from reference_vm.passes import pipeline
from reference_vm.passes.catalog import PASSES
from reference_vm.passes.context import PassContext
from reference_vm.text import parse
from reference_vm.types import DeviceMap
from tests.property.path_copies import copies_on_path
from tests.property.placed_programs import MAP, program
from tests.property.planned_modules import modules
from tests.property.test_passes_values import evaluated

SEEDS = st.integers(0, 2**32 - 1)
COUNTED = ("read", "host", "result")
PLANNING = ("bind-vdevices", "infer-types", "plan-devices", "insert-copies", "legalize")


def planned(text: str, *, until: str = "legalize", default: str | None = None) -> Module:
    """Return the program of ``text`` planned as it is written, nothing inlined or left out."""
    names = PLANNING[: PLANNING.index(until) + 1]
    ctx = PassContext(OPS, DeviceMap.parse(MAP), default=default)
    return pipeline.run(parse(text), [PASSES[n]() for n in names], ctx, check=True)


def places(module: Module) -> dict[str, dict[str, str]]:
    """Return where each variable of each function lives, by names."""
    return {
        f.name: {
            **{p.name: str(p.type) for p in f.params},
            **{b.var.name: str(b.var.type) for b in f.body.bindings()},
        }
        for f in module.functions
    }


def check_functions(seed: int) -> None:
    """Check a random module of several functions."""
    rng = random.Random(seed)
    written = modules(rng)
    module = planned(written.text())

    x, y = (np.array([rng.randrange(-3, 4) for _ in range(4)], dtype=np.float32) for _ in "xy")
    session = rv.Session(assemble(module))
    np.testing.assert_array_equal(session.run("main", x, y), written.run(x, y))
    check_operands(session)

    names = places(planned(written.text(), until="plan-devices"))
    assert places(planned(written.text(seed), until="plan-devices")) == names
    again = pipeline.run(
        planned(written.text(), until="plan-devices"),
        [PASSES["plan-devices"]()],
        PassContext(OPS, DeviceMap.parse(MAP)),
    )
    assert structural.equal(again, planned(written.text(), until="plan-devices"))


def check_program(seed: int) -> None:
    """Check a random explicit program with branches on each of its paths."""
    rng = random.Random(seed)
    written = program(rng, explicit=True, branches=True)
    module = planned(written.text())
    (function,) = planned(written.text(), until="plan-devices").functions
    home = {**homes(function), "c0": "host", "c1": "host"}
    returned = (written.result_place or home[written.result]).strip(" @")
    tensors = {
        n: np.array([rng.randrange(-3, 4) for _ in range(4)], dtype=np.float32)
        for n in written.names
    }
    session = rv.Session(assemble(module))
    for c0, c1 in product((True, False), repeat=2):
        conditions = {"c0": np.array(c0), "c1": np.array(c1)}
        found = session.run("main", *tensors.values(), *conditions.values())
        np.testing.assert_array_equal(found, evaluated(written, {**tensors, **conditions}))
        check_operands(session)
        copies = [r for r in session.trace if r.cause is not None and r.cause.kind in COUNTED]
        expected = copies_on_path(written, home, {"c0": c0, "c1": c1}, returned)
        assert len(copies) == expected
        assert sum(r.bytes for r in copies) == 16 * expected


def homes(function: Function) -> dict[str, str]:
    """Return where each value of a planned function lives."""
    variables = (*function.params, *rewrite.bound(function.body))
    return {v.name: v.vdevice.role for v in variables}


def check_operands(session: rv.Session) -> None:
    """Check that every kernel read and wrote on its own device."""
    for record in session.trace:
        if record.kind != "copy":
            assert {a.device for a in (*record.reads, *record.writes)} <= {record.device}


@settings(max_examples=100)
@given(SEEDS)
def test_planned_functions_compute_the_same_wherever_they_are(seed: int) -> None:
    check_functions(seed)


@settings(max_examples=100)
@given(SEEDS)
def test_every_path_makes_the_copies_of_the_definition(seed: int) -> None:
    check_program(seed)


@settings(max_examples=60)
@given(SEEDS, st.sampled_from((None, "a")))
def test_what_inlining_makes_of_functions_is_as_right(seed: int, default: str | None) -> None:
    rng = random.Random(seed)
    written = modules(rng)
    x, y = (np.array([rng.randrange(-3, 4) for _ in range(4)], dtype=np.float32) for _ in "xy")

    session = rv.Session(rv.compile(parse(written.text()), MAP, default=default, check=True))

    np.testing.assert_array_equal(session.run("main", x, y), written.run(x, y))


def test_random_modules_ask_for_several_plans_of_a_function() -> None:
    counts = Counter(
        len(planned(modules(random.Random(s)).text(), until="plan-devices").functions)
        - len(modules(random.Random(s)).functions)
        for s in range(40)
    )

    assert sum(n for more, n in counts.items() if more > 0) > 10
