"""Softmax and layer norm compiled from their loop rules are what `compute` gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference_vm.ops.definition import OpDef
from reference_vm.ops.normalization import LAYER_NORM, LOG_SOFTMAX, SOFTMAX
from reference_vm.types import DTYPES, Attrs, TensorType
from reference_vm.types.arrays import NUMPY
from tests.unit.ops_nn.onnx_nodes import compute
from tests.unit.targets.kernels import compiled, one_call

CASES: dict[str, tuple[OpDef, list[tuple[int, ...]], dict[str, Any]]] = {
    "softmax": (SOFTMAX, [(3, 4, 37)], {}),
    "softmax of one": (SOFTMAX, [(3, 1)], {}),
    "log_softmax": (LOG_SOFTMAX, [(5, 17)], {"axis": 1}),
    "layer_norm": (LAYER_NORM, [(3, 4, 5), (5,), (5,)], {}),
    "layer_norm without bias": (LAYER_NORM, [(3, 5), (5,)], {"epsilon": 0.1}),
    "layer_norm of two axes": (LAYER_NORM, [(3, 4, 5), (4, 5), (4, 5)], {"axis": 1}),
}


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("case", CASES)
def test_compiled_rows_agree_with_compute(case: str, dtype: str) -> None:
    op, shapes, attrs = CASES[case]
    draw = np.random.default_rng(1)
    given = [(draw.standard_normal(s) * 4).astype(NUMPY[dtype]) for s in shapes]
    kernel = compiled(one_call(op, [TensorType(DTYPES[dtype], s) for s in shapes], Attrs(attrs)))

    (found,) = kernel(np, given, [np.empty(shapes[0], NUMPY[dtype])])

    expected = compute(op, *given, **attrs).astype(np.float64)
    step = 2.0 ** (1 - DTYPES[dtype].significand)
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=16 * step, atol=8 * step)


@pytest.mark.parametrize("op", [SOFTMAX, LOG_SOFTMAX], ids=lambda op: op.name)
def test_special_rows_are_special_alike(op: OpDef) -> None:
    inf, nan = np.inf, np.nan
    x = np.array([[-inf, -inf], [-inf, 0], [nan, 1], [inf, 1], [inf, inf]], np.float32)
    kernel = compiled(one_call(op, [TensorType(DTYPES["f32"], x.shape)]))

    (found,) = kernel(np, [x], [np.empty_like(x)])

    np.testing.assert_allclose(found, compute(op, x), rtol=1e-6)
