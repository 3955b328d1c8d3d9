"""How long the IR takes at scale: build, hash, compare, verify, print and parse a long block.

Run ``python -m benchmarks.ir_scale [BINDINGS]``; it prints seconds of the processor and statements
per second for BINDINGS (100,000) and for a tenth of them, and how far each step is from linear. The
exit code is 1 if a step takes more than twice its linear time.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.figures import figure
from reference_vm.ir import structural, verify
from reference_vm.ir.builder import FunctionBuilder, ModuleBuilder
from reference_vm.ir.nodes import Module
from reference_vm.text import parse, print_module
from reference_vm.types import DTYPES, TensorType
from reference_vm.types.dim import symbol

BINDINGS = 100_000
SLACK = 2.0


def build(bindings: int) -> Module:
    """Return a module with one block of so many typed and placed calls."""
    m = ModuleBuilder()
    host, accel = m.vdevice("host"), m.vdevice("accel")
    type_ = TensorType(DTYPES["f32"], (symbol("n"), 4))
    f = FunctionBuilder("main")
    x = f.param("x", type_)
    last = x
    for number in range(bindings):
        device = accel if number % 3 else host
        typed = type_.on(device)
        last = f.body.call("add", last, x, type_=typed, on=device, name="v", axis=number % 7)
    m.add(f.finish(last, type_))
    return m.finish()


@dataclass
class Stopwatch:
    """Seconds of the processor by step; the garbage collector rests while a step runs."""

    seconds: dict[str, float]

    def time(self, name: str, step: Callable[[], Any]) -> Any:
        gc.collect()
        gc.disable()
        started = time.process_time()
        result = step()
        self.seconds[name] = time.process_time() - started
        gc.enable()
        return result


def measure(bindings: int) -> dict[str, float]:
    """Return the seconds that each step takes."""
    watch = Stopwatch({})
    module = watch.time("build", lambda: build(bindings))
    twin = build(bindings)
    watch.time("hash", lambda: structural.digest(module))
    assert watch.time("compare", lambda: structural.equal(module, twin))
    assert watch.time("verify", lambda: verify.check(module)) == []
    text = watch.time("print", lambda: print_module(module))
    parsed = watch.time("parse", lambda: parse(text))
    assert structural.digest(parsed) == structural.digest(module)
    return watch.seconds


def main(bindings: int = BINDINGS) -> int:
    """Print the figures; return 1 if a step is far from linear."""
    small, large = measure(bindings // 10), measure(bindings)
    kept = True
    for step, seconds in large.items():
        print(
            f"{step}: {small[step]:.3f} s for {bindings // 10:,}, {seconds:.3f} s for {bindings:,}"
        )
        figure(f"{step}, statements", bindings / seconds, "/s")
        kept &= figure(f"{step}, over linear", seconds / (10 * small[step]), " times", most=SLACK)
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else BINDINGS))
