"""What type rules know of symbols: they are never negative, and a capped one is still a size."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference_vm.ops.catalog import OPS
from reference_vm.ops.shapes import least, lower_bound
from reference_vm.passes.context import PassContext
from reference_vm.passes.infer_types import InferTypes
from reference_vm.text import parse
from reference_vm.types import UNKNOWN, Dim, TensorType
from reference_vm.types.dim import add, apply, ceildiv, evaluate, floordiv, multiply, symbol

N, M = symbol("n"), symbol("m")


def result_type(params: str, body: str) -> TensorType:
    module = parse(f"module {{ fn @main({params}) -> f32[...] {{ {body} return %r }} }}")
    typed = InferTypes().run(module, PassContext(OPS)).functions[0].body.result.type
    assert isinstance(typed, TensorType)
    return typed


@pytest.mark.parametrize(
    ("dim", "other", "expected"),
    [
        (apply("min", 512, N), N, N),
        (N, apply("min", N, 512), N),
        (apply("min", 512, N), M, UNKNOWN),
        (apply("min", M, N), N, UNKNOWN),
        (N, M, UNKNOWN),
    ],
)
def test_a_capped_dim_broadcasts_to_the_whole(dim: Dim, other: Dim, expected: Dim) -> None:
    params = f"%a: f32[n], %b: f32[m], %x: f32[{dim}], %y: f32[{other}]"

    assert result_type(params, "%r = add(%x, %y)").shape == (expected,)


def test_no_size_equals_minus_one_so_where_keeps_the_size() -> None:
    body = """
      %s = shape_of(%x)
      %t = shape_to_tensor(%s)
      %minus = const i64[2] [-1, -1]
      %one = const i64[2] [1, 1]
      %c = equal(%t, %minus)
      %target = where(%c, %one, %t)
      %r = expand(%y, %target)
    """

    assert result_type("%x: f32[n, m], %y: f32[1, 1]", body).shape == (N, M)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (floordiv(N + 1, 2), floordiv(N, 2) + 1),
        (floordiv(640 * N + 440, 441), 640 * floordiv(N, 441) + 640),
        (floordiv(N, 4), ceildiv(N, 4)),
        (floordiv(N, 6), floordiv(N, 4)),
        (N - ceildiv(N, 2), ceildiv(N, 2)),
    ],
)
def test_of_two_quotients_the_smaller_is_known(left: Dim, right: Dim) -> None:
    assert least(left, right) == left
    assert least(right, left) == left


def test_a_quotient_that_may_be_either_is_a_minimum() -> None:
    assert least(floordiv(N, 2), floordiv(N + M, 3)) == apply(
        "min", floordiv(N, 2), floordiv(N + M, 3)
    )


@pytest.mark.parametrize(
    ("dim", "bound"),
    [
        (2 * floordiv(N, 2) - N, -1),
        (N - 3 * ceildiv(N, 3), -2),
        (floordiv(N + 7, 3) - floordiv(N, 3), 2),
        (floordiv(N, 3) - floordiv(N + 7, 3), -3),
        (N - M, -math.inf),
    ],
)
def test_what_quotients_differ_by_is_bounded(dim: Dim, bound: float) -> None:
    assert lower_bound(dim) == bound


NUMBERS = st.integers(-4, 4)
DIMS = st.recursive(
    st.one_of(st.just(N), st.just(M), NUMBERS),
    lambda inner: st.one_of(
        st.builds(add, inner, st.builds(multiply, NUMBERS, inner)),
        st.builds(apply, st.sampled_from(["floordiv", "ceildiv"]), inner, st.integers(1, 5)),
        st.builds(apply, st.sampled_from(["min", "max"]), inner, inner),
    ),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None)
@given(DIMS)
def test_no_dim_is_less_than_its_bound(dim: Dim) -> None:
    found = [evaluate(dim, {"n": n, "m": m}) for n, m in product(range(7), repeat=2)]

    assert min(found) >= lower_bound(dim) or lower_bound(dim) == -math.inf
