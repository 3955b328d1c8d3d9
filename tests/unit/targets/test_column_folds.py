"""Rows of a fold that lie across memory, or are short, are folded together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from reference_vm.loops.columns import WIDTH, column_form
from reference_vm.loops.llvm_code import CHUNK
from reference_vm.loops.schedule import schedule
from reference_vm.ops.catalog import OPS
from reference_vm.targets.numba.kernel import CompiledKernel
from reference_vm.types import Attrs, TensorType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import F16, F32, F64, I32, DType
from tests.unit.targets.kernels import compiled, one_call
from tests.unit.targets.test_fused_kernels import SOFTMAX, only_kernel
from tests.unit.targets.test_native_calls import run_in_parts

FOLDS: Mapping[str, Callable[..., Any]] = {
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
    "prod": np.prod,
    "mean": np.mean,
}


def kernel(
    op: str, dims: tuple[int, ...], axes: tuple[int, ...], dtype: DType = F32
) -> CompiledKernel:
    type_ = TensorType(dtype, dims)
    return compiled(one_call(OPS[op], [type_], Attrs(axis=axes, keepdims=False)))


def numbers(dims: tuple[int, ...], dtype: Any = np.float32) -> Any:
    return (np.random.default_rng(3).normal(size=dims) * 4).astype(dtype)


@pytest.mark.parametrize("op", sorted(FOLDS))
@pytest.mark.parametrize(
    ("dims", "axes"),
    [
        ((2, 9), (0,)),
        ((3, 5, WIDTH + 3), (1,)),
        ((2, 3, 4, 5), (1, 2)),
        ((2, 3, 4, 5), (0, 2)),
        ((4, 6, 1), (1,)),
        ((1, 7, 6), (1,)),
        ((WIDTH * 2 + 1, 2), (1,)),
        ((5, 3, 2), (1, 2)),
        ((6, 40), (1,)),
        ((3, 2), (0,)),
    ],
    ids=str,
)
def test_every_layout_is_folded(op: str, dims: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = numbers(dims)
    (found,) = kernel(op, dims, axes)(np, [x], [None])
    np.testing.assert_allclose(found, FOLDS[op](x, axis=axes), rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [I32, F64, F16], ids=str)
def test_other_types_are_folded(dtype: DType) -> None:
    x = numbers((7, 33), to_numpy(dtype))
    for op in ("sum", "max"):
        (found,) = kernel(op, (7, 33), (0,), dtype)(np, [x], [None])
        expected = FOLDS[op](x.astype(np.float64), axis=0)
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-2)


def test_a_fold_of_nan_is_nan() -> None:
    x = numbers((5, 20))
    x[2, 7] = np.nan
    (found,) = kernel("max", (5, 20), (0,))(np, [x], [None])
    assert np.flatnonzero(np.isnan(found)).tolist() == [7]


def test_long_columns_are_summed_in_pieces() -> None:
    x = np.full((CHUNK * 600, 4), 0.1, np.float32)
    (found,) = kernel("sum", x.shape, (0,))(np, [x], [None])
    np.testing.assert_allclose(found, x.sum(axis=0, dtype=np.float64), rtol=1e-4)


@pytest.mark.parametrize("dims", [(6, 5, 300), (1, 5, 300), (6, 5, 1)], ids=str)
@pytest.mark.parametrize("parts", [1, 2, 5])
def test_any_parts_fold_the_same_to_the_bit(dims: tuple[int, ...], parts: int) -> None:
    made, x = kernel("sum", dims, (1,)), numbers(dims)
    (expected,) = made(np, [x], [None])
    call = made.native([dims])
    assert call is not None
    (stage,) = call.stages
    edges = [stage.low + (stage.high - stage.low) * i // parts for i in range(parts + 1)]
    (found,) = run_in_parts(call, [x], edges)
    np.testing.assert_array_equal(found.view(np.uint32), expected.view(np.uint32))


def test_rows_that_more_is_done_with_are_not_folded_together() -> None:
    softmax = compiled(only_kernel(SOFTMAX))
    assert column_form(softmax.nest, schedule(softmax.nest)) is None
    fold = kernel("sum", (3, 4), (0,))
    assert column_form(fold.nest, schedule(fold.nest)) is not None
