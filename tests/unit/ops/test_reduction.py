"""Reductions against plain Python: wrapping, rounding once, NaN, and reductions over nothing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from reference_vm.diagnostics import CompileError
from reference_vm.ops.catalog import OPS
from reference_vm.ops.definition import DataError
from reference_vm.ops.typing import infer_call
from reference_vm.types import Attrs, DType, TensorType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import BF16, BOOL, COMPUTED, F16, F32, FLOATS, INTEGERS, NUMERIC
from tests.unit.ops.values import Array, Number, array, python, rounded, same, special

AXES = (None, (0,), (1,), (0, 2), (-1, 0, 1), ())


def reduce(
    name: str, x: Array, axis: tuple[int, ...] | None = None, *, keepdims: bool = False
) -> Array:
    found: Array = OPS[name].compute(np, x, axis=axis, keepdims=keepdims)
    return found


def by_python(
    x: Array, axis: tuple[int, ...] | None, fold: Callable[[Sequence[Number]], Number]
) -> dict[tuple[int, ...], Number]:
    """Return the fold of each group of elements, by the place in the result with kept dims."""
    folded = range(x.ndim) if axis is None else [a % x.ndim for a in axis]
    groups: dict[tuple[int, ...], list[Number]] = {}
    for place in itertools.product(*map(range, x.shape)):
        kept = tuple(0 if i in folded else p for i, p in enumerate(place))
        groups.setdefault(kept, []).append(python(x[place].reshape(1))[0])
    return {place: fold(group) for place, group in groups.items()}


def _cube(dtype: DType) -> Array:
    values = [v for v in special(dtype) if not isinstance(v, float) or abs(v) < 100]
    chosen = (values * 24)[:24]
    return array(dtype, chosen).reshape(2, 3, 4)


FOLDS: dict[str, Callable[[Sequence[Number]], Number]] = {
    "sum": sum,
    "prod": math.prod,
    "max": max,
    "min": min,
}


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("name", FOLDS)
def test_integer_reductions_are_pythons_and_wrap(
    name: str, dtype: DType, axis: tuple[int, ...] | None
) -> None:
    x = _cube(dtype)
    found = reduce(name, x, axis, keepdims=True)
    assert found.dtype == x.dtype
    for place, expected in by_python(x, axis, FOLDS[name]).items():
        assert found[place] == rounded(expected, dtype)
    assert np.array_equal(reduce(name, x, axis).ravel(), found.ravel())


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", ["sum", "max", "min", "mean"])
def test_float_reductions_of_small_integers_are_exact(name: str, dtype: DType) -> None:
    x = array(dtype, range(-7, 17)).reshape(2, 3, 4)
    folds = FOLDS | {"mean": lambda group: sum(group) / len(group)}
    for axis in AXES:
        found = reduce(name, x, axis, keepdims=True)
        for place, expected in by_python(x, axis, folds[name]).items():
            assert python(found[place].reshape(1)) == [rounded(expected, dtype)]


@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_narrow_floats_accumulate_in_f32_and_round_once(dtype: DType) -> None:
    x = array(dtype, [1.0] * 4096)
    assert float(reduce("sum", x)) == 4096.0
    assert float(reduce("mean", x)) == 1.0
    total = OPS["cumulative_sum"].compute(np, x, axis=0, exclusive=False, reverse=False)
    assert float(total[-1]) == 4096.0


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", ["max", "min", "sum", "mean", "prod"])
def test_nan_propagates_wherever_it_stands(name: str, dtype: DType) -> None:
    for place in range(3):
        values = [1.0, 2.0, 3.0]
        values[place] = math.nan
        assert math.isnan(float(reduce(name, array(dtype, values))))


EMPTY: dict[str, Callable[[DType], Number]] = {
    "sum": lambda d: 0,
    "prod": lambda d: 1,
    "max": lambda d: -math.inf if d.is_float else False if d.is_bool else d.minimum,
    "min": lambda d: math.inf if d.is_float else True if d.is_bool else d.maximum,
    "mean": lambda d: math.nan,
    "all": lambda d: True,
    "any": lambda d: False,
}


def _takes(name: str, dtype: DType) -> bool:
    try:
        infer_call(OPS[name], [TensorType(dtype, (0,))], Attrs(), [None])
    except CompileError:
        return False
    return True


@pytest.mark.parametrize("name", EMPTY)
def test_reductions_over_nothing_have_their_identity(name: str) -> None:
    dtypes = [d for d in COMPUTED if _takes(name, d)]
    assert dtypes
    for dtype in dtypes:
        x = np.zeros((2, 0, 3), to_numpy(dtype))
        for axis, shape in ((None, ()), ((1,), (2, 3)), ((0,), (0, 3))):
            found = reduce(name, x, axis)
            assert found.shape == shape
            assert found.dtype == to_numpy(dtype)
            assert all(same(v, rounded(EMPTY[name](dtype), dtype)) for v in python(found))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_an_arg_reduction_over_nothing_is_an_error(name: str) -> None:
    attrs: dict[str, Any] = {"axis": 1, "keepdims": False, "select_last": False}
    with pytest.raises(DataError) as raised:
        OPS[name].compute(np, np.zeros((2, 0)), **attrs)
    assert raised.value.code == "empty-reduction"
    with pytest.raises(CompileError, match="empty-reduction"):
        infer_call(OPS[name], [TensorType(F32, (2, 0))], Attrs(axis=1), [None])


@pytest.mark.parametrize("dtype", NUMERIC, ids=str)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_arg_reductions_find_the_first_or_the_last(name: str, dtype: DType) -> None:
    x = array(dtype, [2, 1, 3, 1, 3, 2]).reshape(1, 6)
    first, last = (2, 4) if name == "argmax" else (1, 3)
    for select_last, expected in ((False, first), (True, last)):
        found = OPS[name].compute(np, x, axis=1, keepdims=True, select_last=select_last)
        assert found.tolist() == [[expected]]
        assert found.dtype == np.int64


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_arg_reductions_find_the_first_nan(name: str, dtype: DType) -> None:
    x = array(dtype, [2.0, math.inf, math.nan, -math.inf, math.nan])
    compute = OPS[name].compute
    assert compute(np, x, axis=0, keepdims=False, select_last=False) == 2
    assert compute(np, x, axis=0, keepdims=False, select_last=True) == 4


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_scans_are_pythons(name: str, *, reverse: bool, exclusive: bool) -> None:
    rows = [[1, 2, 3], [4, 5, 100]]
    initial, step = (0, int.__add__) if name == "cumulative_sum" else (1, int.__mul__)
    for dtype in NUMERIC:
        found = OPS[name].compute(
            np,
            array(dtype, itertools.chain(*rows)).reshape(2, 3),
            axis=-1,
            exclusive=exclusive,
            reverse=reverse,
        )
        for row, got in zip(rows, found, strict=True):
            line = row[::-1] if reverse else row
            totals = list(itertools.accumulate(line, step, initial=initial))
            kept = totals[:-1] if exclusive else totals[1:]
            expected = [rounded(v, dtype) for v in (kept[::-1] if reverse else kept)]
            assert python(got) == expected


def test_scans_of_nothing_are_nothing() -> None:
    for name in ("cumulative_sum", "cumulative_prod"):
        found = OPS[name].compute(
            np, np.zeros((2, 0), np.int8), axis=1, exclusive=True, reverse=True
        )
        assert found.shape == (2, 0)


def test_all_and_any_are_pythons() -> None:
    for values in itertools.product((False, True), repeat=3):
        x = array(BOOL, values)
        assert bool(reduce("all", x)) is all(values)
        assert bool(reduce("any", x)) is any(values)
