"""Reading and writing at indices, against loops over places, and what is out of range."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from reference_vm.ops.catalog import OPS
from reference_vm.ops.definition import DataError
from reference_vm.ops.scattering import fold_in_order
from reference_vm.types import DType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import BF16, COMPUTED, F16, F32, I8, I64, INTEGERS, NUMERIC, U64
from tests.unit.ops.test_movement import assert_moved, tensor
from tests.unit.ops.values import array, python, rounded

EVERY_DTYPE = pytest.mark.parametrize("dtype", COMPUTED, ids=str)
INDEX_DTYPES = pytest.mark.parametrize("index_dtype", [np.int32, np.int64])


def run(name: str, *operands: Any, **attrs: Any) -> Any:
    return OPS[name].compute(np, *operands, **attrs)


@EVERY_DTYPE
@INDEX_DTYPES
def test_take_reads_slices(dtype: DType, index_dtype: type) -> None:
    x, indices = tensor(dtype, 2, 5, 3), [[0, -1], [4, -5]]
    found = run("take", x, np.asarray(indices, index_dtype), axis=1)
    assert found.shape == (2, 2, 2, 3)
    assert_moved(found, x, [(i, indices[a][b] % 5, k) for i, a, b, k in np.ndindex(2, 2, 2, 3)])


@INDEX_DTYPES
def test_take_at_one_index_drops_the_axis(index_dtype: type) -> None:
    x = tensor(F32, 5)
    found = run("take", x, np.asarray(-2, index_dtype), axis=0)
    assert isinstance(found, np.ndarray)
    assert found.shape == ()
    assert_moved(found, x, [(3,)])


@EVERY_DTYPE
def test_take_along_axis_reads_an_element_a_place(dtype: DType) -> None:
    x, indices = tensor(dtype, 2, 4), [[0, -1, 2], [3, 3, -4]]
    found = run("take_along_axis", x, np.asarray(indices), axis=-1)
    assert_moved(found, x, [(i, indices[i][j] % 4) for i, j in np.ndindex(2, 3)])


def test_take_along_axis_has_the_indices_shape() -> None:
    x = np.arange(12).reshape(3, 4)
    assert run("take_along_axis", x, np.asarray([[1, -1]]), axis=1).tolist() == [[1, 3]]
    with pytest.raises(DataError, match="reach beyond"):
        run("take_along_axis", x, np.zeros((4, 1), int), axis=1)


@EVERY_DTYPE
def test_gather_nd_reads_at_tuples(dtype: DType) -> None:
    x = tensor(dtype, 2, 3, 4)
    found = run("gather_nd", x, np.asarray([[0, 2], [-1, -3]]), batch_dims=0)
    assert_moved(found, x, [(a, b, k) for a, b in ((0, 2), (1, 0)) for k in range(4)])
    found = run("gather_nd", x, np.asarray([[2, 0], [-1, 3]]), batch_dims=1)
    assert_moved(found, x, [(0, 2, 0), (1, 2, 3)])


@EVERY_DTYPE
def test_scatters_put_updates_and_the_last_one_stays(dtype: DType) -> None:
    x = np.zeros((2, 3), to_numpy(dtype))
    updates = array(dtype, [1, 0, 1, 1]).reshape(2, 2)
    found = run(
        "scatter_elements", x, np.asarray([[2, 2], [0, -1]]), updates, axis=1, reduction="none"
    )
    assert [python(row) for row in found] == [[0, 0, 0], [1, 0, 1]]
    found = run("scatter_nd", x, np.asarray([[1], [-2]]), np.ones_like(x), reduction="none")
    assert [python(row) for row in found] == [[1, 1, 1], [1, 1, 1]]


FOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "max": max,
    "min": min,
}


@pytest.mark.parametrize("dtype", NUMERIC, ids=str)
@pytest.mark.parametrize("reduction", FOLDS)
def test_scatters_fold_duplicates_in_order(reduction: str, dtype: DType) -> None:
    start, updates, places = [3, 5, 2], [7, 100, 4, 2], [1, 1, -1, 1]
    expected: list[Any] = list(start)
    for place, update in zip(places, updates, strict=True):
        expected[place] = FOLDS[reduction](expected[place], update)
    x, values = array(dtype, start), array(dtype, updates)
    wanted = [rounded(v, dtype) for v in expected]
    found = run("scatter_elements", x, np.asarray(places), values, axis=0, reduction=reduction)
    assert python(found) == wanted
    tuples = np.asarray(places).reshape(4, 1)
    assert python(run("scatter_nd", x, tuples, values, reduction=reduction)) == wanted


@pytest.mark.parametrize("dtype", [F16, BF16], ids=str)
def test_narrow_scatters_accumulate_in_f32(dtype: DType) -> None:
    ones, places = array(dtype, [1.0] * 4096), np.zeros(4096, np.int64)
    found = run("scatter_elements", array(dtype, [0.0]), places, ones, axis=0, reduction="add")
    assert python(found) == [4096.0]


def test_folding_in_rounds_is_folding_in_order() -> None:
    chosen = np.random.default_rng(5)
    places = chosen.integers(0, 4, (6, 5)), chosen.integers(0, 3, (6, 5))
    updates = chosen.random((6, 5, 2), np.float32) + 0.5
    for name in ("add", "multiply", "maximum"):
        found, expected = np.ones((4, 3, 2), np.float32), np.ones((4, 3, 2), np.float32)
        fold_in_order(np, found, places, updates, getattr(np, name))
        getattr(np, name).at(expected, places, updates)
        assert np.array_equal(found, expected)


CALLS_OUT_OF_RANGE = [
    ("take", (np.zeros((2, 3)), [3]), {"axis": 1}),
    ("take", (np.zeros((2, 3)), [-4]), {"axis": 1}),
    ("take", (np.zeros((0, 3)), [0]), {"axis": 0}),
    ("take_along_axis", (np.zeros((2, 3)), [[3]]), {"axis": 1}),
    ("gather_nd", (np.zeros((2, 3)), [[0, 3]]), {"batch_dims": 0}),
    ("gather_nd", (np.zeros((2, 3)), [[-3]]), {"batch_dims": 0}),
    ("scatter_elements", (np.zeros(2), [2], np.zeros(1)), {"axis": 0, "reduction": "none"}),
    ("scatter_nd", (np.zeros(2), [[-3]], np.zeros(1)), {"reduction": "add"}),
]


@INDEX_DTYPES
@pytest.mark.parametrize(("name", "operands", "attrs"), CALLS_OUT_OF_RANGE)
def test_an_index_out_of_range_is_an_error_that_names_it(
    name: str, operands: tuple[Any, ...], attrs: dict[str, Any], index_dtype: type
) -> None:
    x, indices, *rest = operands
    with pytest.raises(DataError) as raised:
        run(name, x, np.asarray(indices, index_dtype), *rest, **attrs)
    assert raised.value.code == "index-out-of-range"
    assert "of size" in raised.value.message


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_one_hot_gives_the_off_value_out_of_range(dtype: DType) -> None:
    values = array(F32, [5.0, 9.0])
    indices = array(dtype, [0, 2, 3, dtype.maximum, dtype.minimum])
    found = run("one_hot", indices, np.asarray(3), values, axis=-1).tolist()
    off, first, last = [5.0] * 3, [9.0, 5.0, 5.0], [5.0, 5.0, 9.0]
    assert found == [first, last, off, off, off if dtype.minimum else first]


def test_one_hot_counts_from_the_end_and_puts_its_axis_anywhere() -> None:
    found = run("one_hot", array(I8, [-1, -3]), np.asarray(3), array(I8, [0, 1]), axis=0)
    assert found.tolist() == [[0, 1], [0, 0], [1, 0]]


def test_one_hot_of_the_greatest_u64_is_off() -> None:
    found = run("one_hot", array(U64, [2**64 - 1]), np.asarray(2), array(I8, [0, 1]), axis=-1)
    assert found.tolist() == [[0, 0]]


@EVERY_DTYPE
def test_compress_keeps_where_the_condition_holds(dtype: DType) -> None:
    x = tensor(dtype, 3, 4)
    columns = np.asarray([True, False, True])
    assert_moved(run("compress", x, columns, axis=1), x, list(itertools.product(range(3), (0, 2))))
    flat = run("compress", x, np.asarray([False, False, False, False, True]), axis=None)
    assert_moved(flat, x, [(1, 0)])


def test_compress_beyond_the_axis_is_an_error() -> None:
    with pytest.raises(DataError) as raised:
        run("compress", np.zeros(2), np.asarray([False, False, True]), axis=0)
    assert raised.value.code == "index-out-of-range"


def test_no_indices_read_nothing() -> None:
    none = np.zeros((0,), np.int64)
    assert run("take", np.zeros((2, 3)), none, axis=1).shape == (2, 0)
    assert run("take", np.zeros((0, 3)), none, axis=0).shape == (0, 3)
    found = run("scatter_elements", np.ones(2), none, np.zeros(0), axis=0, reduction="add")
    assert found.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_arange_is_pythons_range(dtype: DType) -> None:
    for start, stop, step in ((0, 5, 1), (1, 8, 3), (5, 5, 1), (7, 2, 2)):
        bounds = (np.asarray(v, to_numpy(dtype)) for v in (start, stop, step))
        found = run("arange", *bounds)
        assert found.tolist() == list(range(start, stop, step))
        assert found.dtype == to_numpy(dtype)


def test_arange_goes_down_and_by_fractions() -> None:
    down = (np.asarray(v, np.int64) for v in (5, -1, -2))
    assert run("arange", *down).tolist() == [5, 3, 1]
    halves = (np.asarray(v, np.float32) for v in (0.0, 1.25, 0.5))
    assert run("arange", *halves).tolist() == [0.0, 0.5, 1.0]


@EVERY_DTYPE
def test_full_repeats_its_value(dtype: DType) -> None:
    value = tensor(dtype, 2)[1:].reshape(())
    found = run("full", (2, 3), value)
    assert_moved(found, value, [()] * 6)
    assert run("full", np.asarray([0, 2]), value).shape == (0, 2)


def test_eye_like_marks_a_diagonal() -> None:
    x = np.zeros((2, 3))
    assert run("eye_like", x, k=1, dtype=None).tolist() == [[0, 1, 0], [0, 0, 1]]
    assert run("eye_like", x, k=-1, dtype=I64).tolist() == [[0, 0, 0], [1, 0, 0]]


def test_shape_operators_read_shapes() -> None:
    x = np.zeros((2, 0, 3))
    assert run("shape_of", x, start=0, end=None) == (2, 0, 3)
    assert run("shape_of", x, start=-2, end=9) == (0, 3)
    assert run("size_of", x).tolist() == 0
    assert run("shape_to_tensor", (2, 3)).tolist() == [2, 3]
    assert run("tensor_to_shape", np.asarray([2, 3])) == (2, 3)
    with pytest.raises(DataError, match="no size is negative"):
        run("tensor_to_shape", np.asarray([-1]))
