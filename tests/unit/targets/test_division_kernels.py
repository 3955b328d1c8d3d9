"""Divisions of integers, and `arange`, as machine code do what the library does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_vm as rv
from reference_vm.diagnostics import ExecutionError
from reference_vm.jit.object_cache import ObjectCache
from reference_vm.ops.definition import DataError
from reference_vm.session import Session
from reference_vm.targets.numba import counting, dividing, division_code
from reference_vm.targets.numba.target import NUMBA, NumbaTarget
from reference_vm.targets.numpy import NUMPY
from tests.unit.targets.judged import (
    as_the_library,
    function_of,
    native,
    refused,
    run_in_parts,
    uncached,
)

Array = Any

OPERATORS = ["trunc_divide", "floor_divide", "remainder", "fmod"]
SIGNED = [np.int8, np.int16, np.int32, np.int64]
UNSIGNED = [np.uint8, np.uint16, np.uint32, np.uint64]
RANDOM = np.random.default_rng(11)


def _extreme(dtype: Any) -> Array:
    """Return numbers of which every quotient is a case of its own."""
    info = np.iinfo(dtype)
    numbers = [info.min, info.min + 1, -7, -4, -2, -1, 0, 1, 2, 4, 7, info.max - 1, info.max]
    return np.array([n for n in numbers if info.min <= n <= info.max], dtype)


@pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED])
@pytest.mark.parametrize("op", OPERATORS)
def test_every_sign_and_the_least_number(op: str, dtype: Any) -> None:
    numbers = _extreme(dtype)

    as_the_library(op, [numbers[:, None], numbers[numbers != 0]])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 4), max_size=5),
    st.data(),
    st.sampled_from(OPERATORS),
    st.sampled_from([np.int64, np.int8, np.uint32]),
)
def test_any_broadcast(dims: list[int], data: Any, op: str, dtype: Any) -> None:
    shapes = []
    for _ in range(2):
        kept = data.draw(st.lists(st.booleans(), min_size=len(dims), max_size=len(dims)))
        shape = [d if k else 1 for d, k in zip(dims, kept, strict=True)]
        shapes.append(shape[data.draw(st.integers(0, len(dims))) :])
    x, y = (RANDOM.integers(1, 100, shape).astype(dtype) for shape in shapes)

    as_the_library(op, [x, y])


def test_a_number_divided_by_itself() -> None:
    text = "module { fn @main(%x: i64[3]) -> i64[3] { %r = floor_divide(%x, %x) return %r } }"
    session = Session(rv.compile(rv.parse(text)))

    np.testing.assert_array_equal(session.run("main", np.array([3, -4, 7])), [1, 1, 1])
    assert not session.left_to_python()["Launch floor_divide"]
    with pytest.raises(ExecutionError, match="divided by 0"):
        session.run("main", np.array([3, 0, 7]))


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("place", [0, 500, 1023])
def test_one_zero_of_many_divisors_is_found(op: str, place: int) -> None:
    x, y = RANDOM.integers(1, 9, 1024), RANDOM.integers(1, 9, 1024)
    y[place] = 0
    refused(op, [x, y])


def test_a_zero_divisor_of_nothing_is_an_error_all_the_same() -> None:
    refused("trunc_divide", [np.zeros((0, 1), np.int64), np.zeros(1, np.int64)])


@pytest.mark.parametrize("op", OPERATORS)
def test_a_result_over_its_divisors_leaves_their_zeros(op: str) -> None:
    """So the library, which is asked what is wrong, sees them."""
    x, y = np.array([7, 8, 9]), np.array([2, 0, 3])
    call = native(function_of(op, [x, y])).native([(3,), (3,)])
    assert call is not None
    (found,) = run_in_parts(call, [x, y], [np.int64], 1)

    assert found[1] == 0


def test_other_sizes_do_not_broadcast() -> None:
    kernel = native(function_of("fmod", [np.ones(3, np.int64), np.ones(3, np.int64)]))

    with pytest.raises(DataError, match="do not broadcast"):
        kernel.native([(3,), (2,)])


def _counted(*bounds: Array, target: NumbaTarget = NUMBA) -> None:
    """Fail unless ``arange`` of these bounds is what the library makes."""
    function = function_of("arange", bounds)
    (right,) = NUMPY.compile(function, "cpu")(np, bounds, [None])
    kernel = native(function, target)
    (whole,) = kernel(np, bounds, [None])
    call = kernel.native(bounds)
    assert call is not None or right.size == 0
    cut = whole if call is None else run_in_parts(call, [], [right.dtype], 3)[0]
    for found in (whole, cut):
        assert found.dtype == right.dtype
        assert found.tobytes() == right.tobytes()


@pytest.mark.parametrize(
    ("first", "last", "step"), [(0, 1000, 1), (5, -300, -7), (3, 4, 9), (9, 2, 1), (-2, 32000, 13)]
)
@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64, np.float32, np.float64])
def test_numbers_at_equal_distances(first: int, last: int, step: int, dtype: Any) -> None:
    _counted(*(np.array(n, dtype) for n in (first, last, step)))


@settings(max_examples=60, deadline=None)
@given(
    st.floats(-1e6, 1e6, width=32),
    st.floats(-1e3, 1e3, width=32),
    st.floats(0.03125, 30, width=32),
    st.sampled_from([np.float32, np.float64]),
)
def test_any_floats_at_equal_distances(first: float, way: float, step: float, dtype: Any) -> None:
    by = step if way > 0 else -step
    _counted(*(np.array(n, dtype) for n in (first, first + way, by)))


def test_floats_beyond_what_they_count_to_exactly() -> None:
    _counted(*(np.array(n, np.float32) for n in (0.1, 2.0**24 + 500, 1.0)))


def test_steps_of_zero_are_what_the_library_says() -> None:
    bounds = [np.array(n, np.int64) for n in (0, 4, 0)]
    kernel = native(function_of("arange", bounds))

    with pytest.raises(DataError, match="steps of 0"):
        kernel(np, bounds, [None])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("icmp eq i64 {y}, -1", "icmp eq i64 {y}, -3"),  # the least number by -1
        ("store i64 1", "store i64 0"),  # zeros that are not noted
        ("icmp slt i64 {y}, 0", "icmp sgt i64 {y}, 0"),  # when rounding down is one less
        ("icmp ne", "icmp eq"),
    ],
)
def test_a_mutant_is_found(monkeypatch: pytest.MonkeyPatch, before: str, after: str) -> None:
    right = division_code.print_division

    def text(form: division_code.DivisionForm) -> str:
        lines = right(form).splitlines()
        old, new = before.partition("{y}"), after.partition("{y}")
        changed = [
            line.replace(old[0], new[0]).replace(old[2], new[2])
            if old[0] in line and line.endswith(old[2])
            else line
            for line in lines
        ]
        assert changed != lines
        return "\n".join(changed) + "\n"

    monkeypatch.setattr(dividing, "print_division", text)
    monkeypatch.setattr(dividing, "compiled", uncached)
    target = NumbaTarget(cache=ObjectCache(None))
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        _judge(target)


def _judge(target: NumbaTarget) -> None:
    refused("floor_divide", [np.array([4, 9]), np.array([0, 2])], target)
    numbers = np.array([-7, -6, -2, 1, 6, 7])
    as_the_library("floor_divide", [numbers[:, None], numbers], target)
    as_the_library("remainder", [np.array([5, 7, -8]), np.array([-1, -3, -1])], target)
    as_the_library("floor_divide", [np.array([5, 7, -8]), np.array([-1, -3, -3])], target)


def test_a_wrong_distance_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_bits", lambda number: int(number) + 1)
    with pytest.raises(AssertionError):
        _counted(*(np.array(n, np.int64) for n in (0, 9, 1)))
