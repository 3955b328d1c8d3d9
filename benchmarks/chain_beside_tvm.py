"""How long a chain of 1,000 operators takes to compile, beside apache-tvm's ``relax.build``.

Run it where apache-tvm is installed: ``python -m benchmarks.chain_beside_tvm``. Both compile the
same chain in turn, in one process, up to something that is ready to run; both fuse as they do by
default. Ours finds its kernels made before, as in every later process of a user, but not the whole
program; apache-tvm keeps none. The exit code is 1 if ours takes more than half as long.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, Final

import numpy as np
import numpy.typing as npt

import reference_vm as rv
from benchmarks.figures import figure
from benchmarks.side_by_side import in_turn, ratio
from reference_vm.ir.nodes import Module
from reference_vm.jit.object_cache import PROGRAMS
from reference_vm.session import Session

OPERATORS: Final = 1_000

ELEMENTS: Final = 8

LIMIT: Final = 0.5

ROUNDS: Final = 5

STEPS: Final = ("add", "multiply", "tanh", "subtract", "negative", "maximum")

_BINARY: Final = frozenset({"add", "multiply", "subtract", "maximum"})


def ours(operators: int = OPERATORS) -> Module:
    """Return the chain as a module of ours."""
    kind = f"f32[{ELEMENTS}]"
    lines, last = ["module {", f"  fn @main(%x: {kind}) -> {kind} {{"], "%x"
    for number in range(operators):
        op = STEPS[number % len(STEPS)]
        lines.append(f"    %v{number} = {op}({last}{', %x' if op in _BINARY else ''})")
        last = f"%v{number}"
    return rv.parse("\n".join([*lines, f"    return {last}", "  }", "}", ""]))


def theirs(operators: int = OPERATORS) -> Any:
    """Return the chain as a module of Relax."""
    relax: Any = import_module("tvm.relax")
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((ELEMENTS,), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            last = x
            for number in range(operators):
                op = STEPS[number % len(STEPS)]
                apply = getattr(relax.op, op)
                last = builder.emit(apply(last, x) if op in _BINARY else apply(last))
            result = builder.emit_output(last)
        builder.emit_func_output(result)
    return builder.get()


def compiled_here(module: Module) -> Callable[[npt.NDArray[Any]], Any]:
    """Return the chain compiled by us, ready to run."""
    return partial(Session(rv.compile(module)).run, "main")


def compiled_there(module: Any) -> Callable[[npt.NDArray[Any]], Any]:
    """Return the chain compiled by apache-tvm, ready to run."""
    tvm: Any = import_module("tvm")
    machine = tvm.relax.VirtualMachine(tvm.relax.build(module, "llvm"), tvm.cpu())
    return lambda x: machine["main"](tvm.runtime.tensor(x)).numpy()


def main() -> int:
    os.environ[PROGRAMS] = "off"
    mine, other = ours(), theirs()
    x = np.linspace(-1, 1, ELEMENTS, dtype=np.float32)
    np.testing.assert_allclose(compiled_here(mine)(x), compiled_there(other)(x), rtol=1e-4)
    contenders = {
        "reference_vm": partial(compiled_here, mine),
        "apache-tvm": partial(compiled_there, other),
    }
    spent = in_turn(contenders, rounds=ROUNDS)
    for name, times in spent.items():
        print(f"{name}: {sorted(times)[len(times) // 2]:.3f} s")
    found = ratio(spent, "reference_vm", "apache-tvm")
    return int(not figure(f"a chain of {OPERATORS:,} operators", found, " times", most=LIMIT))


if __name__ == "__main__":
    sys.exit(main())
