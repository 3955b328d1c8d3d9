"""Every elementwise operator, compiled, against its library kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference_vm.diagnostics import CompileError
from reference_vm.ops.catalog import OPS
from reference_vm.ops.definition import OpDef, Trait
from reference_vm.ops.typing import infer_call
from reference_vm.types import NO_ATTRS, Attrs, DType, TensorType
from reference_vm.types.dtype import BF16, BOOL, COMPUTED, F16, F32, F64, I8, I32, U8, U64
from tests.unit.targets.kernels import compiled, library, one_call

ATTRS = {"cast": Attrs(to=I32)}
ABSOLUTE = {"gelu": 20.0}
"""Roundoffs of 1 that are lost to cancellation, of operators that subtract."""

ELEMENTWISE = [o for o in OPS.values() if o.has(Trait.ELEMENTWISE) and o.loops is not None]


def operand_types(op: OpDef, dtype: DType) -> list[TensorType] | None:
    """Operand types of a call on ``dtype``; ``None`` if the operator does not take it."""
    wide, row = TensorType(dtype, (3, 5)), TensorType(dtype, (5,))
    count = len(op.operands)
    types = [wide, row, row][:count]
    if op.name == "where":
        types = [TensorType(BOOL, (5,)), wide, row]
    try:
        infer_call(op, types, ATTRS.get(op.name, NO_ATTRS), [None] * len(types))
    except CompileError:
        return None
    return types


DTYPES = (BOOL, I8, I32, U8, U64, F16, BF16, F32, F64)
"""Those whose arithmetic differs in kind; the others only in width."""

CALLS = [
    pytest.param(op, dtype, id=f"{op.name}-{dtype}")
    for op in ELEMENTWISE
    for dtype in DTYPES
    if (types := operand_types(op, dtype)) is not None
    and not op.can_fail(one_call(op, types, ATTRS.get(op.name, NO_ATTRS)).result)
]


@pytest.mark.parametrize(("op", "dtype"), CALLS)
def test_compiled_elementwise_operator_agrees_with_its_library_kernel(
    op: OpDef, dtype: DType, values: Any
) -> None:
    types = operand_types(op, dtype)
    assert types is not None
    function = one_call(op, types, ATTRS.get(op.name, NO_ATTRS))
    result = function.body.result.tensor
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


@pytest.mark.parametrize("source", COMPUTED, ids=str)
def test_casts_agree_with_the_library(source: DType, values: Any) -> None:
    for target in COMPUTED:
        type_ = TensorType(source, (7, 31))
        function = one_call(OPS["cast"], [type_], Attrs(to=target))
        x = values(type_)
        (found,) = compiled(function)(np, [x], [None])
        (expected,) = library(function)(np, [x], [None])
        np.testing.assert_array_equal(_comparable(found), _comparable(expected))


def test_f64_rounds_once_to_f16() -> None:
    """Just above and below a tie of f16 that f32 cannot tell from it."""
    x = np.array([1 + 2**-11 + 2**-40, 1 + 2**-11 - 2**-40, 1 + 2**-11, 1e300, -1e-300, 65520.0])
    function = one_call(OPS["cast"], [TensorType(F64, (6,))], Attrs(to=F16))
    (found,) = compiled(function)(np, [x], [None])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found, x.astype(np.float16))


def _comparable(x: Any) -> Any:
    return x if x.dtype.kind in "biu" else x.astype(np.float64)  # NumPy knows no NaN of bf16


def assert_close(found: Any, expected: Any, dtype: DType, absolute: float) -> None:
    """Within a few ULP; the operators' own bounds are the conformance tests' business."""
    wide = np.float64
    ulp = 2 * dtype.unit_roundoff
    found, expected = found.astype(wide), expected.astype(wide)
    np.testing.assert_allclose(found, expected, rtol=16 * ulp, atol=absolute + 1e-45)
