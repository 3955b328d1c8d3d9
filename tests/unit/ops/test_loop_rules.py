"""The loop rule of every elementwise operator says what its ``compute`` says."""

from __future__ import annotations

import numpy as np
import pytest

from reference_vm.diagnostics import CompileError
from reference_vm.loops.kernel import Elementwise
from reference_vm.loops.scalar import Input
from reference_vm.ops.catalog import OPS
from reference_vm.ops.definition import OpDef, Trait
from reference_vm.ops.typing import fill_attrs, infer_call
from reference_vm.types import Attrs, DType, TensorType
from reference_vm.types.arrays import from_numpy, to_numpy
from reference_vm.types.dtype import BOOL, F32, F64, I8, I32, U8
from tests.unit.ops.scalars import evaluate
from tests.unit.ops.values import Array, array, special

RULED = sorted(
    op.name
    for op in OPS.values()
    if isinstance(op.loops, Elementwise) and op.name not in ("quantize_linear", "dequantize_linear")
)
_ATTRS = {"cast": Attrs(to=I8)}
CANCELS = ("gelu",)
"""Operators whose rule is precise to the scale of the operand, as their definition."""

_TRIED = (F32, F64, I8, I32, U8, BOOL)


def _operands(op: OpDef, dtype: DType) -> list[Array]:
    """Return vectors that hold many combinations of special values, one for each operand."""
    dtypes = [dtype] * len(op.operands)
    if op.name == "where":
        dtypes[0] = BOOL
    grids = np.meshgrid(*(array(d, special(d)) for d in dtypes))
    columns = [g.ravel() for g in grids]
    if Trait.CAN_FAIL in op.traits and dtype.is_integer:
        kept = columns[-1] > 0
        columns = [c[kept] for c in columns]
    return columns


def _takes(op: OpDef, dtype: DType, operands: list[Array]) -> bool:
    types = [TensorType(from_numpy(o.dtype), (len(o),)) for o in operands]
    try:
        infer_call(op, types, _ATTRS.get(op.name, Attrs()), [None] * len(types))
    except CompileError:
        return False
    return True


@pytest.mark.parametrize("name", RULED)
def test_loop_rule_and_compute_agree(name: str) -> None:
    op = OPS[name]
    tried = 0
    for dtype in _TRIED:
        operands = _operands(op, dtype)
        if not _takes(op, dtype, operands):
            continue
        tried += 1
        _check(op, operands)
    assert tried, f"{name} takes none of the dtypes"


def _check(op: OpDef, operands: list[Array]) -> None:
    assert isinstance(op.loops, Elementwise)
    attrs = fill_attrs(op, _ATTRS.get(op.name, Attrs()))
    inputs = [Input(i, from_numpy(o.dtype)) for i, o in enumerate(operands)]
    scalar = op.loops.element(inputs, attrs)
    found = np.broadcast_to(evaluate(scalar, operands), operands[0].shape)
    expected = op.compute(np, *operands, **attrs)
    assert to_numpy(scalar.dtype) == expected.dtype
    if Trait.EXACT in op.traits or expected.dtype.kind != "f":
        assert np.array_equal(found, expected, equal_nan=expected.dtype.kind == "f")
        return
    info = np.finfo(expected.dtype)
    scale = np.abs(operands[0]) if op.name in CANCELS else 0.0
    with np.errstate(all="ignore"):
        slack = 8 * (info.eps * np.maximum(scale, np.abs(expected)) + info.smallest_subnormal)
        near = np.abs(found - expected) <= slack
    wrong = ~(near | (found == expected) | (np.isnan(found) & np.isnan(expected)))
    assert not wrong.any(), [o[wrong] for o in (*operands, found, expected)]
