"""How the time of ``plan-devices`` and ``insert-copies`` grows with the size of the program.

    python benchmarks/planning_scale.py

prints, for a placed program of 10,000 and one of 100,000 operators, the seconds that the two passes
take together (best of several runs), the peak memory that they allocate, and the ratios between
both sizes. The program is a random acyclic graph over three devices: a tenth of the operators are
requested, some values are pinned, hinted or moved, and some are views.
"""

from __future__ import annotations

import argparse
import gc
import random
import time
import tracemalloc

from reference_vm.ir.nodes import Module
from reference_vm.ops.catalog import OPS
from reference_vm.passes import pipeline
from reference_vm.passes.bind_vdevices import BindVdevices
from reference_vm.passes.context import Pass, PassContext
from reference_vm.passes.infer_types import InferTypes
from reference_vm.passes.insert_copies import InsertCopies
from reference_vm.passes.plan_devices import PlanDevices
from reference_vm.text import parse
from reference_vm.types import DeviceMap

SMALL, LARGE = 10_000, 100_000
DEVICES = ("host", "a", "b")
CONTEXT = PassContext(OPS, DeviceMap.parse("host=cpu:0,a=sim:0,b=sim:1"))
PLANNING: tuple[Pass, ...] = (PlanDevices(), InsertCopies())


def program(operators: int, seed: int = 1) -> str:
    """Return the text of a placed program of ``operators`` operators."""
    rng = random.Random(seed)
    lines = ["    %v0 = exp(%x)"]
    for index in range(1, operators):
        near, far = rng.randrange(max(0, index - 8), index), rng.randrange(index)
        lines.append(f"    %v{index}{_expression(rng, near, far)}")
    body = "\n".join(lines)
    return (
        "module {\n  vdevice @host, @a, @b\n"
        f"  fn @main(%x: f32[4], %y: f32[4] @a) -> f32[4] @host {{\n{body}\n"
        f"    return %v{operators - 1}\n  }}\n}}"
    )


def _expression(rng: random.Random, near: int, far: int) -> str:
    roll, device = rng.random(), rng.choice(DEVICES)
    if roll < 0.05:
        return f" = squeeze(%v{near}, axes = [])"
    if roll < 0.07:
        return f" = {rng.choice(('to_vdevice', 'device_copy'))}(%v{near}) @{device}"
    if roll < 0.5:
        return f" = add(%v{near}, %v{far}) @{device}"
    if roll < 0.6:
        return f" = add(%v{near}, %y) @{device}"
    return f" = exp(%v{near})" + (f" @{device}" if roll < 0.9 else "")


def typed(operators: int) -> Module:
    """Return the program of that size, ready to be planned."""
    return pipeline.run(parse(program(operators)), (BindVdevices(), InferTypes()), CONTEXT)


def seconds(module: Module, runs: int) -> float:
    """Return the least time, of ``runs``, that planning ``module`` takes."""
    return min(_once(module) for _ in range(runs))


def _once(module: Module) -> float:
    gc.collect()
    start = time.perf_counter()
    pipeline.run(module, PLANNING, CONTEXT)
    return time.perf_counter() - start


def peak_bytes(module: Module) -> int:
    """Return the most memory that planning ``module`` holds at a time, beyond the module."""
    gc.collect()
    tracemalloc.start()
    pipeline.run(module, PLANNING, CONTEXT)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    modules = {n: typed(n) for n in (SMALL, LARGE)}
    taken = {n: seconds(m, runs) for n, m in modules.items()}
    held = {n: peak_bytes(m) for n, m in modules.items()}
    for n in modules:
        print(f"{n:>7} operators: {taken[n]:.3f} s, peak {held[n] / 2**20:.1f} MiB")
    print(f"ratio of times  {taken[LARGE] / taken[SMALL]:.1f}   (asked: at most 13, below 1.5 s)")
    print(f"ratio of memory {held[LARGE] / held[SMALL]:.1f}")


if __name__ == "__main__":
    main()
