"""Arguments that are almost right are refused where they are handed over, not bent to fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reference_vm as rv
from tests.unit.session.test_failures import failure
from tests.unit.session.test_runs import X, loaded

FILL = "(%s: shape[n, 2], %v: f32[]) -> f32[n, 2] { %y = full(%s, %v) return %y }"
ONE = np.float32(1)


@pytest.mark.parametrize(
    ("dims", "code", "text"),
    [
        ((3.5, 2), "argument-type", "dim 0 is 3.5, expected an integer"),
        ((True, 2), "argument-type", "dim 0 is True, expected an integer"),
        ((None, 2), "argument-type", "dim 0 is a NoneType, expected an integer"),
        (np.array([3.0, 2.0]), "argument-type", "dim 0 is 3.0, expected an integer"),
        ((-3, 2), "argument-shape", "dim 0 is -3, expected 0 to"),
        ((2**70, 2), "argument-shape", f"dim 0 is {2**70}, expected 0 to"),
        ((3, 5), "argument-shape", "found [3, 5], expected shape[n, 2]"),
        ((3,), "argument-shape", "found 1 dims, expected shape[n, 2]"),
        ("32", "argument-type", "found a str, expected a tuple of dims: shape[n, 2]"),
        (5, "argument-type", "found an int, expected a tuple of dims"),
        (None, "argument-type", "found a NoneType, expected a tuple of dims"),
        (np.array([[3, 2]]), "argument-type", "found an array of 2 axes, expected a tuple of dims"),
    ],
    ids=str,
)
def test_a_shape_is_a_tuple_of_counts(dims: Any, code: str, text: str) -> None:
    session = loaded(FILL)
    found = failure(lambda: session.run("main", dims, ONE))
    assert found.code == code
    assert text in found.message
    assert found.span is not None


@pytest.mark.parametrize("dims", [(3, 2), [3, 2], np.array([3, 2], np.uint64), (np.int32(3), 2)])
def test_any_integers_make_a_shape(dims: Any) -> None:
    assert loaded(FILL).run("main", dims, ONE).shape == (3, 2)


def test_a_mask_is_not_dropped() -> None:
    session = loaded("(%x: f32[4]) -> f32[4] { %y = exp(%x) return %y }")
    found = failure(lambda: session.run("main", np.ma.masked_array(X, mask=X > 0)))
    assert found.code == "argument-type"
    assert "a masked array, whose mask would be lost" in found.message


def test_a_division_by_a_symbol_that_is_zero_is_located() -> None:
    session = loaded(
        "(%x: f32[n], %v: f32[]) -> f32[floordiv(8, n)] {\n"
        "  %s = shape[floordiv(8, n)]\n  %y = full(%s, %v) return %y }"
    )
    assert session.run("main", X, ONE).shape == (2,)
    found = failure(lambda: session.run("main", X[:0], ONE))
    assert found.code == "division-by-zero"
    assert "floordiv(8, n) divides by n, which is 0 in this run" in found.message
    assert found.span is not None


def test_a_parameter_that_divides_by_zero_is_located() -> None:
    session = loaded("(%x: f32[n], %z: f32[mod(8, n)]) -> f32[n] { %y = exp(%x) return %y }")
    found = failure(lambda: session.run("main", X[:0], X[:0]))
    assert found.code == "division-by-zero"
    assert found.message.startswith("@main: argument %z: dim 0: ")


@pytest.mark.parametrize("dims", ["4294967296, 4294967296, 0", "9223372036854775808, 0"])
def test_a_constant_that_no_array_can_be_is_located(dims: str) -> None:
    with pytest.raises(rv.ExecutionError) as caught:
        loaded(f"() -> f32[{dims}] {{\n %y = const f32[{dims}] splat 1.0 return %y }}")
    (found,) = caught.value.diagnostics
    assert found.code == "out-of-memory"
    assert found.span is not None


@pytest.mark.parametrize("executor", ["numpy", "numba"])
@pytest.mark.parametrize("dims", [[2**62], [2**62, 0], [2**40, 2**10]], ids=str)
def test_a_result_that_no_memory_holds_is_out_of_memory(dims: list[int], executor: str) -> None:
    unknown = ", ".join("?" * len(dims))
    module = rv.parse(
        f"module {{ fn @main(%s: i64[{len(dims)}], %v: f32[]) -> f32[{unknown}] {{\n"
        "  %y = full(%s, %v) return %y } }"
    )
    session = rv.Session(rv.compile(module, executor=executor))
    found = failure(lambda: session.run("main", np.array(dims), ONE))
    assert found.code == "out-of-memory"
    no_array = dims != [2**40, 2**10]
    said = f"no array is as large as {dims}" if no_array else "cpu:0 cannot allocate"
    assert found.message.startswith(f"full (%main/%y): {said}")


@pytest.mark.parametrize(
    "bounds", [(np.nan, 3, 1), (0, np.inf, 1), (0, 3, np.nan), (-np.inf, 3, 1)], ids=str
)
def test_a_range_without_a_number_of_elements_is_refused(bounds: tuple[float, ...]) -> None:
    session = loaded(
        "(%a: f64[], %b: f64[], %c: f64[]) -> f64[?] { %y = arange(%a, %b, %c) return %y }"
    )
    found = failure(lambda: session.run("main", *map(np.float64, bounds)))
    assert found.code == "attribute-value"
    assert "has no number of elements" in found.message


RESIZE = (
    "(%x: f32[2, 3], %s: i64[2]) -> f32[?, ?] {{ %y = resize(%x, none, none, %s, "
    'mode = "{mode}", coordinate_transformation_mode = "{coordinates}") return %y }}'
)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "half_pixel_symmetric", "asymmetric"])
def test_resizing_to_nothing_gives_nothing(mode: str, coordinates: str) -> None:
    session = loaded(RESIZE.format(mode=mode, coordinates=coordinates))
    x = np.ones((2, 3), np.float32)
    assert session.run("main", x, np.array([0, 6])).shape == (0, 6)
    found = failure(lambda: session.run("main", x, np.array([-1, 6])))
    assert found.code == "shape-mismatch"


def test_a_part_that_data_choose_outlives_the_memory_it_is_part_of() -> None:
    session = loaded(
        "(%x: f32[4], %b: i64[1], %e: i64[1]) -> (f32[?], f32[4]) {\n"
        "  %y = exp(%x)\n  %z = slice(%y, %b, %e)\n  %w = negative(%x)\n"
        "  %v = sin(%w)\n  %r = (%z, %v)\n  return %r }"
    )
    part, _ = session.run("main", X, np.array([1]), np.array([3]))
    np.testing.assert_allclose(part, np.exp(X[1:3]), rtol=1e-6)
