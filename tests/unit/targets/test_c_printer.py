"""The C dialect, compiled as C++, computes the same bits as the LLVM printer."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference_vm.ir.nodes import Function
from reference_vm.loops.c import print_c
from reference_vm.loops.c_prelude import PRELUDE
from reference_vm.loops.nest import Nest
from reference_vm.loops.schedule import schedule
from reference_vm.targets.numba.plan import make_plan
from reference_vm.types import NO_ATTRS, Attrs, TensorType
from reference_vm.types.dtype import BF16, BOOL, F16, F32, F64, I8, I32, U64
from tests.unit.targets.kernels import compiled, one_call
from tests.unit.targets.test_elementwise_kernels import ATTRS, ELEMENTWISE, operand_types
from tests.unit.targets.test_fused_kernels import (
    GELU_BIAS,
    LAYER_NORM,
    ROW_RESULT,
    SOFTMAX,
    TRANSPOSED,
    TWO_RESULTS,
    only_kernel,
    random,
)

COMPILER = shutil.which("g++")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no g++")

CASTS = [I8, I32, U64, BOOL, F16, BF16, F32, F64]


def functions() -> list[tuple[Function, list[TensorType]]]:
    """Every elementwise operator on some dtypes, and every pair of casts."""
    found = []
    for op in ELEMENTWISE:
        for dtype in (F32, BF16, F64, I8, U64):
            types = operand_types(op, dtype)
            if types is None:
                continue
            function = one_call(op, types, ATTRS.get(op.name, NO_ATTRS))
            if not op.can_fail(function.body.result.type):
                found.append((function, types))
    (cast,) = [op for op in ELEMENTWISE if op.name == "cast"]
    for source in CASTS:
        for target in CASTS:
            types = [TensorType(source, (3, 5))]
            found.append((one_call(cast, types, Attrs(to=target)), types))
    return found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """All kernels of this module in one library, named ``k0``, ``k1`` and so on."""
    folder: Path = tmp_path_factory.mktemp("c")
    nests = [compiled(f).nest for f, _ in functions()] + [compiled(f).nest for f in fused()]
    texts = [print_c(n, f"k{i}").removeprefix(PRELUDE) for i, n in enumerate(nests)]
    (folder / "kernels.cpp").write_text("\n".join([PRELUDE, *texts]))
    command = [str(COMPILER), "-std=c++17", "-O0", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([*command, "kernels.cpp", "-o", "kernels.so"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "kernels.so"))


def fused() -> list[Function]:
    sources = (SOFTMAX, LAYER_NORM, GELU_BIAS, TRANSPOSED, TWO_RESULTS, ROW_RESULT)
    return [only_kernel(source) for source in sources]


def run(library: Any, name: str, nest: Nest, inputs: Sequence[Any]) -> list[Any]:
    """Call a kernel as a device would: pointers, scratch, block."""
    inputs = [inputs[i] for i in nest.sources]
    plan = make_plan(nest, inputs)
    results = compiled_shapes(nest, plan.shapes)
    scratch = np.zeros(1 << 12, np.int64)
    pointers = [x.ctypes.data for x in [*inputs, *results]]
    pointers += [scratch.ctypes.data] if schedule(nest).scratch else []
    words = [ctypes.c_int64(w) for w in (plan.block.ctypes.data, *plan.low_high)]
    getattr(library, name)(*map(ctypes.c_void_p, pointers), *words)
    return results


def compiled_shapes(nest: Nest, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    from reference_vm.types.arrays import to_numpy

    return [np.zeros(s, to_numpy(t.dtype)) for s, t in zip(shapes, nest.stores, strict=True)]


def same_bits(found: Any, expected: Any) -> bool:
    """Equal to the bit, but for which NaN it is."""
    if found.dtype.kind in "biu":
        return bool(np.array_equal(found, expected))
    a, b = (np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}") for x in (found, expected))
    wide = found.astype(np.float64), expected.astype(np.float64)
    return bool(((a == b) | (np.isnan(wide[0]) & np.isnan(wide[1]))).all())


def test_elementwise_kernels_give_the_same_bits(built: Any, values: Any) -> None:
    different = []
    for i, (function, types) in enumerate(functions()):
        inputs = [values(t) for t in types]
        kernel = compiled(function)
        (expected,) = kernel(np, inputs, [None])
        (found,) = run(built, f"k{i}", kernel.nest, inputs)
        if not same_bits(found, expected):
            different.append(f"{function.name} of {types[0].dtype} to {expected.dtype}")
    assert not different


@pytest.mark.parametrize("index", range(6))
def test_fused_kernels_agree(built: Any, index: int) -> None:
    function = fused()[index]
    shapes: list[list[tuple[int, ...]]] = [
        [(3, 17)],
        [(2, 3, 40), (40,), (40,)],
        [(5, 7), (7,), ()],
        [(2, 3, 4), (4, 3, 2)],
        [(4, 6), (4, 1)],
        [(2, 3, 4)],
    ]
    inputs = [random(*shape) for shape in shapes[index]]
    if index == 4:
        inputs[1] = inputs[1] > 0
    kernel = compiled(function)
    expected = kernel(np, inputs, [None] * len(kernel.nest.stores))
    found = run(built, f"k{len(functions()) + index}", kernel.nest, inputs)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
