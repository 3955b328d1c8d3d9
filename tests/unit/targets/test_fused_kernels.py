"""Fused kernels compute what their operators compute one after the other."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from reference_vm.ir.nodes import Function
from reference_vm.jit.object_cache import ObjectCache
from reference_vm.targets.numba.kernel import CompiledKernel
from reference_vm.targets.numba.target import NumbaTarget
from reference_vm.types.arrays import NUMPY
from tests.unit.fuse.modules import fused, placed
from tests.unit.targets.kernels import compiled, library, target

GENERATOR = np.random.default_rng(11)

SOFTMAX = (
    "%x: f32[n, m] @host) -> f32[n, m] @host",
    """%top: f32[n, 1] @host = max(%x, axis = [1], keepdims = true)
       %d: f32[n, m] @host = subtract(%x, %top)
       %e: f32[n, m] @host = exp(%d)
       %s: f32[n, 1] @host = sum(%e, axis = [-1], keepdims = true)
       %r: f32[n, m] @host = divide(%e, %s)
       return %r""",
)
LAYER_NORM = (
    "%x: f32[a, b, m] @host, %g: f32[m] @host, %h: f32[m] @host) -> f32[a, b, m] @host",
    """%two: f32[] @host = const f32[] 2.0
       %eps: f32[1] @host = const f32[1] [0.00001]
       %mu: f32[a, b, 1] @host = mean(%x, axis = [2], keepdims = true)
       %d: f32[a, b, m] @host = subtract(%x, %mu)
       %q: f32[a, b, m] @host = pow(%d, %two)
       %v: f32[a, b, 1] @host = mean(%q, axis = [2], keepdims = true)
       %w: f32[a, b, 1] @host = add(%v, %eps)
       %r: f32[a, b, 1] @host = sqrt(%w)
       %n: f32[a, b, m] @host = divide(%d, %r)
       %t: f32[a, b, m] @host = multiply(%n, %g)
       %u: f32[a, b, m] @host = add(%t, %h)
       return %u""",
)
GELU_BIAS = (
    "%x: f32[n, m] @host, %b: f32[m] @host, %s: f32[] @host) -> f32[n, m] @host",
    """%y: f32[n, m] @host = add(%x, %b)
       %g: f32[n, m] @host = gelu(%y)
       %z: f32[n, m] @host = multiply(%g, %s)
       return %z""",
)
TRANSPOSED = (
    "%x: f32[a, b, c] @host, %y: f32[c, b, a] @host) -> f32[c, b, a] @host",
    """%n: f32[a, b, c] @host = negative(%x)
       %t: f32[c, b, a] @host = permute_dims(%n, axes = [2, 1, 0])
       %r: f32[c, b, a] @host = multiply(%t, %y)
       return %r""",
)
TWO_RESULTS = (
    "%x: f32[n, m] @host, %c: bool[n, 1] @host) -> (f32[n, m] @host, bool[n, m] @host)",
    """%e: f32[n, m] @host = exp(%x)
       %k: bool[n, m] @host = greater(%e, %x)
       %w: f32[n, m] @host = where(%c, %e, %x)
       %p: (f32[n, m] @host, bool[n, m] @host) = (%w, %k)
       return %p""",
)
ROW_RESULT = (
    "%x: f32[a, b, c] @host) -> f32[a] @host",
    """%q: f32[a, b, c] @host = multiply(%x, %x)
       %s: f32[a] @host = sum(%q, axis = [1, 2])
       %r: f32[a] @host = sqrt(%s)
       return %r""",
)


def only_kernel(source: tuple[str, str]) -> Function:
    module = fused(placed(*source))
    primitives = [f for f in module.functions if f.is_primitive]
    assert len(primitives) == 1, [f.name for f in primitives]
    return primitives[0]


def check(function: Function, inputs: Sequence[Any], rtol: float = 2e-5) -> CompiledKernel:
    kernel = compiled(function)
    blank = [None] * len(kernel.nest.stores)
    found = kernel(np, inputs, blank)
    expected = library(function)(np, inputs, blank)
    for result, other in zip(found, expected, strict=True):
        assert result.dtype == other.dtype
        np.testing.assert_allclose(result, other, rtol=rtol, atol=1e-6)
    return kernel


def random(*shape: int) -> Any:
    return GENERATOR.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(
    ("source", "shapes"),
    [
        pytest.param(SOFTMAX, [[(3, 17)], [(1, 1)], [(4, 0)], [(0, 5)], [(2, 300)]], id="softmax"),
        pytest.param(
            LAYER_NORM,
            [[(2, 3, 40), (40,), (40,)], [(1, 1, 8), (8,), (8,)], [(0, 3, 4), (4,), (4,)]],
            id="layer-norm",
        ),
        pytest.param(
            GELU_BIAS, [[(5, 7), (7,), ()], [(1, 64), (64,), ()], [(9, 1), (1,), ()]], id="gelu"
        ),
        pytest.param(
            TRANSPOSED,
            [[(2, 3, 4), (4, 3, 2)], [(1, 5, 6), (6, 5, 1)], [(3, 1, 0), (0, 1, 3)]],
            id="transposed",
        ),
        pytest.param(ROW_RESULT, [[(2, 3, 4)], [(5, 1, 1)], [(2, 0, 3)]], id="row-result"),
    ],
)
def test_one_kernel_serves_all_shapes(
    source: tuple[str, str], shapes: Sequence[Sequence[tuple[int, ...]]]
) -> None:
    function = only_kernel(source)
    for operands in shapes:
        check(function, [random(*shape) for shape in operands])


def test_kernel_has_a_result_for_each_value_that_is_read() -> None:
    check(only_kernel(TWO_RESULTS), [random(4, 6), np.array([[True], [False], [True], [True]])])


def test_operands_may_have_any_strides() -> None:
    function = only_kernel(GELU_BIAS)
    wide = random(10, 14)
    check(function, [wide[::2, ::2], random(14)[::-2], np.float32(2.0).reshape(())])
    check(function, [random(7, 5).T, random(7), np.array(0.5, np.float32)])
    check(function, [np.broadcast_to(random(1, 7), (5, 7)), random(7), np.array(1, np.float32)])


def test_what_is_equal_at_run_time_only_broadcasts() -> None:
    """Both operands are ``f32[n]`` and ``f32[m]`` to the compiler, where one has a single place."""
    function = only_kernel(GELU_BIAS)
    check(function, [random(5, 7), random(1), np.array(2, np.float32)])


def test_results_are_written_to_the_memory_given() -> None:
    function = only_kernel(GELU_BIAS)
    inputs = [random(5, 7), random(7), np.array(2, np.float32)]
    out = np.full((5, 7), np.nan, np.float32)
    (result,) = compiled(function)(np, inputs, [out])
    assert result is out
    np.testing.assert_array_equal(out, compiled(function)(np, inputs, [None])[0])


def test_rows_with_nan_and_infinity_follow_the_library() -> None:
    x = random(6, 9)
    x[0, 3], x[1, 8], x[2], x[3, 0] = np.nan, np.inf, -np.inf, -np.inf
    check(only_kernel(SOFTMAX), [x])


def test_sum_of_millions_keeps_six_digits() -> None:
    x = GENERATOR.random((1, 1, 4_000_001), dtype=np.float32)
    (found,) = compiled(only_kernel(ROW_RESULT))(np, [x], [None])
    exact = np.sqrt((x.astype(np.float64) ** 2).sum())
    assert abs(found[0] - exact) / exact < 1e-6


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_half_precision_rounds_after_each_operator(dtype: str) -> None:
    signature, body = GELU_BIAS
    source = (signature.replace("f32", dtype), body.replace("f32", dtype).replace("gelu", "abs"))
    function = only_kernel(source)
    inputs = [random(5, 7), random(7), np.array(0.3, np.float32)]
    halves = [x.astype(NUMPY[dtype]) for x in inputs]
    found = compiled(function)(np, halves, [None])[0]
    expected = library(function)(np, halves, [None])[0]
    np.testing.assert_array_equal(found.astype(np.float64), expected.astype(np.float64))


def test_alike_functions_share_machine_code() -> None:
    function = only_kernel(SOFTMAX)
    first, second = compiled(function), compiled(only_kernel(SOFTMAX))
    assert first.entry == second.entry


def test_kernel_outlives_its_target() -> None:
    function = only_kernel(SOFTMAX)
    kernel = NumbaTarget(cache=ObjectCache(None)).compile(function, "cpu")
    gc.collect()
    x = random(3, 5)
    np.testing.assert_array_equal(
        kernel(np, [x], [None])[0], compiled(function)(np, [x], [None])[0]
    )


def test_threads_share_a_large_kernel() -> None:
    function = only_kernel(SOFTMAX)
    kernel = NumbaTarget(cache=ObjectCache(None), threads=3).compile(function, "cpu")
    x = random(1501, 401)
    np.testing.assert_array_equal(
        kernel(np, [x], [None])[0], compiled(function)(np, [x], [None])[0]
    )


@pytest.mark.parametrize("dtype", ["f32", "f16", "f64"])
@pytest.mark.parametrize(
    "call",
    [
        "softmax(%x, axis = -1)",
        "log_softmax(%x, axis = 2)",
        "layer_norm(%x, %g, axis = -1)",
        "layer_norm(%x, %g, %h, axis = 1)",
    ],
)
def test_operators_with_a_row_rule_are_kernels(call: str, dtype: str) -> None:
    read = [name for name in ("x", "g", "h") if f"%{name}" in call]
    shapes = {"x": "[a, b, c]", "g": "[c]", "h": "[c]"}
    params = ", ".join(f"%{n}: {dtype}{shapes[n]} @host" for n in read)
    source = (
        f"{params}) -> {dtype}[a, b, c] @host",
        f"%y: {dtype}[a, b, c] @host = {call} return %y",
    )
    sizes = {"x": (2, 3, 17), "g": (17,), "h": (17,)}
    inputs = [(3 * random(*sizes[n])).astype(NUMPY[dtype]) for n in read]
    check(only_kernel(source), inputs, rtol=2e-5 if dtype != "f16" else 2e-3)


def test_kept_axes_of_a_row_with_one_place_in_another_axis_hold_one_element() -> None:
    source = (
        "%x: f32[a, b, 1] @host) -> f32[a, 1, 1] @host",
        "%y: f32[a, 1, 1] @host = sum(%x, axis = [1, 2], keepdims = true) return %y",
    )
    kernel = check(only_kernel(source), [random(2, 3, 1)])
    room = np.full(8, 7, np.float32)
    kernel(np, [random(2, 3, 1)], [room[:2].reshape(2, 1, 1)])
    np.testing.assert_array_equal(room[2:], 7)


def test_operand_may_be_read_in_two_ways() -> None:
    source = (
        "%x: f32[n, n] @host, %b: f32[n] @host) -> f32[n, n] @host",
        """%t: f32[n, n] @host = permute_dims(%x, axes = [1, 0])
           %s: f32[n, n] @host = add(%t, %x)
           %r: f32[n, n] @host = add(%s, %b)
           return %r""",
    )
    check(only_kernel(source), [random(6, 6), random(6)])
    check(only_kernel(source), [random(12, 12)[::2, ::2], random(6)])


def test_softmax_along_another_axis_runs_in_the_library() -> None:
    source = (
        "%x: f32[a, b] @host) -> f32[a, b] @host",
        "%y: f32[a, b] @host = softmax(%x, axis = 0) return %y",
    )
    assert target().compile(only_kernel(source), "cpu").library


def test_fold_over_axes_of_one_place_has_one_place() -> None:
    source = (
        "%x: f32[n, 3, 1] @host) -> f32[n, 1, 1] @host",
        "%s: f32[n, 1, 1] @host = sum(%x, axis = [1, 2], keepdims = true) return %s",
    )
    check(only_kernel(source), [random(4, 3, 1)])


@pytest.mark.parametrize("dtype", ["f32", "f16", "i32"])
@pytest.mark.parametrize("keepdims", ["true", "false"])
@pytest.mark.parametrize("axes", ["0", "1", "0, 1", "0, 2", "1, 3", "2, 3", "0, 1, 2, 3"])
def test_any_axes_are_folded_by_a_kernel(axes: str, keepdims: str, dtype: str) -> None:
    folded = {int(a) for a in axes.split(",")}
    kept = [d for i, d in enumerate("abcd") if i not in folded or keepdims == "true"]
    shape = ", ".join("1" if "abcd".index(d) in folded else d for d in kept)
    source = (
        f"%x: {dtype}[a, b, c, d] @host) -> {dtype}[{shape}] @host",
        f"""%y: {dtype}[{shape}] @host = sum(%x, axis = [{axes}], keepdims = {keepdims})
            return %y""",
    )
    x = (3 * random(3, 4, 5, 6)).astype(NUMPY[dtype])
    check(only_kernel(source), [x], rtol=2e-5 if dtype != "f16" else 2e-3)


@pytest.mark.parametrize("shape", [(3, 4, 5, 1), (3, 4, 1, 5), (1, 4, 5, 1), (3, 4, 1, 1)])
def test_folded_axes_of_one_place_hide_no_other(shape: tuple[int, ...]) -> None:
    source = (
        "%x: f32[a, b, c, d] @host) -> f32[b] @host",
        "%y: f32[b] @host = sum(%x, axis = [0, 2, 3], keepdims = false) return %y",
    )
    check(only_kernel(source), [3 * random(*shape)], rtol=2e-5)
