"""Chains of shape bookkeeping, as models write them, end in symbolic dims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from reference_vm.ops.catalog import OPS
from reference_vm.ops.definition import Content
from reference_vm.ops.typing import TypedCall, infer_call
from reference_vm.types import UNKNOWN, Attrs, Dim, DType, ShapeType, TensorType, Type
from reference_vm.types.dim import symbol
from reference_vm.types.dtype import BOOL, F32, I32, I64, U8

N, M = symbol("n"), symbol("m")


def call(op: str, *operands: tuple[Type, Content | None], **attrs: Any) -> TypedCall:
    types, contents = [t for t, _ in operands], [c for _, c in operands]
    return infer_call(OPS[op], types, Attrs(attrs), contents)


def value(found: TypedCall) -> tuple[Type, Content | None]:
    return found.type, found.content


def vector(*dims: Dim, dtype: DType = I64) -> tuple[Type, Content]:
    return TensorType(dtype, (len(dims),)), dims


def number(dim: Dim, dtype: DType = I64) -> tuple[Type, Content]:
    return TensorType(dtype, ()), (dim,)


def tensor(*dims: Dim) -> tuple[Type, None]:
    return TensorType(F32, dims), None


def test_shape_gather_concat_reshape_keeps_symbols() -> None:
    """x.view(x.size(0), -1) as exporters write it."""
    x = tensor(N, 6, 4)
    dims = value(call("shape_to_tensor", value(call("shape_of", x))))
    first = value(call("take", dims, number(0), axis=0))
    row = value(call("expand_dims", first, axes=(0,)))
    target = value(call("concat", row, vector(-1), axis=0))
    assert target[1] == (N, -1)
    assert str(call("reshape", x, target, allow_zero=False).type) == "f32[n, 24]"


def test_a_product_of_sliced_dims_is_a_polynomial() -> None:
    x = tensor(N, 3, M)
    dims = value(call("shape_to_tensor", value(call("shape_of", x))))
    tail = value(call("slice", dims, vector(1), vector(2**63 - 1)))
    count = call("prod", tail)
    assert count.content == (3 * M,)


def test_upsampling_by_arithmetic_on_dims() -> None:
    dims = vector(N, M)
    doubled = value(call("multiply", dims, vector(2, 2)))
    plus = value(call("add", doubled, number(1)))
    half = value(call("floor_divide", plus, number(2)))
    assert str(half[1]) == "(floordiv(2*n + 1, 2), floordiv(2*m + 1, 2))"
    assert str(call("expand", tensor(1, 1), doubled).type) == "f32[2*n, 2*m]"


def test_where_equal_replaces_minus_1() -> None:
    """The mask that exporters write for expand: where(target == -1, shape, target)."""
    target, dims = vector(-1, 4), vector(N, M)
    mask = value(call("equal", target, number(-1)))
    assert mask[1] == (1, 0)
    assert call("where", mask, dims, target).content == (N, 4)


def test_what_cannot_be_decided_is_unknown() -> None:
    mask = call("equal", vector(N, 3), vector(M, 3))
    assert mask.content == (UNKNOWN, 1)
    chosen = call("where", value(mask), vector(N, N), vector(M, 7))
    assert chosen.content == (UNKNOWN, N)


def test_nothing_known_is_no_content() -> None:
    assert call("equal", vector(N), vector(M)).content is None
    assert call("add", vector(N), (TensorType(I64, (1,)), None)).content is None


def test_a_cast_keeps_dims_and_wraps_numbers() -> None:
    assert call("cast", vector(N, 300, -1), to=U8).content == (N, 44, 255)
    assert call("cast", vector(0, 2), to=BOOL).content == (0, 1)
    assert call("cast", vector(N), to=F32).content is None


def test_arithmetic_on_contents_wraps_as_the_dtype_does() -> None:
    top = 2**31 - 1
    assert call("add", vector(top, dtype=I32), vector(1, dtype=I32)).content == (-(2**31),)
    assert call("trunc_divide", vector(-7), vector(2)).content == (-3,)
    assert call("floor_divide", vector(-7), vector(2)).content == (-4,)
    assert call("fmod", vector(-7), vector(2)).content == (-1,)
    assert call("remainder", vector(-7), vector(2)).content == (1,)


def test_division_by_0_knows_nothing() -> None:
    for op in ("floor_divide", "trunc_divide", "remainder", "fmod"):
        assert call(op, vector(7), vector(0)).content is None


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("less", (UNKNOWN, 1, 0)),
        ("less_equal", (UNKNOWN, 1, 1)),
        ("greater", (UNKNOWN, 0, 0)),
        ("greater_equal", (UNKNOWN, 0, 1)),
        ("maximum", (None, N + 1, M)),
        ("minimum", (None, N, M)),
    ],
)
def test_order_of_dims_is_decided_where_signs_do(op: str, expected: Sequence[Any]) -> None:
    found = call(op, vector(N, N, M), vector(M, N + 1, M)).content
    assert found is not None
    assert found[1:] == expected[1:]
    assert expected[0] is None or found[0] == expected[0]


def test_comparing_a_dim_with_a_negative_number_is_decided() -> None:
    assert call("less", vector(N), number(0)).content == (0,)
    assert call("greater", vector(N), number(-1)).content == (1,)


def test_arange_over_a_range_of_dims() -> None:
    bounds = number(N), number(N + 3), number(1)
    assert call("arange", *bounds).content == (N, N + 1, N + 2)
    assert str(call("arange", number(0), number(N), number(2)).type) == "i64[ceildiv(n, 2)]"


def test_one_number_broadcasts_to_a_vector() -> None:
    assert call("add", number(1), vector(N, 2)).content == (N + 1, 3)
    assert call("full", (ShapeType((2,)), (2,)), number(N)).content == (N, N)


def test_long_vectors_are_not_tracked() -> None:
    assert call("concat", vector(*[1] * 40), vector(*[2] * 24), axis=0).content is not None
    assert call("concat", vector(*[1] * 40), vector(*[2] * 25), axis=0).content is None


def test_a_known_number_beside_unknown_ones_survives_a_concat() -> None:
    found = call("concat", vector(N), (TensorType(I64, (2,)), None), vector(5), axis=0)
    assert found.content == (N, UNKNOWN, UNKNOWN, 5)


def test_the_size_is_the_product_of_dims() -> None:
    assert call("size_of", tensor(N, 3)).content == (3 * N,)
    assert call("size_of", tensor(N, UNKNOWN)).content is None


def test_a_flat_reshape_to_one_unknown_dim_has_the_element_count() -> None:
    found = call("reshape", tensor(N, 3), (TensorType(I64, (1,)), None))
    assert str(found.type) == "f32[3*n]"


def test_clip_on_contents() -> None:
    found = call("clip", vector(N, -4, 9), number(0), number(5))
    assert found.content is not None
    assert found.content[1:] == (0, 5)
    assert str(found.content[0]) == "min(5, n)"
