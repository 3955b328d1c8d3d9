"""Errors of operands reach the integers of quantized programs; the run's decisions are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hettest.backend.protocol import Observation
from hettest.judge import Status, judge
from reference_vm.oracle.catalog import MEANINGS
from reference_vm.oracle.definition import Operands
from reference_vm.oracle.estimate import Estimate, Result
from reference_vm.oracle.evaluate import evaluate
from reference_vm.oracle.rounding import Rounding
from reference_vm.oracle.shown import decisions
from reference_vm.text import parse
from reference_vm.types import Attrs
from reference_vm.types.arrays import from_numpy


def near(values: Any, errors: Any, dtype: Any = np.float32) -> Estimate:
    array = np.asarray(values, dtype)
    exact = Estimate.exact(array, from_numpy(array.dtype))
    return Estimate(
        exact.value, np.broadcast_to(np.asarray(errors, float), array.shape), exact.dtype
    )


def meaning(op: str, *args: Estimate, **attrs: Any) -> Result:
    return MEANINGS[op](Operands(args, Attrs(attrs), Rounding()))


def test_the_margin_to_a_tie_is_in_quanta() -> None:
    scale, zero = near(0.01, 0.0), near(0, 0, np.uint8)

    found = meaning("quantize_linear", near([0.0149, 0.012], 0.0002), scale, zero, axis=1)

    assert isinstance(found, Estimate)
    assert found.errors.tolist() == [1.0, 0.0]


def test_a_product_of_integers_that_may_be_off_is_off() -> None:
    a, b = near([[1, 2]], [[1.0, 0.0]], np.uint8), near([[3], [-5]], 0.0, np.int8)

    found = meaning("matmul_integer", a, b)

    assert isinstance(found, Estimate)
    assert (found.value.tolist(), found.errors.tolist()) == ([[-7]], [[3.0]])


def test_a_dequantized_number_is_off_by_quanta_and_by_its_scale() -> None:
    x, scale = near([10, 10], [1.0, 0.0], np.uint8), near(0.5, 0.001)

    found = meaning("dequantize_linear", x, scale, axis=1, output_dtype=None)

    assert isinstance(found, Estimate)
    assert found.errors == pytest.approx([0.5 + 11 * 0.001, 0.01], rel=1e-3)


def test_a_dynamic_scale_is_off_as_the_extremes_are() -> None:
    found = meaning("dynamic_quantize_linear", near([-1.0, 3.0], [0.0, 0.51]))

    assert isinstance(found, tuple)
    elements, scale, zero = found
    assert isinstance(elements, Estimate)
    assert isinstance(scale, Estimate)
    assert isinstance(zero, Estimate)
    assert scale.errors == pytest.approx(2 * 0.51 / 255, rel=1e-3)
    assert zero.errors > 0
    assert elements.errors[0] > 0


@pytest.mark.parametrize(
    ("to", "value", "error", "off"),
    [("i32", 2.9, 0.2, 1.0), ("i32", 2.5, 0.2, 0.0), ("f16", 2.5, 0.2, 0.2)],
)
def test_casts_keep_errors(to: str, value: float, error: float, off: float) -> None:
    from reference_vm.types import DTYPES

    found = meaning("cast", near([value], error), to=DTYPES[to])

    assert isinstance(found, Estimate)
    assert found.errors == pytest.approx([off], abs=0.002)


PROGRAM = parse("""
module {
  fn @main(%x: f32[4]) -> (u8[4], f32[2]) {
    %y = tanh(%x)
    %q = dynamic_quantize_linear(%y)
    %v = %q[0]
    %k = const i64[1] [2]
    %t = top_k(%y, %k)
    %w = %t[0]
    %r = (%v, %w)
    return %r
  }
}
""")
X = np.array([0.3, -1.0, 0.7, 0.1], np.float32)


def test_what_a_run_shows_of_a_tuple_is_found_by_place_or_by_name() -> None:
    assert {"main/%q[0]", "main/%q[2]", "main/%t[1]"} <= decisions(PROGRAM)
    mine = np.array([1, 2, 3, 4], np.uint8)
    for name in ("main/%q[0]", "main/%v"):
        result = evaluate(PROGRAM, "main", [X], {name: mine}).result
        assert isinstance(result, tuple)
        assert isinstance(result[0], Estimate)
        assert result[0].value.tolist() == [1, 2, 3, 4]
        assert result[0].error is None


def test_each_result_of_an_operator_is_checked() -> None:
    y = np.tanh(X)
    low, high = float(min(y.min(), 0)), float(y.max())
    scale = np.float32((np.float32(high) - np.float32(low)) / np.float32(255))
    zero = np.uint8(np.rint(-low / scale))
    values = np.clip(np.rint(y / scale) + float(zero), 0, 255).astype(np.uint8)
    shown: dict[str, Any] = {"main/%y": y, "main/%q[0]": values, "main/%q[1]": np.asarray(scale)}
    shown |= {"main/%q[2]": np.asarray(zero)}
    results = (values, np.sort(y)[::-1][:2].copy())

    def status(changed: dict[str, Any]) -> Status:
        observed = Observation(results=results, intermediates={**shown, **changed})
        return judge(PROGRAM, "main", [X], observed, None)["local"].status

    assert status({}) is Status.HOLDS
    assert status({"main/%q[0]": values + np.uint8(1)}) is Status.FAILS
    assert status({"main/%q[1]": np.asarray(scale * np.float32(1.001))}) is Status.FAILS
    assert status({"main/%q[2]": np.asarray(zero + np.uint8(1))}) is Status.FAILS
