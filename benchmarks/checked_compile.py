"""What it costs to compile models of 80 MB of weights with each pass held to its contract.

Run it: ``python -m benchmarks.checked_compile``. The models are made here: a few large matrices,
many small ones, and constants that passes work on (transposed, cast, packed). Compiling with
``check=True`` takes turns with compiling as usual, programs are not kept, and kernels are compiled
before. The exit code is 1 if one takes more than four times as long in the median.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

import reference_vm as rv
from benchmarks.side_by_side import in_turn, ratio, within
from reference_vm.ir.builder import FunctionBuilder, ModuleBuilder
from reference_vm.ir.nodes import Constant, Module, Var
from reference_vm.jit.object_cache import PROGRAMS
from reference_vm.types import DTYPES, TensorType
from reference_vm.types.arrays import from_numpy

LIMIT: Final = 4.0
MEGABYTES: Final = 80
ROUNDS: Final = 5

Layer = Callable[[FunctionBuilder, Var, np.random.Generator, int], Var]


def _matrix(size: int, generator: np.random.Generator) -> np.ndarray[Any, np.dtype[np.float32]]:
    return generator.standard_normal((size, size), dtype=np.float32) * np.float32(size**-0.5)


def _constant(f: FunctionBuilder, array: np.ndarray[Any, Any]) -> Var:
    constant = Constant(from_numpy(array.dtype), array.shape, array.tobytes())
    return f.body.binding(constant, "constant")


def _dense(f: FunctionBuilder, x: Var, generator: np.random.Generator, size: int) -> Var:
    product = f.body.call("matmul", x, _constant(f, _matrix(size, generator)))
    bias = _constant(f, generator.standard_normal(size, dtype=np.float32))
    return f.body.call("relu", f.body.call("add", product, bias))


def _worked_on(f: FunctionBuilder, x: Var, generator: np.random.Generator, size: int) -> Var:
    """Multiply by a transposed matrix, and add a row of one that is cast."""
    weights = f.body.call("permute_dims", _constant(f, _matrix(size, generator)), axes=(1, 0))
    half = _constant(f, generator.standard_normal(size).astype(np.float16))
    row = f.body.call("cast", half, to=DTYPES["f32"])
    return f.body.call("add", f.body.call("matmul", x, weights), row)


def model(layer: Layer, size: int) -> Module:
    """Return a chain of layers with some `MEGABYTES` of weights."""
    generator = np.random.default_rng(0)
    type_ = TensorType(DTYPES["f32"], (4, size))
    f = FunctionBuilder("main")
    last = f.param("x", type_)
    for _ in range(max(1, MEGABYTES * 1_000_000 // (4 * size * size))):
        last = layer(f, last, generator, size)
    m = ModuleBuilder()
    m.add(f.finish(last, type_))
    return m.finish()


MODELS: Final[dict[str, tuple[Layer, int]]] = {
    "a few large matrices": (_dense, 1600),
    "many small matrices": (_dense, 256),
    "matrices that passes work on": (_worked_on, 800),
}


def main() -> int:
    os.environ[PROGRAMS] = "off"
    kept = True
    for name, (layer, size) in MODELS.items():
        module = model(layer, size)
        contenders = {
            "plain": partial(rv.compile, module),
            "checked": partial(rv.compile, module, check=True),
        }
        spent = in_turn(contenders, rounds=ROUNDS, warm_up=1)
        kept &= within(f"checked, {name}", ratio(spent, "checked", "plain"), LIMIT, " times")
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
