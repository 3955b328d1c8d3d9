"""Functions whose operands are of unknown rank are machine code for each rank that they meet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from reference_vm.ir.nodes import Function
from reference_vm.ops.catalog import OPS
from reference_vm.ops.definition import DataError
from reference_vm.targets.numba.target import NUMBA
from reference_vm.targets.numpy import NUMPY
from reference_vm.types import Attrs, TensorType
from reference_vm.types.dtype import F32, I64
from tests.unit.targets.judged import native, run_in_parts
from tests.unit.targets.kernels import one_call

ANY = TensorType(F32, None)
"""A tensor of f32 of any rank."""

CONV: dict[str, Any] = {
    "strides": (1,),
    "pads": (0, 0),
    "dilations": (1,),
    "group": 1,
    "auto_pad": "NOTSET",
}


def _function(op: str, *types: TensorType, **attrs: Any) -> Function:
    return one_call(OPS[op], types, Attrs(**attrs))


def _check(function: Function, *operands: Any) -> None:
    """Fail unless there is machine code for these operands, and it does what the library does."""
    kernel = native(function)
    (right,) = NUMPY.compile(function, "cpu")(np, operands, [None])
    (found,) = kernel(np, operands, [None])
    call = kernel.native([x.shape for x in operands])
    assert call is not None
    (cut,) = run_in_parts(call, operands, [right.dtype], 2)
    np.testing.assert_allclose(found, right, rtol=1e-5)
    assert found.shape == right.shape
    assert found.tobytes() == cut.tobytes()


def _numbers(shape: Sequence[int]) -> Any:
    return np.random.default_rng(3).normal(size=tuple(shape)).astype(np.float32)


@pytest.mark.parametrize("shapes", [[(3,), (3,)], [(2, 3), (3,)], [(1, 4), (2, 3, 1)], [(), (5,)]])
def test_one_function_adds_tensors_of_all_ranks(shapes: list[tuple[int, ...]]) -> None:
    function = _function("add", ANY, ANY)
    _check(function, *map(_numbers, shapes))
    _check(function, *map(_numbers, reversed(shapes)))


def test_other_sizes_of_a_rank_need_no_other_kernel() -> None:
    kernel = native(_function("exp", ANY))
    for size in (2, 3, 7):
        kernel(np, [_numbers((size, 5))], [None])
    assert len(kernel._made) == 1  # type: ignore[attr-defined]
    kernel(np, [_numbers((1, 5))], [None])
    assert len(kernel._made) == 2  # type: ignore[attr-defined]


def test_a_convolution_of_unknown_rank_is_machine_code() -> None:
    weights = TensorType(F32, (4, 3, 2))
    function = _function("conv", ANY, weights, **CONV)
    _check(function, _numbers((1, 3, 9)), _numbers((4, 3, 2)))


def test_indices_that_are_out_of_range_are_found_whatever_the_rank() -> None:
    function = _function("take", ANY, TensorType(I64, None), axis=0)
    kernel, x = native(function), _numbers((4, 2))
    assert kernel.can_fail
    (found,) = kernel(np, [x, np.array([3, -1])], [None])
    np.testing.assert_array_equal(found, x[[3, 3]])
    with pytest.raises(DataError, match="4"):
        kernel(np, [x, np.array([4])], [None])


def test_what_has_no_machine_code_in_any_rank_stays_the_librarys() -> None:
    assert NUMBA.compile(_function("det", ANY), "cpu").library
