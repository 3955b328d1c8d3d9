"""Functions that call functions: deep chains are planned, loops run with one copy for all trips."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import reference_vm as rv
from reference_vm.ops.catalog import OPS
from reference_vm.passes import pipeline
from reference_vm.passes.catalog import PASSES
from reference_vm.passes.context import PassContext
from reference_vm.passes.instances import LIMIT
from reference_vm.text import parse
from reference_vm.types import DeviceMap
from tests.unit.passes.test_replanning import LOOP

MAP = "host=cpu:0,a=sim:0,b=sim:1"
PLANNING = ("bind-vdevices", "infer-types", "plan-devices", "insert-copies")


def planned(text: str) -> rv.Module:
    ctx = PassContext(OPS, DeviceMap.parse(MAP))
    return pipeline.run(parse(text), [PASSES[n]() for n in PLANNING], ctx)


def chain(length: int) -> str:
    """Return a module in which each of ``length`` functions calls the next."""
    functions = [
        f"fn @f{i}(%x: f32[4]) -> f32[4] {{ %y = exp(%x) @a %z = @f{i + 1}(%y) return %z }}"
        for i in range(length)
    ]
    last = f"fn @f{length}(%x: f32[4]) -> f32[4] {{ %y = abs(%x) return %y }}"
    main = "fn @main(%x: f32[4]) -> f32[4] attrs { entry = true } { %y = @f0(%x) return %y }"
    return f"module {{ vdevice @host, @a, @b {' '.join((*functions, last, main))} }}"


def test_a_chain_of_calls_needs_no_stack() -> None:
    length = sys.getrecursionlimit() + 500

    module = planned(chain(length))

    assert len(module.functions) == length + 2
    assert module.by_name["f7"].params[0].vdevice.role == "a"


def test_a_function_has_at_most_so_many_plans() -> None:
    places = [f"@{x}" for x in ("host", "a", "b")]
    params = ", ".join(f"%{p}{i}: f32[4] {place}" for p in "pqr" for i, place in enumerate(places))
    lines = "\n".join(
        f"%c{i}{j}{k} = @f(%p{i}, %q{j}, %r{k})"
        for i in range(3)
        for j in range(3)
        for k in range(3)
    )
    module = planned(f"""module {{ vdevice @host, @a, @b
      fn @f(%x: f32[4], %y: f32[4], %z: f32[4]) -> f32[4] {{
        %s = add(%x, %y) @host %t = add(%s, %z) @host return %t
      }}
      fn @main({params}) -> f32[4] attrs {{ entry = true }} {{
        {lines} return %c222
      }} }}""")

    assert sum(1 for f in module.functions if f.name.startswith("f")) == LIMIT


@pytest.mark.parametrize("trips", [0, 1, 7, 300])
def test_a_loop_copies_what_its_trips_read_once(trips: int) -> None:
    program = rv.compile(parse(LOOP), MAP, check=True)
    session = rv.Session(program)
    x = np.array([0.5, -1.0, 0.25, 0.0], np.float32)

    found = session.run("main", np.array(trips), x)

    expected, v = x.copy(), np.exp(x)
    for _ in range(trips):
        expected = (expected + v) + np.exp(v)
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    moved = [r.cause.value for r in session.trace if r.cause is not None and r.cause.kind == "read"]
    assert moved.count("main/%v") == 1
    assert sum(1 for value in moved if value == "trips/%w") == trips
