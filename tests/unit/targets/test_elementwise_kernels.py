"""Every elementwise operator, compiled, against its library kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference_vm.ops.catalog import OPS
from reference_vm.ops.definition import OpDef, Trait
from reference_vm.ops.typing import infer_call
from reference_vm.types import NO_ATTRS, Attrs, DType, TensorType
from reference_vm.types.dtype import BOOL, COMPUTED, I32
from tests.unit.targets.kernels import compiled, library, one_call

ATTRS = {"cast": Attrs(to=I32)}
ABSOLUTE = {"gelu": 20.0}
"""Roundoffs of 1 that are lost to cancellation, of operators that subtract."""

ELEMENTWISE = [o for o in OPS.values() if o.has(Trait.ELEMENTWISE) and o.loops is not None]


def _types(op: OpDef, dtype: DType) -> list[TensorType] | None:
    """Operand types of a call on ``dtype``; ``None`` if the operator does not take it."""
    wide, row = TensorType(dtype, (3, 5)), TensorType(dtype, (5,))
    count = len(op.operands)
    types = [wide, row, row][:count]
    if op.name == "where":
        types = [TensorType(BOOL, (5,)), wide, row]
    try:
        infer_call(op, types, ATTRS.get(op.name, NO_ATTRS), [None] * len(types))
    except Exception:
        return None
    return types


CALLS = [
    pytest.param(op, dtype, id=f"{op.name}-{dtype}")
    for op in ELEMENTWISE
    for dtype in COMPUTED
    if _types(op, dtype) is not None
]


@pytest.mark.parametrize(("op", "dtype"), CALLS)
def test_compiled_elementwise_operator_agrees_with_its_library_kernel(
    op: OpDef, dtype: DType, values: Any
) -> None:
    types = _types(op, dtype)
    assert types is not None
    function = one_call(op, types, ATTRS.get(op.name, NO_ATTRS))
    result = function.body.result.tensor
    if op.can_fail(result):
        pytest.skip("may fail: runs in the library")
    inputs = [values(t) for t in types]

    (found,) = compiled(function)(np, inputs, [None])
    (expected,) = library(function)(np, inputs, [None])

    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    if op.has(Trait.EXACT) or not result.dtype.is_float:
        np.testing.assert_array_equal(_comparable(found), _comparable(expected))
    else:
        absolute = ABSOLUTE.get(op.name, 0.0) * result.dtype.unit_roundoff
        assert_close(found, expected, result.dtype, absolute)


def _comparable(x: Any) -> Any:
    return x if x.dtype.kind in "biu" else x.astype(np.float64)  # NumPy knows no NaN of bf16


def assert_close(found: Any, expected: Any, dtype: DType, absolute: float) -> None:
    """Within a few ULP; the operators' own bounds are the conformance tests' business."""
    wide = np.float64
    ulp = 2 * dtype.unit_roundoff
    found, expected = found.astype(wide), expected.astype(wide)
    np.testing.assert_allclose(found, expected, rtol=16 * ulp, atol=absolute + 1e-45)
