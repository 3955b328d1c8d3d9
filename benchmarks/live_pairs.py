"""One program on ``cpu,sim``, timed against itself on this machine, on demand made slower."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import numpy as np

from hettest.backend.discovery import load
from hettest.bench.contest import Contest, contest
from hettest.bench.rounds import Alternation, Sides
from hettest.runner.het import Het

PROGRAM: Final = """
module {
  vdevice @host, @accel
  fn @main(%a: f32[n, n], %b: f32[n, n]) -> f32[n, n] @host {
    %s = add(%a, %b)       @host
    %t = matmul(%a, %b)    @accel
    %d = subtract(%s, %t)  @host
    return %d
  }
}
"""


def prepared(size: int) -> Contest:
    """Return the program ready to be timed, with two matrices of ``size`` by ``size``."""
    generator = np.random.default_rng(0)
    a, b = (generator.random((size, size), np.float32) for _ in range(2))
    het = Het(load("reference_vm"), ("cpu:0", "sim:0"))
    return contest(het, PROGRAM, (a, b), on=het.devices, entry="main", policy="copy", place=())


def alternation(size: int, slower: float, seed: int = 0) -> Alternation:
    """Return the placed program against itself, one side ``slower`` times as long."""
    placed = prepared(size).sides.placed
    return Alternation(Sides(placed, spinning(placed, slower)), seed=seed)


def spinning(run: Callable[[], None], slower: float) -> Callable[[], None]:
    """Return ``run``, followed by a loop that does nothing until it took as long as asked."""
    if slower == 1:
        return run

    def run_and_spin() -> None:
        start = time.perf_counter()
        run()
        end = start + (time.perf_counter() - start) * slower
        while time.perf_counter() < end:
            pass

    return run_and_spin
