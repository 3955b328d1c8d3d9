"""Reads and writes at indices as machine code do what the library does, and find what is bad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_vm.jit.object_cache import ObjectCache
from reference_vm.ops.definition import DataError
from reference_vm.targets.numba import gather_code, gathering
from reference_vm.targets.numba.target import NumbaTarget
from tests.unit.targets.judged import (
    as_the_library,
    function_of,
    native,
    refused,
    run_in_parts,
    uncached,
)

Array = Any

RANDOM = np.random.default_rng(4)
DTYPES = [np.float32, np.int64, np.uint8, np.float16, np.bool_]


def _numbers(*shape: int, dtype: Any = np.float32) -> Array:
    return RANDOM.integers(0, 100, shape).astype(dtype)


def _places(size: int, shape: Sequence[int], dtype: Any = np.int64) -> Array:
    return RANDOM.integers(-size, size, tuple(shape)).astype(dtype)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
    st.lists(st.integers(0, 4), max_size=2),
    st.data(),
    st.sampled_from(DTYPES),
    st.sampled_from([np.int32, np.int64]),
)
def test_any_take(dims: list[int], lead: list[int], data: Any, dtype: Any, index: Any) -> None:
    axis = data.draw(st.integers(-len(dims), len(dims) - 1))
    as_the_library(
        "take", [_numbers(*dims, dtype=dtype), _places(dims[axis], lead, index)], axis=axis
    )


@pytest.mark.parametrize("op", ["take_along_axis", "scatter_elements"])
@pytest.mark.parametrize(("shape", "axis"), [((3, 4, 7), -1), ((9,), 0), ((3, 5, 1), 1)])
def test_single_elements_of_the_last_axis(op: str, shape: tuple[int, ...], axis: int) -> None:
    lengths = (*shape[: axis % len(shape)], 6, *shape[axis % len(shape) + 1 :])
    operands = [_numbers(*shape), _places(shape[axis], lengths), _numbers(*lengths)]
    as_the_library(op, operands if op.startswith("scatter") else operands[:2], axis=axis)


@pytest.mark.parametrize(
    ("shape", "lead", "components", "batches"),
    [
        ((4, 5, 3), (6,), 2, 0),
        ((4, 5), (2, 3), 2, 0),
        ((2, 5, 3, 2), (2, 4), 1, 1),
        ((7,), (), 1, 0),
    ],
)
def test_slices_at_tuples(
    shape: tuple[int, ...], lead: tuple[int, ...], components: int, batches: int
) -> None:
    sizes = shape[batches : batches + components]
    indices = np.stack([_places(size, lead) for size in sizes], axis=-1)
    for dtype in DTYPES:
        as_the_library("gather_nd", [_numbers(*shape, dtype=dtype), indices], batch_dims=batches)


@pytest.mark.parametrize("components", [1, 2, 3])
def test_the_last_update_of_a_place_stays(components: int) -> None:
    shape = (2, 3, 4)
    indices = np.stack([_places(size, (40,)) for size in shape[:components]], axis=-1)
    operands = [_numbers(*shape), indices, _numbers(40, *shape[components:])]
    as_the_library("scatter_nd", operands)


def test_a_table_so_large_that_threads_share_the_work() -> None:
    as_the_library("take", [_numbers(900, 384), _places(900, (8, 256))], axis=0)


@pytest.mark.parametrize("wrong", [5, -6, 2**40])
def test_an_index_out_of_range_is_what_the_library_says(wrong: int) -> None:
    x, indices = _numbers(5, 4), np.array([0, 4, wrong, 7, -5])
    refused("take", [x, indices], axis=0)
    refused("gather_nd", [x, indices[:, None]])
    refused("take_along_axis", [x[:, 0].copy(), indices], axis=0)
    refused("scatter_nd", [x, indices[:, None], _numbers(5, 4)])
    refused("scatter_elements", [x[:, 0].copy(), indices, _numbers(5)], axis=0)


def test_one_bad_index_of_many_is_found_by_any_thread() -> None:
    for place in (0, 1000, 2047):
        indices = _places(900, (2048,))
        indices[place] = 900
        refused("take", [_numbers(900, 384), indices], axis=0)


def test_nothing_is_taken_of_nothing_and_bad_indices_are_found_all_the_same() -> None:
    refused("take", [_numbers(3, 0), np.array([3])], axis=0)
    refused("take", [_numbers(0, 3), np.array([0])], axis=0)
    as_the_library("take", [_numbers(3, 0), np.array([2])], axis=0)


def test_bad_data_writes_to_no_foreign_memory() -> None:
    function = function_of("scatter_nd", [_numbers(4), np.zeros((3, 1), np.int64), _numbers(3)])
    call = native(function).native([(4,), (3, 1), (3,)])
    assert call is not None
    x, indices = _numbers(4), np.array([[1], [4], [-5]])
    (found,) = run_in_parts(call, [x, indices, np.full(3, 7, np.float32)], [np.float32], 1)
    np.testing.assert_array_equal(found, [x[0], 7, x[2], x[3]])


def _wrong_form(monkeypatch: pytest.MonkeyPatch, before: str, after: str) -> None:
    right = gather_code.print_rows

    def text(form: gather_code.RowForm) -> str:
        found = right(form)
        assert before in found
        return found.replace(before, after)

    monkeypatch.setattr(gathering, "print_rows", text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("icmp slt i64", "icmp sgt i64"),  # indices that do not count from the end
        ("udiv", "urem"),  # batches
        ("store i64 1", "store i64 0"),  # faults that are not noted
    ],
)
def test_a_mutant_is_found(monkeypatch: pytest.MonkeyPatch, before: str, after: str) -> None:
    monkeypatch.setattr(gathering, "compiled", uncached)
    _wrong_form(monkeypatch, before, after)
    target = NumbaTarget(cache=ObjectCache(None))
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        _judge(target)


def _judge(target: NumbaTarget) -> None:
    as_the_library("take", [_numbers(3, 5, 2), np.array([0, 3, -5, -1, 2])], target, axis=1)
    _noted(target)


def _noted(target: NumbaTarget) -> None:
    """Fail unless a bad index is noted."""
    operands = [_numbers(3), np.array([9])]
    with pytest.raises(DataError):
        native(function_of("take", operands, axis=0), target)(np, operands, [None])
