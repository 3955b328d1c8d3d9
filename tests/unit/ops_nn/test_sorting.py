"""top_k, nonzero and unique: NaN is the greatest, and equal elements keep their order."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from reference_vm.diagnostics import CompileError
from reference_vm.ops.definition import DataError
from reference_vm.ops.sorting import NONZERO, TOP_K, UNIQUE
from reference_vm.types import DTYPES, UNKNOWN, TensorType, TupleType
from reference_vm.types.dim import symbol
from tests.unit.ops_nn.onnx_nodes import (
    array_type,
    by_evaluator,
    by_onnxruntime,
    check_inferred,
    compute,
    infer,
)

F32, I64 = DTYPES["f32"], DTYPES["i64"]


def k(count: int) -> Any:
    return np.array([count], np.int64)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_top_k_agrees_with_onnxruntime(count: int, axis: int, largest: bool) -> None:
    x = np.random.default_rng(4).integers(0, 4, (3, 4, 5)).astype(np.float32)

    found = compute(TOP_K, x, k(count), axis=axis, largest=largest)

    if count:
        values, indices = by_onnxruntime(
            "TopK", [x, k(count)], outputs=2, axis=axis, largest=int(largest)
        )
        np.testing.assert_array_equal(found[0], values)
        np.testing.assert_array_equal(found[1], indices)
    type_ = infer(TOP_K, [array_type(x), array_type(k(1))], [None, (count,)], axis=axis)
    check_inferred(type_, found, {})


def test_nan_is_the_greatest_and_the_first_nan_comes_first() -> None:
    x = np.array([1, np.nan, np.inf, np.nan, -np.inf, 2], np.float32)

    values, indices = compute(TOP_K, x, k(6))
    np.testing.assert_array_equal(indices, [1, 3, 2, 5, 0, 4])
    np.testing.assert_array_equal(values, x[indices])

    _, indices = compute(TOP_K, x, k(6), largest=False)
    np.testing.assert_array_equal(indices, [4, 0, 5, 2, 1, 3])


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float16, ml_dtypes.bfloat16])
def test_top_k_of_every_kind_of_number(dtype: Any) -> None:
    x = np.array([3, 1, 2, 3], dtype)

    values, indices = compute(TOP_K, x, k(3))

    assert values.dtype == dtype
    np.testing.assert_array_equal(indices, [0, 3, 2])


def test_the_count_of_top_k_may_be_a_symbol_or_unknown() -> None:
    n, scalar = symbol("n"), TensorType(I64, (1,))

    known = infer(TOP_K, [TensorType(F32, (4, 10)), scalar], [None, (n,)])
    unknown = infer(TOP_K, [TensorType(F32, (4, 10)), scalar])

    assert known == TupleType((TensorType(F32, (4, n)), TensorType(I64, (4, n))))
    assert unknown == TupleType((TensorType(F32, (4, UNKNOWN)), TensorType(I64, (4, UNKNOWN))))


def test_more_than_there_is_cannot_be_taken() -> None:
    with pytest.raises(CompileError, match="first 11"):
        infer(TOP_K, [TensorType(F32, (4, 10)), TensorType(I64, (1,))], [None, (11,)])
    with pytest.raises(DataError, match="first 3"):
        compute(TOP_K, np.zeros(2, np.float32), k(3))


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 0), ()])
@pytest.mark.parametrize("dtype", [np.float32, np.bool_, np.int8])
def test_nonzero_agrees_with_the_evaluator(shape: tuple[int, ...], dtype: Any) -> None:
    x = np.asarray(np.random.default_rng(1).integers(0, 2, shape)).astype(dtype)

    found = compute(NONZERO, x)

    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, by_evaluator("NonZero", [x])[0])


def test_nonzero_of_a_scalar_has_no_rows() -> None:
    assert compute(NONZERO, np.array(3.0, np.float32)).shape == (0, 1)
    assert compute(NONZERO, np.array(0.0, np.float32)).shape == (0, 0)
    assert infer(NONZERO, [TensorType(F32, (2, 3))]) == TensorType(I64, (2, UNKNOWN))


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_unique_agrees_with_onnxruntime(axis: int | None, in_order: bool) -> None:
    x = np.random.default_rng(2).integers(0, 2, (4, 6, 2)).astype(np.float32)

    found = compute(UNIQUE, x, axis=axis, sorted=in_order)

    attrs: dict[str, Any] = {} if axis is None else {"axis": axis % 3}
    expected = by_onnxruntime("Unique", [x], outputs=4, sorted=int(in_order), **attrs)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_unique_by_hand() -> None:
    x = np.array([2, 1, 1, 3, 4, 3], np.float32)

    in_order, by_place = compute(UNIQUE, x), compute(UNIQUE, x, sorted=False)

    assert [v.tolist() for v in in_order] == [
        [1, 2, 3, 4],
        [1, 0, 3, 4],
        [1, 0, 0, 2, 3, 2],
        [2, 1, 2, 1],
    ]
    assert [v.tolist() for v in by_place] == [
        [2, 1, 3, 4],
        [0, 1, 3, 4],
        [0, 1, 1, 2, 3, 2],
        [1, 2, 2, 1],
    ]


def test_nan_is_one_element_and_both_zeros_are_one() -> None:
    x = np.array([np.nan, 2, 0.0, np.nan, -0.0], np.float32)

    values, first, inverse, counts = compute(UNIQUE, x)

    np.testing.assert_array_equal(values, [0, 2, np.nan])
    assert [v.tolist() for v in (first, inverse, counts)] == [
        [2, 1, 0],
        [2, 1, 0, 2, 0],
        [2, 1, 2],
    ]


@pytest.mark.parametrize("axis", [None, 0])
def test_nothing_has_no_elements(axis: int | None) -> None:
    assert [len(v) for v in compute(UNIQUE, np.zeros((0,), np.float32), axis=axis)] == [0, 0, 0, 0]


def test_slices_without_elements_are_all_the_same() -> None:
    values, first, inverse, counts = compute(UNIQUE, np.zeros((3, 0), np.float32), axis=0)

    assert values.shape == (1, 0)
    assert [v.tolist() for v in (first, inverse, counts)] == [[0], [0, 0, 0], [3]]


def test_the_types_of_unique() -> None:
    n = symbol("n")
    one = TensorType(I64, (UNKNOWN,))

    assert infer(UNIQUE, [TensorType(F32, (n, 3))]) == TupleType(
        (TensorType(F32, (UNKNOWN,)), one, TensorType(I64, (3 * n,)), one)
    )
    assert infer(UNIQUE, [TensorType(F32, (n, 3))], axis=0) == TupleType(
        (TensorType(F32, (UNKNOWN, 3)), one, TensorType(I64, (n,)), one)
    )
