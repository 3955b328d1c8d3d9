"""What type rules know of symbols: they are never negative, and a capped one is still a size."""

from __future__ import annotations

import pytest

from reference_vm.ops.catalog import OPS
from reference_vm.passes.context import PassContext
from reference_vm.passes.infer_types import InferTypes
from reference_vm.text import parse
from reference_vm.types import UNKNOWN, Dim, TensorType
from reference_vm.types.dim import apply, symbol

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
