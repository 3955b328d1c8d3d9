"""How the time of ``plan-devices`` and ``insert-copies`` grows with the size of the program.

    python -m benchmarks.planning_scale

prints, for placed programs of 10,000 and of 100,000 operators, the seconds of processor time that
the two passes take together (best of several runs), the peak memory that they allocate, and the
ratios between both sizes. Python's collector of cycles rests, as it does in `compile`.

``--program layers`` is a network in layers of sixty operators over three devices, each on one,
most of them placed by a request and the others by what they read, with views and parameters that
all devices read; about one value in ten is copied. ``--program scattered`` draws a device for each
operator, so that most values are copied.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import time
import tracemalloc

from benchmarks.figures import figure
from reference_vm.compiler import collector_at_rest
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
SECONDS, TIMES = 1.5, 13.0
DEVICES = ("host", "a", "b")
CONTEXT = PassContext(OPS, DeviceMap.parse("host=cpu:0,a=sim:0,b=sim:1"))
LAYERS = {"layers": 60, "scattered": 1}
PLANNING: tuple[Pass, ...] = (PlanDevices(), InsertCopies())


def program(operators: int, layer: int, seed: int = 1) -> str:
    """Return the text of a program of ``operators`` operators in layers of ``layer``."""
    rng = random.Random(seed)
    lines = ["    %v0 = exp(%x)"]
    for index in range(1, operators):
        near, far = rng.randrange(max(0, index - 4), index), rng.randrange(max(0, index - 6), index)
        device = DEVICES[index // layer % 3] if layer > 1 else rng.choice(DEVICES)
        lines.append(f"    %v{index} = {_expression(rng, near, far, device)}")
    body = "\n".join(lines)
    return (
        "module {\n  vdevice @host, @a, @b\n"
        f"  fn @main(%x: f32[4], %y: f32[4] @a) -> f32[4] @host {{\n{body}\n"
        f"    return %v{operators - 1}\n  }}\n}}"
    )


def _expression(rng: random.Random, near: int, far: int, device: str) -> str:
    roll = rng.random()
    if roll < 0.05:
        return f"squeeze(%v{near}, axes = [])"
    if roll < 0.06:
        return f"{rng.choice(('to_vdevice', 'device_copy'))}(%v{near}) @{device}"
    if roll < 0.1:
        return f"add(%v{near}, %y) @{device}"
    suffix = f" @{device}" if rng.random() < 0.95 else ""
    return f"add(%v{near}, %v{far}){suffix}" if roll < 0.6 else f"exp(%v{near}){suffix}"


def typed(operators: int, layer: int) -> Module:
    """Return the program of that size, ready to be planned."""
    passes = (BindVdevices(), InferTypes())
    return pipeline.run(parse(program(operators, layer)), passes, CONTEXT)


def seconds(module: Module, runs: int) -> float:
    """Return the least time, of ``runs``, that planning ``module`` takes."""
    return min(_once(module) for _ in range(runs))


def _once(module: Module) -> float:
    gc.collect()
    start = time.process_time()
    with collector_at_rest():
        plan(module)
    return time.process_time() - start


def plan(module: Module) -> Module:
    """Return ``module`` planned, with its copies."""
    for pass_ in PLANNING:
        module = pass_.run(module, CONTEXT)
    return module


def peak_bytes(module: Module) -> int:
    """Return the most memory that planning ``module`` holds at a time, beyond the module."""
    gc.collect()
    tracemalloc.start()
    plan(module)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def main() -> int:
    """Print the figures; return 1 if planning takes too long, or grows too fast."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--program", choices=LAYERS, default="layers")
    asked = parser.parse_args()
    modules = {n: typed(n, LAYERS[asked.program]) for n in (SMALL, LARGE)}
    taken = {n: seconds(m, asked.runs) for n, m in modules.items()}
    held = {n: peak_bytes(m) for n, m in modules.items()}
    for n in modules:
        print(f"{n:>7} operators: {taken[n]:.3f} s, peak {held[n] / 2**20:.1f} MiB")
    kept = figure(f"{LARGE:,} operators", taken[LARGE], " s", most=SECONDS)
    kept &= figure(
        f"{LARGE:,} against {SMALL:,}", taken[LARGE] / taken[SMALL], " times", most=TIMES
    )
    figure(f"memory, {LARGE:,} against {SMALL:,}", held[LARGE] / held[SMALL], " times")
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
