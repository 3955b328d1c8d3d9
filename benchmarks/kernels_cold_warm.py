"""How long it takes to have 40 kernels, compiled anew and found on disk.

Run it: ``python -m benchmarks.kernels_cold_warm``. Each measurement is a process of its own, since
a process compiles nothing twice. Printed are the seconds of the processor from the primitive
functions to callable kernels, imports apart, and how many kernels LLVM compiled: in a second run
none. The exit code is 1 if it takes more than 3 s cold, or more than 50 ms warm at best.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.side_by_side import within
from reference_vm.ir.nodes import Binding, Block, Call, Function, Var
from reference_vm.jit.object_cache import ObjectCache
from reference_vm.ops.catalog import OPS
from reference_vm.ops.typing import infer_call
from reference_vm.targets.numba.kernel import CompiledKernel
from reference_vm.targets.numba.target import NumbaTarget
from reference_vm.types import Attrs, TensorType
from reference_vm.types.dim import symbol
from reference_vm.types.dtype import F32

COUNT = 40
COLD_LIMIT, WARM_LIMIT = 3.0, 0.05
WARM_RUNS = 3
STEPS = ("tanh", "exp", "relu", "sigmoid", "sqrt", "abs", "log", "erf", "sin", "negative")
MATRIX = TensorType(F32, (symbol("n"), symbol("m")))


def elementwise(number: int) -> Function:
    """Return a chain of five operators on two matrices, another one for each number."""
    x, y = Var("x", MATRIX), Var("y", MATRIX)
    first = Var("s", MATRIX)
    bindings = [Binding(first, Call("add", (x, y)))]
    last = first
    for i in range(4):
        op = OPS[STEPS[(number // len(STEPS) ** i + number * i + i) % len(STEPS)]]
        attrs = infer_call(op, [MATRIX], Attrs(), [None]).attrs
        bindings.append(Binding(Var(f"v{i}", MATRIX), Call(op.name, (last,), attrs)))
        last = bindings[-1].var
    return Function(f"chain{number}", (x, y), MATRIX, Block(tuple(bindings), last))


def softmax(number: int) -> Function:
    """Return softmax over rows after one more operator."""
    chain = elementwise(number)
    start = tuple(chain.body.bindings())[:2]
    column = TensorType(F32, (symbol("n"), 1))
    rows = Attrs(axis=(1,), keepdims=True)
    top, total = Var("top", column), Var("total", column)
    apart, e, result = Var("d", MATRIX), Var("e", MATRIX), Var("r", MATRIX)
    bindings = (
        *start,
        Binding(top, Call("max", (start[-1].var,), rows)),
        Binding(apart, Call("subtract", (start[-1].var, top))),
        Binding(e, Call("exp", (apart,))),
        Binding(total, Call("sum", (e,), rows)),
        Binding(result, Call("divide", (e, total))),
    )
    return Function(f"softmax{number}", chain.params, MATRIX, Block(bindings, result))


def measure(folder: Path) -> dict[str, float]:
    """Compile all kernels with a cache in ``folder``; return seconds and counts."""
    functions = [elementwise(i) for i in range(COUNT - len(STEPS))]
    functions += [softmax(i) for i in range(len(STEPS))]
    target = NumbaTarget(cache=ObjectCache(folder))
    _ = target.machine
    start = time.process_time()
    for function in functions:
        kernel = target.compile(function, "cpu")
        assert isinstance(kernel, CompiledKernel), "each has a loop nest"
        assert kernel.entry, "the code is made when it is first wanted"
    seconds = time.process_time() - start
    counts = target.statistics
    return {"seconds": seconds, "compiled": counts.compiled, "loaded": counts.loaded}


def elsewhere(folder: str) -> dict[str, float]:
    """Measure in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.kernels_cold_warm", folder]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(run.stdout)
    return found


def main() -> int:
    if len(sys.argv) > 1:
        print(json.dumps(measure(Path(sys.argv[1]))))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        cold, *warm = [elsewhere(folder) for _ in range(1 + WARM_RUNS)]
    best = min(warm, key=lambda found: found["seconds"])
    for state, found in (("cold", cold), ("warm", best)):
        print(f"{state}: {found['compiled']:.0f} compiled, {found['loaded']:.0f} loaded")
    kept = within("cold", cold["seconds"], COLD_LIMIT, " s")
    kept &= within("warm", best["seconds"], WARM_LIMIT, " s")
    return int(not kept or best["compiled"] > 0)


if __name__ == "__main__":
    sys.exit(main())
