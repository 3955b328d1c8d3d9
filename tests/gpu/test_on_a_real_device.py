"""Placed programs on a real NVIDIA device; skipped, with the reason, where there is none."""

from __future__ import annotations

import numpy as np
import pytest

import reference_vm as rv
from reference_vm.devices.catalog import describe
from reference_vm.types import DeviceName

CUDA = describe(DeviceName("cuda", 0))

pytestmark = pytest.mark.skipif(not CUDA.available, reason=f"cuda:0: {CUDA.reason}")

PROGRAM = """module {
  vdevice @host, @accel
  fn @main(%a: f32[n, n], %b: f32[n, n], %c: f32[n, n]) -> f32[n, n] @host {
    %s = add(%a, %b)       @host
    %t = matmul(%b, %c)    @accel
    %u = exp(%t)           @accel
    %d = subtract(%s, %u)  @host
    return %d
  }
}
"""


def test_a_placed_run_agrees_with_the_cpu_and_gives_its_memory_back() -> None:
    module = rv.parse(PROGRAM)
    arrays = [np.random.default_rng(i).random((33, 33)).astype(np.float32) for i in range(3)]
    alone = rv.Session(rv.compile(module, "host=cpu:0,accel=cpu:0")).run("main", *arrays)
    session = rv.Session(rv.compile(module, "host=cpu:0,accel=cuda:0"), checked=True)
    for _ in range(3):
        np.testing.assert_allclose(session.run("main", *arrays), alone, rtol=1e-4)
    assert session.memory()["cuda:0"].current == 0
    moved = [(r.source, r.target) for r in session.trace if r.kind == "copy"]
    assert moved == [("cpu:0", "cuda:0"), ("cpu:0", "cuda:0"), ("cuda:0", "cpu:0")]
