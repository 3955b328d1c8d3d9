"""What ``compute`` makes of random and special operands lies within the oracle's bounds."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from reference_vm.diagnostics import CompileError
from reference_vm.ops.catalog import FAMILIES, OPS
from reference_vm.ops.typing import infer_call
from reference_vm.oracle.catalog import MEANINGS
from reference_vm.oracle.definition import Operands
from reference_vm.oracle.estimate import Estimate, Result
from reference_vm.oracle.rounding import Rounding
from reference_vm.types import Attrs, Dim, DType, TensorType
from reference_vm.types.arrays import from_numpy, to_numpy
from reference_vm.types.dtype import BF16, BOOL, F16, F32, F64, I8, I64, U8
from tests.unit.ops.calls import SAMPLES, Given, Sample
from tests.unit.ops.test_shapes_agree import _content, _type, _value, _with_numbers
from tests.unit.ops.values import Array, array, special

JUDGED = [s for s in SAMPLES if s.op in MEANINGS]
DIVIDING = ("floor_divide", "trunc_divide", "remainder", "fmod", "pow")
TRIED = (F32, F64, F16, BF16, I8, U8, I64, BOOL)


def test_only_operators_that_place_values_have_no_meaning() -> None:
    ours = {sample.op for sample in SAMPLES}
    assert ours - MEANINGS.keys() <= {"match_cast"}


def _with_dtype(given: Given, dtype: DType) -> Given:
    """Return an f32 tensor type with another dtype; anything else as it is."""
    if isinstance(given, TensorType) and given.dtype == F32:
        return TensorType(dtype, given.shape)
    return given


def _random(given: Given, chosen: np.random.Generator) -> Any:
    """Return plain values of a type: small numbers, or the least of all indices."""
    zeros = _value(given)
    if not isinstance(given, TensorType) or given.dtype == I64:
        return zeros
    if given.dtype == BOOL:
        return chosen.random(zeros.shape) < 0.5
    low, high = (0, 4) if not given.dtype.is_signed else (-3, 4)
    whole = chosen.integers(low, high, zeros.shape)
    part = chosen.random(zeros.shape) if given.dtype.is_float else 0
    return (whole + part).astype(to_numpy(given.dtype))


def _estimate(value: Any) -> Result | None:
    if value is None or isinstance(value, tuple):
        return value
    return Estimate.exact(value, from_numpy(value.dtype))


def _assert_within(found: Any, result: Result, sample: object) -> None:
    if isinstance(found, tuple):
        assert isinstance(result, tuple)
        for one, other in zip(found, result, strict=True):
            _assert_within(one, other, sample)  # type: ignore[arg-type]
        return
    if not isinstance(result, Estimate):
        assert found == result
        return
    assert to_numpy(result.dtype) == found.dtype
    assert result.value.shape == found.shape
    if not result.dtype.is_float:
        assert np.array_equal(found, result.value)
        return
    with np.errstate(all="ignore"):
        wide, meant = found.astype(result.value.dtype), result.value
        near = (np.abs(wide - meant) <= result.errors) | (wide == meant.astype(np.float64))
        right = near | (np.isnan(wide) & np.isnan(meant)) | np.isinf(result.errors)
    assert right.all(), (wide[~right], meant[~right], result.errors[~right], sample)


def _check(sample: Sample, operands: tuple[Given, ...], values: list[Any]) -> bool:
    """Compare one call, if the operator takes these dtypes; say whether it did."""
    op, types = OPS[sample.op], [_type(o) for o in operands]
    contents = [_content(o) for o in operands]
    try:
        attrs = infer_call(op, types, Attrs(sample.attrs), contents).attrs
    except CompileError:
        return False
    if sample.op in DIVIDING:
        with np.errstate(all="ignore"):
            values[1] = np.where(values[1] > 0, values[1], values[1].dtype.type(1))
    found = op.compute(np, *values, **attrs)
    meant = MEANINGS[sample.op](Operands(tuple(map(_estimate, values)), attrs, Rounding()))
    _assert_within(found, meant, (sample, values))
    return True


@pytest.mark.parametrize("sample", JUDGED, ids=str)
def test_random_operands(sample: Sample) -> None:
    chosen, data = random.Random(str(sample)), np.random.default_rng(7)
    tried = 0
    for dtype in TRIED:
        sizes: dict[str, Dim] = {s: chosen.choice(range(max(1, sample.least), 6)) for s in "nm"}
        sizes["m"] = sizes["n"] if sample.op == "expand" else sizes["m"]
        given = (_with_numbers(o, sizes) for o in sample.operands)
        operands = tuple(_with_dtype(o, dtype) for o in given)
        tried += _check(sample, operands, [_random(o, data) for o in operands])
    assert tried


ELEMENTWISE = [
    op.name
    for family in ("arithmetic", "elementary functions", "activations", "choosing and converting")
    for op in FAMILIES[family]
    if op.name not in ("cast", "clip", "where")
]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_special_operands(name: str) -> None:
    for dtype in TRIED:
        columns = _columns(dtype, len(OPS[name].operands))
        types = tuple(TensorType(dtype, c.shape) for c in columns)
        _check(Sample(name, types), types, list(columns))


def _columns(dtype: DType, count: int) -> list[Array]:
    grids = np.meshgrid(*[array(dtype, special(dtype))] * count)
    return [grid.ravel() for grid in grids]


@pytest.mark.parametrize("to", TRIED, ids=str)
@pytest.mark.parametrize("dtype", TRIED, ids=str)
def test_casts(dtype: DType, to: DType) -> None:
    x = array(dtype, special(dtype))
    type_ = TensorType(dtype, x.shape)
    assert _check(Sample("cast", (type_,), {"to": to}), (type_,), [x])
