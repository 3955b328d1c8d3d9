"""How long one operator of a chain takes to run, beside apache-tvm's Relax VM.

Run it where apache-tvm is installed: ``python -m benchmarks.chain_speed``. The chain has 1,000
operators on 8 floats and is not fused on either side, so what counts is what an executor does
around a kernel: find its operands, its memory, and its code. The chain runs once with sizes that
are known when it is compiled, once with a symbolic one that stays, and once with a size that is new
in each run, where ours has planned nothing. A run is timed as a user calls it,
with its trace. The exit code is 1 if a limit is missed.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import count
from typing import Any, Final

import numpy as np

import reference_vm as rv
from benchmarks.figures import figure
from benchmarks.side_by_side import in_turn, ratio
from reference_vm.session import Session

OPERATORS: Final = 1_000
ELEMENTS: Final = 8
ROUNDS: Final = 300
STATIC_LIMIT: Final = 0.15
SYMBOLIC_LIMIT: Final = 0.20
NEW_SIZE_LIMIT: Final = 0.25

Run = Callable[[], object]


def here(dim: str) -> Callable[..., Any]:
    """Return the chain compiled by us, for operands of one dim."""
    kind = f"f32[{dim}]"
    lines, last = ["module {", f"  fn @main(%x: {kind}, %y: {kind}) -> {kind} {{"], "%x"
    for number in range(OPERATORS):
        lines.append(f"    %v{number} = {_op(number)}({last}, %y)")
        last = f"%v{number}"
    module = rv.parse("\n".join([*lines, f"    return {last}", "  }", "}", ""]))
    return partial(Session(rv.compile(module, fuse=False)).run, "main")


def there(dim: str) -> Callable[..., Any]:
    """Return the chain compiled by apache-tvm, without what fuses, for operands of one dim."""
    tvm: Any = import_module("tvm")
    relax, tir = tvm.relax, import_module("tvm.tirx")
    shape = (ELEMENTS,) if dim.isdecimal() else (tir.Var(dim, "int64"),)
    builder = relax.BlockBuilder()
    x, y = (relax.Var(name, relax.TensorType(shape, "float32")) for name in "xy")
    with builder.function("main", [x, y]):
        with builder.dataflow():
            last = x
            for number in range(OPERATORS):
                last = builder.emit(getattr(relax.op, _op(number))(last, y))
            result = builder.emit_output(last)
        builder.emit_func_output(result)
    built = relax.build(builder.get(), "llvm", relax_pipeline=_unfused(tvm))
    run: Callable[..., Any] = relax.VirtualMachine(built, tvm.cpu())["main"]
    return run


def _op(number: int) -> str:
    return ("add", "multiply")[number % 2]


def _unfused(tvm: Any) -> Any:
    """Return apache-tvm's pipeline for processors, without what fuses."""
    stages: Any = import_module("tvm.relax.backend.cpu_generic.pipeline")
    target = tvm.target.Target("llvm")
    legal = [p for p in stages.legalize_passes(target) if "Fuse" not in p.info.name]
    return tvm.transform.Sequential(
        [
            *stages.library_dispatch_passes(target),
            *legal,
            *stages.dataflow_lower_passes(target),
            *stages.finalize_passes(target),
        ]
    )


def operands(elements: int) -> tuple[Any, Any]:
    """Return what the chain is run on: numbers that stay as large as they are."""
    return np.linspace(-1, 1, elements, dtype=np.float32), np.full(elements, 0.5, np.float32)


def pairs(dim: str) -> Mapping[str, Run]:
    """Return both contenders on the same operands, after they gave the same result."""
    tvm: Any = import_module("tvm")
    ours, theirs, given = here(dim), there(dim), operands(ELEMENTS)
    other = tuple(map(tvm.runtime.tensor, given))
    np.testing.assert_allclose(ours(*given), theirs(*other).numpy(), rtol=1e-4)
    return {"reference_vm": partial(ours, *given), "apache-tvm": partial(theirs, *other)}


def changing() -> Mapping[str, Run]:
    """Return both contenders with a size that is new in each run."""
    tvm: Any = import_module("tvm")
    ours, theirs = here("n"), there("n")
    sizes, other_sizes = count(9), count(9)
    given = [operands(n) for n in range(ROUNDS + 100)]
    tensors = [tuple(map(tvm.runtime.tensor, pair)) for pair in given]
    return {
        "reference_vm": lambda: ours(*given[next(sizes)]),
        "apache-tvm": lambda: theirs(*tensors[next(other_sizes)]),
    }


def shown(what: str, spent: Mapping[str, Sequence[float]], limit: float) -> bool:
    """Print the figures of one chain, and return whether the ratio keeps to its limit."""
    for name, times in spent.items():
        print(f"{name}, {what}: {statistics.median(times) / OPERATORS * 1e9:.1f} ns an operator")
    return figure(what, ratio(spent, "reference_vm", "apache-tvm"), " times", most=limit)


def main() -> int:
    contests = (
        ("chain, sizes known", partial(pairs, str(ELEMENTS)), STATIC_LIMIT),
        ("chain, a symbolic size", partial(pairs, "n"), SYMBOLIC_LIMIT),
        ("chain, a new size in each run", changing, NEW_SIZE_LIMIT),
    )
    kept = [
        shown(what, in_turn(make(), rounds=ROUNDS, warm_up=20), limit)
        for what, make, limit in contests
    ]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
