"""Slices, joins, paddings and repeats as machine code move what the library moves, to the bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_vm.ops.catalog import OPS
from reference_vm.ops.definition import DataError
from reference_vm.targets.numpy import NUMPY
from tests.unit.targets.judged import function_of, native, run_in_parts

Array = Any


def _ints(*values: int) -> Array:
    return np.array(values, np.int64)


def _check(op: str, operands: Sequence[Array], **attrs: Any) -> None:
    """Fail unless the machine code does what the library does, whole and in parts."""
    function = function_of(op, operands, **attrs)
    count = len(getattr(function.result, "items", (0,)))
    expected = NUMPY.compile(function, "cpu")(np, operands, [None] * count)
    kernel = native(function)
    called = kernel(np, operands, [None] * count)
    hosts = {i for i in range(len(operands)) if OPS[op].is_host_operand(i)}
    call = kernel.native([x if i in hosts else x.shape for i, x in enumerate(operands)])
    if call is None:  # as many copies as padding in several directions takes are left to it
        assert op == "pad"
        return
    divided = run_in_parts(call, operands, [e.dtype for e in expected], 3)
    for whole, cut, right in zip(called, divided, expected, strict=True):
        assert whole.shape == cut.shape == right.shape
        assert whole.tobytes() == cut.tobytes() == np.ascontiguousarray(right).tobytes()


def _numbers(*shape: int, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(3).integers(0, 100, shape).astype(dtype)


@st.composite
def _slices(draw: st.DrawFn) -> tuple[list[Array], tuple[int, ...]]:
    shape = tuple(draw(st.lists(st.integers(0, 6), min_size=1, max_size=4)))
    axes = draw(st.lists(st.sampled_from(range(len(shape))), unique=True, min_size=1))
    bounds = [[draw(st.integers(-8, 8)) for _ in axes] for _ in range(2)]
    steps = [draw(st.sampled_from([-2, -1, 1, 1, 2, 3])) for _ in axes]
    return [_ints(*b) for b in (*bounds, axes, steps)], shape


@settings(max_examples=60, deadline=None)
@given(_slices(), st.sampled_from([np.float32, np.int64, np.uint8, np.float16, np.bool_]))
def test_any_slice(slices: Any, dtype: Any) -> None:
    bounds, shape = slices
    _check("slice", [_numbers(*shape, dtype=dtype), *bounds])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(-2, 4), st.integers(-2, 4)), max_size=3),
    st.sampled_from(["constant", "edge", "reflect", "wrap"]),
    st.booleans(),
)
def test_any_padding(axes: Any, mode: str, valued: bool) -> None:
    kept = [(n, max(a, -n), max(b, -n - min(0, a))) for n, a, b in axes]
    kept = [(n, a, b) if n + a + b >= 0 else (n, 0, 0) for n, a, b in kept]
    x = _numbers(*(n for n, _, _ in kept))
    pads = _ints(*(a for _, a, _ in kept), *(b for _, _, b in kept))
    value = [np.float32(7).reshape(())] if valued else []
    _check("pad", [x, pads, *value], mode=mode)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_a_join(axis: int) -> None:
    shapes = [[2, 3, 4] for _ in range(3)]
    shapes[1][axis], shapes[2][axis] = 1, 0
    _check("concat", [_numbers(*shape) for shape in shapes], axis=axis)


@pytest.mark.parametrize(
    ("op", "operands", "attrs"),
    [
        ("split", [_numbers(4, 7, 3), _ints(2, 0, 5)], {"axis": 1, "num_outputs": 3}),
        ("flip", [_numbers(4, 7, 3)], {"axes": (0, 2)}),
        ("broadcast_to", [_numbers(3, 1), _ints(2, 3, 4)], {}),
        ("expand", [_numbers(3, 1), _ints(2, 1, 4)], {}),
        ("full", [_ints(2, 3), np.float32(5).reshape(())], {}),
        ("full", [_ints(), np.int64(5).reshape(())], {}),
    ],
    ids=["split", "flip", "broadcast_to", "expand", "full", "full scalar"],
)
def test_a_view(op: str, operands: Any, attrs: Any) -> None:
    _check(op, operands, **attrs)


def test_what_the_data_makes_wrong_is_told() -> None:
    x, one = _numbers(4), _ints(1)
    kernel = native(function_of("slice", [x, one, one, one, one]))
    with pytest.raises(DataError, match="steps of 0"):
        kernel(np, [x, _ints(0), _ints(2), _ints(0), _ints(0)], [None])
