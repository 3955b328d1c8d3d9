"""grid_sample agrees with ONNX's evaluator in every mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference_vm.diagnostics import CompileError
from reference_vm.ops.grid_sample import GRID_SAMPLE
from reference_vm.types import DTYPES, TensorType
from reference_vm.types.dim import symbol
from tests.unit.ops_nn.onnx_nodes import array_type, by_evaluator, check_inferred, compute, infer

F32 = DTYPES["f32"]


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_modes_agree_with_the_evaluator(
    rank: int, mode: str, padding: str, align_corners: bool
) -> None:
    draw = np.random.default_rng(rank)
    x = draw.standard_normal((2, 2, *(5, 4, 3)[:rank])).astype(np.float32)
    grid = (draw.random((2, *(3, 4, 2)[:rank], rank)) * 5 - 2.5).astype(np.float32)

    found = compute(
        GRID_SAMPLE, x, grid, mode=mode, padding_mode=padding, align_corners=align_corners
    )

    (expected,) = by_evaluator(
        "GridSample",
        [x, grid],
        opset=20,
        mode=mode,
        padding_mode=padding,
        align_corners=int(align_corners),
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    check_inferred(infer(GRID_SAMPLE, [array_type(x), array_type(grid)], mode=mode), found, {})


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_positions_that_are_no_numbers_are_read_safely(mode: str, padding: str) -> None:
    x = np.ones((1, 1, 2, 2), np.float32)
    grid = np.array([[[[np.nan, 0], [np.inf, -np.inf], [1e30, 0]]]], np.float32)

    found = compute(GRID_SAMPLE, x, grid, mode=mode, padding_mode=padding)

    assert found.shape == (1, 1, 1, 3)
    assert np.isfinite(found).all()


def test_one_element_reflects_onto_itself() -> None:
    x = np.full((1, 1, 1, 1), 3, np.float32)
    grid = np.array([[[[5.0, -4.0]]]], np.float32)

    found = compute(GRID_SAMPLE, x, grid, padding_mode="reflection", align_corners=True)

    np.testing.assert_array_equal(found, [[[[3]]]])


def test_integers_are_read_and_rounded() -> None:
    x = np.array([[[0, 3]]], np.int32)

    found = compute(GRID_SAMPLE, x, np.array([[[0.25]]], np.float32), align_corners=True)

    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, [[[2]]])


def test_the_type_follows_symbols() -> None:
    n, h = symbol("n"), symbol("h")

    type_ = infer(GRID_SAMPLE, [TensorType(F32, (n, 3, 8, 8)), TensorType(F32, (n, h, 5, 2))])

    assert type_ == TensorType(F32, (n, 3, h, 5))


@pytest.mark.parametrize("grid", [(2, 5, 2), (3, 5, 5, 2), (2, 5, 5, 3)])
def test_a_grid_that_does_not_fit_is_refused(grid: Any) -> None:
    with pytest.raises(CompileError, match="grid_sample"):
        infer(GRID_SAMPLE, [TensorType(F32, (2, 3, 8, 8)), TensorType(F32, grid)])
