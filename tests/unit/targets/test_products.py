"""Matrix products by our own kernels: within the bound of sums in order, whatever the shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from reference_vm.diagnostics import DataError
from reference_vm.jit.object_cache import ObjectCache
from reference_vm.jit.panels import pack, packed_shape
from reference_vm.ops.catalog import OPS
from reference_vm.targets.numba.staged import StagedKernel
from reference_vm.targets.numba.target import NumbaTarget
from reference_vm.types import DType, TensorType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import BF16, F16, F32, F64
from tests.unit.targets.kernels import one_call, target

GENERATOR = np.random.default_rng(5)

SHAPES = [
    ((3, 4), (4, 5)),
    ((1, 7), (7, 1)),
    ((1, 300), (300, 1000)),
    ((16, 384), (384, 1152)),
    ((17, 33), (33, 49)),
    ((130, 65), (65, 50)),
    ((2, 3, 4), (4, 5)),
    ((2, 70, 8), (2, 8, 100)),
    ((2, 1, 3, 4), (5, 4, 6)),
    ((5, 2, 3, 4, 6), (5, 1, 3, 6, 7)),
    ((0, 4), (4, 5)),
    ((3, 0), (0, 5)),
    ((3, 4), (4, 0)),
    ((0, 3, 4), (4, 5)),
]

VECTORS = [
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((300,), (300,)),
    ((2, 3, 4), (4,)),
    ((4,), (2, 4, 5)),
]


def numbers(dtype: DType, shape: Sequence[int]) -> Any:
    return GENERATOR.standard_normal(shape).astype(to_numpy(dtype))


def kernel_of(dtype: DType, *shapes: Sequence[int]) -> StagedKernel:
    types = [TensorType(dtype, tuple(shape)) for shape in shapes]
    kernel = target().compile(one_call(OPS["matmul"], types), "cpu")
    assert isinstance(kernel, StagedKernel)
    return kernel


def check(found: Any, x: Any, y: Any, dtype: DType) -> None:
    """Hold a product to the bound of sums in order, and of rounding the result."""
    wide = np.longdouble if dtype == F64 else np.float64
    exact = np.matmul(x.astype(wide), y.astype(wide))
    assert found.shape == exact.shape
    assert found.dtype == to_numpy(dtype)
    sizes = np.matmul(np.abs(x.astype(wide)), np.abs(y.astype(wide)))
    sums = F32 if dtype in (F16, BF16) else dtype
    bound = sizes * sums.unit_roundoff * (x.shape[-1] + 1)
    if dtype in (F16, BF16):
        bound = bound + np.abs(exact) * dtype.unit_roundoff * 1.001 + 2.0**-24
    assert (np.abs(found.astype(wide) - exact) <= bound).all()


@pytest.mark.parametrize("dtype", [F32, F64, F16, BF16], ids=str)
@pytest.mark.parametrize(("left", "right"), SHAPES, ids=str)
def test_a_product_is_within_the_bound(dtype: DType, left: Any, right: Any) -> None:
    kernel, x, y = kernel_of(dtype, left, right), numbers(dtype, left), numbers(dtype, right)
    assert kernel.native([left, right]) is not None
    check(kernel(np, [x, y], [None])[0], x, y, dtype)


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize(("left", "right"), VECTORS, ids=str)
def test_vectors_are_multiplied(dtype: DType, left: Any, right: Any) -> None:
    kernel, x, y = kernel_of(dtype, left, right), numbers(dtype, left), numbers(dtype, right)
    check(kernel(np, [x, y], [None])[0], x, y, dtype)


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 8, 9, 31, 63, 64, 65, 200])
@pytest.mark.parametrize("columns", [1, 15, 16, 17, 47, 48, 49, 96, 200])
def test_every_remainder_of_rows_and_columns_is_computed(rows: int, columns: int) -> None:
    x, y = numbers(F32, (rows, 20)), numbers(F32, (20, columns))
    out = np.full((rows, columns), np.nan, np.float32)
    kernel_of(F32, x.shape, y.shape)(np, [x, y], [out])
    check(out, x, y, F32)


def test_nothing_is_written_past_the_result() -> None:
    x, y = numbers(F32, (5, 20)), numbers(F32, (20, 50))
    memory = np.full(5 * 50 + 128, 7.0, np.float32)
    out = memory[64:-64].reshape(5, 50)
    kernel_of(F32, x.shape, y.shape)(np, [x, y], [out])
    assert (memory[:64] == 7.0).all()
    assert (memory[-64:] == 7.0).all()


@pytest.mark.parametrize("rows", [4, 80])
def test_infinities_and_nans_stay_in_their_rows_and_columns(rows: int) -> None:
    x, y = np.ones((rows, 40), np.float32), np.ones((40, 60), np.float32)
    x[1, 3], y[5, 55] = np.inf, np.nan
    (found,) = kernel_of(F32, x.shape, y.shape)(np, [x, y], [None])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found, np.matmul(x, y))


@pytest.mark.parametrize(("left", "right"), [((9, 300), (300, 200)), ((100, 300), (300, 200))])
def test_threads_change_no_bit(left: Any, right: Any) -> None:
    x, y = numbers(F32, left), numbers(F32, right)
    function = one_call(OPS["matmul"], [TensorType(F32, left), TensorType(F32, right)])
    alone, several = (
        NumbaTarget(cache=ObjectCache(None), threads=n).compile(function, "cpu") for n in (1, 3)
    )
    (expected,) = alone(np, [x, y], [None])
    (found,) = several(np, [x, y], [None])
    np.testing.assert_array_equal(found.view(np.uint32), expected.view(np.uint32))


def test_rows_of_a_product_do_not_depend_on_how_many_there_are() -> None:
    x, y = numbers(F32, (200, 300)), numbers(F32, (300, 70))
    kernel = kernel_of(F32, x.shape, y.shape)
    (whole,) = kernel(np, [x, y], [None])
    for rows in (1, 3, 20, 100):
        (part,) = kernel(np, [x[:rows], y], [None])
        np.testing.assert_array_equal(part, whole[:rows])


def test_dims_that_do_not_fit_are_told_apart() -> None:
    kernel = kernel_of(F32, (2, 3, 4), (2, 4, 5))
    with pytest.raises(DataError, match="a product of 4 columns and 6 rows"):
        kernel.native([(2, 3, 4), (2, 6, 5)])
    with pytest.raises(DataError, match="do not broadcast"):
        kernel.native([(2, 3, 4), (3, 4, 5)])


@pytest.mark.parametrize(("rows", "columns"), [(3, 48), (5, 50), (0, 7), (7, 0), (2, 1)])
def test_panels_hold_the_matrix_column_by_column(rows: int, columns: int) -> None:
    matrix = numbers(F32, (rows, columns))
    panels = pack(matrix, 48)
    assert panels.shape == packed_shape(rows, columns, 48)
    flat = panels.transpose(1, 0, 2).reshape(rows, panels.shape[0] * 48)
    np.testing.assert_array_equal(flat[:, :columns], matrix)
    assert not flat[:, columns:].any()
