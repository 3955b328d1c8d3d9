"""What fusion gains on ``tanh(x*y + x) * exp(-y) + x`` over 4 million floats.

Run it: ``python -m benchmarks.fused_elementwise``. The contenders take turns, so that a busy
machine is busy for all of them: one fused kernel, seven kernels of one operator each, NumPy, and
JAX where it is installed. Each turn is a burst of runs, and its median counts. Printed are medians
in milliseconds, ratios to NumPy of the same rounds, and the largest error. With JAX, the exit code
is 1 if the best of our medians is above the best of JAX's.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import numpy as np

from benchmarks.figures import figure
from reference_vm.ir.nodes import Binding, Block, Call, Function, Var
from reference_vm.targets.numba.target import NumbaTarget
from reference_vm.types import TensorType
from reference_vm.types.dim import symbol
from reference_vm.types.dtype import F32

ELEMENTS = 4_000_000
ROUNDS = 15
BURST: Final = 5
"""Runs of each contender in a round."""

LIMIT: Final = 1.0
VECTOR = TensorType(F32, (symbol("n"),))
STEPS = (
    ("p", "multiply", "xy"),
    ("q", "add", "px"),
    ("t", "tanh", "q"),
    ("m", "negative", "y"),
    ("e", "exp", "m"),
    ("u", "multiply", "te"),
    ("r", "add", "ux"),
)
"""Result, operator, operands."""


def function(steps: tuple[tuple[str, str, str], ...]) -> Function:
    """Return the primitive function of these steps; what they do not make are parameters."""
    made = {name: Var(name, VECTOR) for name, _, _ in steps}
    params: dict[str, Var] = {}
    bindings: list[Binding] = []
    for name, op, read in steps:
        args = tuple(made[v] if v in made else params.setdefault(v, Var(v, VECTOR)) for v in read)
        bindings.append(Binding(made[name], Call(op, args)))
    body = Block(tuple(bindings), bindings[-1].var)
    return Function("kernel", tuple(params.values()), VECTOR, body)


def fused(x: Any, y: Any, out: Any) -> Callable[[], None]:
    kernel = NumbaTarget().compile(function(STEPS), "cpu")
    return lambda: void(kernel(np, [x, y], [out]))


def separate(x: Any, y: Any, out: Any) -> Callable[[], None]:
    target = NumbaTarget()
    memory = {"x": x, "y": y, **{name: np.empty_like(x) for name, _, _ in STEPS[:-1]}, "r": out}
    calls = []
    for step in STEPS:
        kernel = target.compile(function((step,)), "cpu")
        operands = [memory[p.name] for p in function((step,)).params]
        calls.append((kernel, operands, [memory[step[0]]]))

    def run() -> None:
        for kernel, operands, results in calls:
            kernel(np, operands, results)

    return run


def in_numpy(x: Any, y: Any, out: Any) -> Callable[[], None]:
    return lambda: void(np.add(np.tanh(x * y + x) * np.exp(-y), x, out=out))


def in_jax(x: Any, y: Any, out: Any) -> Callable[[], None]:
    """Return the same in JAX, compiled by it; ``out`` gets the result of a first run."""
    jax: Any = import_module("jax")
    run = jax.jit(lambda a, b: jax.numpy.tanh(a * b + a) * jax.numpy.exp(-b) + a)
    given = jax.numpy.asarray(x), jax.numpy.asarray(y)
    out[...] = run(*given)
    return lambda: void(run(*given).block_until_ready())


def void(_: object) -> None:
    """Forget a result."""


def bursts(contenders: Mapping[str, Callable[[], None]]) -> dict[str, list[float]]:
    """Return the median seconds of each burst of each contender."""
    spent: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(ROUNDS + 1):
        for name, run in contenders.items():
            times = []
            for _ in range(BURST):
                start = time.perf_counter()
                run()
                times.append(time.perf_counter() - start)
            if turn:
                spent[name].append(statistics.median(times))
    return spent


def main() -> int:
    generator = np.random.default_rng(0)
    x, y = (generator.random(ELEMENTS, dtype=np.float32) for _ in range(2))
    wide = x.astype(np.float64), y.astype(np.float64)
    exact = np.tanh(wide[0] * wide[1] + wide[0]) * np.exp(-wide[1]) + wide[0]
    makers = {"fused": fused, "separate": separate, "NumPy": in_numpy}
    if find_spec("jax") is not None:
        makers["JAX"] = in_jax
    outs = {name: np.empty_like(x) for name in makers}
    spent = bursts({name: make(x, y, outs[name]) for name, make in makers.items()})
    for name, seconds in spent.items():
        ratios = [a / b for a, b in zip(seconds, spent["NumPy"], strict=True)]
        print(
            f"{name}: {statistics.median(seconds) * 1e3:.2f} ms, at best "
            f"{min(seconds) * 1e3:.2f} ms, largest error {np.abs(outs[name] - exact).max():.1e}"
        )
        if name in ("fused", "separate"):
            figure(f"{name}, against NumPy", statistics.median(ratios), " times")
    if "JAX" not in spent:
        return 0
    best = min(spent["fused"]) / min(spent["JAX"])
    return int(not figure("fused, against JAX at their best", best, " times", most=LIMIT))


if __name__ == "__main__":
    sys.exit(main())
