"""Moved elements are the operand's elements, for every dtype; against Python's own slicing."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from reference_vm.ops.catalog import OPS
from reference_vm.ops.definition import DataError
from reference_vm.types import DType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import COMPUTED, F32
from tests.unit.ops.values import Array, array, special

EVERY_DTYPE = pytest.mark.parametrize("dtype", COMPUTED, ids=str)


def run(name: str, *operands: Any, **attrs: Any) -> Any:
    return OPS[name].compute(np, *operands, **attrs)


def tensor(dtype: DType, *shape: int) -> Array:
    """Return special values, over and over, in a shape."""
    count = int(np.prod(shape))
    return array(dtype, list(itertools.islice(itertools.cycle(special(dtype)), count))).reshape(
        shape
    )


def bits(x: Array) -> list[bytes]:
    return [np.ascontiguousarray(x[place]).tobytes() for place in np.ndindex(x.shape)]


def assert_moved(found: Array, x: Array, places: Sequence[tuple[int, ...] | None]) -> None:
    """Fail unless ``found`` holds the bits of ``x`` at ``places``; ``None`` stands for a zero."""
    assert found.dtype == x.dtype
    zero = np.zeros((), x.dtype).tobytes()
    expected = [zero if p is None else np.ascontiguousarray(x[p]).tobytes() for p in places]
    assert bits(found) == expected


@EVERY_DTYPE
def test_permute_dims_moves_axes(dtype: DType) -> None:
    x = tensor(dtype, 2, 3, 4)
    found = run("permute_dims", x, axes=(1, -1, 0))
    assert found.shape == (3, 4, 2)
    assert_moved(found, x, [(k, i, j) for i, j, k in np.ndindex(3, 4, 2)])


@EVERY_DTYPE
def test_reshapes_keep_the_order(dtype: DType) -> None:
    x = tensor(dtype, 2, 3, 4)
    for found in (
        run("reshape", x, [0, -1], allow_zero=False),
        run("flatten", x, axis=1),
        run("expand_dims", x, axes=(0, -1)),
        run("squeeze", x.reshape(2, 1, 3, 4, 1), axes=(1, -1)),
        run("identity", x),
    ):
        assert bits(found) == bits(x)


@EVERY_DTYPE
def test_concat_and_split_are_each_others_reverse(dtype: DType) -> None:
    x = tensor(dtype, 2, 7, 3)
    parts = run("split", x, [3, 0, 4], axis=1, num_outputs=3)
    assert [p.shape for p in parts] == [(2, 3, 3), (2, 0, 3), (2, 4, 3)]
    assert bits(run("concat", *parts, axis=-2)) == bits(x)


@pytest.mark.parametrize(
    ("size", "count", "sizes"),
    [(7, 3, [3, 3, 1]), (6, 3, [2, 2, 2]), (5, 4, [2, 2, 1, 0]), (0, 2, [0, 0])],
)
def test_split_makes_the_last_parts_smaller(size: int, count: int, sizes: list[int]) -> None:
    parts = run("split", np.zeros(size), axis=0, num_outputs=count)
    assert [len(part) for part in parts] == sizes


BOUNDS = (-(2**63), -8, -3, -1, 0, 1, 4, 5, 9, 2**63 - 1)


@pytest.mark.parametrize("size", [0, 1, 5])
def test_slices_are_pythons(size: int) -> None:
    x = np.arange(size, dtype=np.float32)
    for start, end, step in itertools.product(BOUNDS, BOUNDS, (-7, -2, -1, 1, 2, 7)):
        found = run("slice", x, np.asarray([start]), np.asarray([end]), None, np.asarray([step]))
        assert found.tolist() == list(range(size))[start:end:step]


def test_a_slice_takes_the_axes_it_names() -> None:
    x = np.arange(24).reshape(2, 3, 4)
    found = run("slice", x, [1, 0], [3, 1], [-1, 0])
    assert np.array_equal(found, x[:1, :, 1:3])


@EVERY_DTYPE
def test_broadcasts_repeat_elements(dtype: DType) -> None:
    x = tensor(dtype, 3, 1)
    places = [(i, 0) for _, i, _ in np.ndindex(2, 3, 4)]
    assert_moved(run("broadcast_to", x, (2, 3, 4)), x, places)
    assert_moved(run("expand", x, np.asarray([2, 1, 4])), x, places)


def test_expand_keeps_the_operands_size_where_the_shape_says_1() -> None:
    assert run("expand", np.zeros((3, 4)), [1]).shape == (3, 4)


def test_broadcast_to_a_shape_that_does_not_fit_is_an_error() -> None:
    for name in ("broadcast_to", "expand"):
        with pytest.raises(DataError) as raised:
            run(name, np.zeros((3,)), [2])
        assert raised.value.code == "shape-mismatch"


@EVERY_DTYPE
def test_flip_tile_and_triangles_move_elements(dtype: DType) -> None:
    x = tensor(dtype, 3, 4)
    square = list(np.ndindex(3, 4))
    assert_moved(run("flip", x, axes=(0, 1)), x, [(2 - i, 3 - j) for i, j in square])
    assert_moved(run("flip", x, axes=(-1,)), x, [(i, 3 - j) for i, j in square])
    assert_moved(run("tile", x, [2, 1]), x, [(i % 3, j) for i, j in np.ndindex(6, 4)])
    for k in (-2, 0, 1):
        low = [(i, j) if j - i <= k else None for i, j in square]
        high = [(i, j) if j - i >= k else None for i, j in square]
        assert_moved(run("tril", x, np.asarray(k)), x, low)
        assert_moved(run("triu", x, np.asarray(k)), x, high)


def _source(place: int, size: int, mode: str) -> int | None:
    """Return where the element at ``place`` of an endless padded axis is taken from."""
    if mode == "wrap":
        return place % size
    if mode == "edge":
        return min(max(place, 0), size - 1)
    if mode == "constant":
        return place if 0 <= place < size else None
    while not 0 <= place < size:
        place = -place if place < 0 else 2 * (size - 1) - place
    return place


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_pad_takes_elements_by_mode_and_crops(mode: str) -> None:
    for dtype in COMPUTED:
        x = tensor(dtype, 5)
        for before, behind in itertools.product((-2, -1, 0, 1, 4, 11), (-3, 0, 2, 9)):
            found = run("pad", x, [before, behind], mode=mode)
            wanted = [_source(p, 5, mode) for p in range(-before, 5 + behind)]
            assert_moved(found, x, [None if p is None else (p,) for p in wanted])


def test_pad_fills_with_its_value_along_the_axes_it_names() -> None:
    found = run(
        "pad", np.zeros((2, 2), np.int8), [1, 0], np.asarray(7, np.int8), [-1], mode="constant"
    )
    assert found.tolist() == [[7, 0, 0], [7, 0, 0]]


def test_pad_that_takes_away_too_much_is_an_error() -> None:
    with pytest.raises(DataError, match="would leave"):
        run("pad", np.zeros(3), [-2, -2], mode="constant")


def test_nothing_can_be_padded_only_by_a_constant() -> None:
    assert run("pad", np.zeros(0), [1, 1], mode="constant").tolist() == [0.0, 0.0]
    with pytest.raises(DataError, match="nothing to pad"):
        run("pad", np.zeros(0), [1, 1], mode="edge")


@EVERY_DTYPE
def test_reverse_sequence_turns_as_many_as_the_length(dtype: DType) -> None:
    x = tensor(dtype, 4, 3)
    lengths = [0, 2, 4]
    found = run("reverse_sequence", x, np.asarray(lengths), batch_axis=1, time_axis=0)
    places = [(lengths[b] - 1 - t if t < lengths[b] else t, b) for t, b in np.ndindex(4, 3)]
    assert_moved(found, x, places)


def test_reverse_sequence_refuses_a_length_beyond_the_axis() -> None:
    with pytest.raises(DataError) as raised:
        run("reverse_sequence", np.zeros((2, 1)), np.asarray([3]), batch_axis=1, time_axis=0)
    assert raised.value.code == "index-out-of-range"


@pytest.mark.parametrize(
    ("shape", "target", "allow_zero", "expected"),
    [
        ((2, 3, 4), [0, -1], False, (2, 12)),
        ((0, 3), [0, -1], False, (0, 3)),
        ((0, 6), [2, 0], False, (2, 0)),
        ((0, 6), [3, 0], True, (3, 0)),
        ((), [1, 1], False, (1, 1)),
        ((6,), [-1, 2, 1], False, (3, 2, 1)),
        ((1,), [], False, ()),
    ],
)
def test_reshape_works_out_zeros_and_minus_1(
    shape: tuple[int, ...], target: list[int], expected: tuple[int, ...], *, allow_zero: bool
) -> None:
    assert run("reshape", np.zeros(shape), target, allow_zero=allow_zero).shape == expected


@pytest.mark.parametrize(
    ("shape", "target"), [((6,), [4, -1]), ((6,), [-1, -1]), ((6,), [-2, 3]), ((6,), [6, 0])]
)
def test_a_reshape_that_does_not_fit_is_an_error(shape: tuple[int, ...], target: list[int]) -> None:
    with pytest.raises(DataError) as raised:
        run("reshape", np.zeros(shape), target, allow_zero=False)
    assert raised.value.code == "shape-mismatch"


def test_moving_never_writes_the_operand() -> None:
    x = tensor(F32, 2, 3)
    before = x.tobytes()
    x.flags.writeable = False
    run("pad", x, [1, 1, 1, 1], mode="constant")
    run("scatter_elements", x, np.zeros((2, 3), np.int64), x, axis=0, reduction="add")
    run("device_copy", x, cause="explicit", reader=None, line=None)[...] = 0
    assert x.tobytes() == before
    assert to_numpy(F32) == x.dtype
