"""Type rules: exact symbolic results, unknown dims, and what is refused with which code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from reference_vm.diagnostics import CompileError
from reference_vm.ops.catalog import OPS
from reference_vm.ops.definition import Content
from reference_vm.ops.typing import infer_call
from reference_vm.source import Source
from reference_vm.types import UNKNOWN, Attrs, Dim, DType, ShapeType, TensorType, Type
from reference_vm.types.dim import apply, symbol
from reference_vm.types.dtype import BOOL, F32, F64, I32, I64, U8

N, M = symbol("n"), symbol("m")
ANY = TensorType(F32, None)


def t(*dims: Dim, dtype: DType = F32) -> TensorType:
    return TensorType(dtype, dims)


def infer(
    op: str, *types: Type | None, contents: Sequence[Content | None] = (), **attrs: Any
) -> str:
    padded = [*contents, *[None] * (len(types) - len(contents))]
    return str(infer_call(OPS[op], types, Attrs(attrs), padded).type)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ((N, 1), (1, 4), "f32[n, 4]"),
        ((), (N,), "f32[n]"),
        ((N,), (N,), "f32[n]"),
        ((2 * N + 1,), (1 + N * 2,), "f32[2*n + 1]"),
        ((N,), (3,), "f32[3]"),
        ((UNKNOWN,), (3,), "f32[3]"),
        ((N,), (0,), "f32[0]"),
        ((N,), (M,), "f32[?]"),
        ((N,), (N + 1,), "f32[?]"),
        ((N,), (apply("max", 0, N - 1) + apply("min", 1, N),), "f32[n]"),
        ((N,), (UNKNOWN,), "f32[?]"),
        ((UNKNOWN,), (1,), "f32[?]"),
    ],
)
def test_broadcasting_is_exact_where_it_is_certain(
    left: tuple[Dim, ...], right: tuple[Dim, ...], expected: str
) -> None:
    assert infer("add", t(*left), t(*right)) == expected
    assert infer("add", t(*right), t(*left)) == expected


def test_an_unknown_rank_broadcasts_to_one() -> None:
    assert infer("add", ANY, t(3)) == "f32[...]"


@pytest.mark.parametrize("axis", [None, (0,), (-1, 0)])
def test_a_reduction_of_an_unknown_rank(axis: tuple[int, ...] | None) -> None:
    expected = "f32[]" if axis is None else "f32[...]"
    assert infer("sum", ANY, axis=axis, keepdims=False) == expected


@pytest.mark.parametrize(
    ("start", "end", "step", "expected"),
    [
        (0, 2**63 - 1, 1, "f32[n]"),
        (1, 2**63 - 1, 1, "f32[max(0, n - 1)]"),
        (-3, 2**63 - 1, 1, "f32[min(3, n)]"),
        (0, 5, 1, "f32[min(5, n)]"),
        (0, -1, 1, "f32[max(0, n - 1)]"),
        (0, 2**31 - 1, 2, "f32[ceildiv(n, 2)]"),
        (-1, -(2**63), -1, "f32[n]"),
        (0, N, 1, "f32[n]"),
        (0, M, 1, "f32[min(m, n)]"),
        (0, N - 1, 1, "f32[?]"),
        (UNKNOWN, 5, 1, "f32[?]"),
    ],
)
def test_slices_of_a_symbolic_axis_have_exact_lengths(
    start: Dim, end: Dim, step: Dim, expected: str
) -> None:
    one = t(1, dtype=I64)
    contents = (None, (start,), (end,), (0,), (step,))
    assert infer("slice", t(N), one, one, one, one, contents=contents) == expected


def test_a_slice_along_unknown_axes_leaves_the_rank() -> None:
    one = t(1, dtype=I64)
    assert infer("slice", t(N, 4), one, one, one) == "f32[?, ?]"
    assert infer("slice", t(N, 4), one, one) == "f32[?, 4]"


def test_concat_adds_sizes_and_shares_the_others() -> None:
    assert infer("concat", t(N, UNKNOWN), t(M, 4), axis=0) == "f32[m + n, 4]"
    assert infer("concat", t(N, 2), ANY, axis=0) == "f32[?, 2]"
    assert infer("concat", t(N, 2), t(M, 2), axis=1) == "f32[n, 4]"


def test_split_of_a_symbolic_axis() -> None:
    assert infer("split", t(4 * N), num_outputs=2) == "(f32[2*n], f32[2*n])"
    assert infer("split", t(N), num_outputs=1) == "(f32[n],)"


def test_squeeze_of_dims_that_may_be_1_has_an_unknown_rank() -> None:
    assert infer("squeeze", t(N, 1)) == "f32[...]"
    assert infer("squeeze", t(2 * N, 1)) == "f32[2*n]"
    assert infer("squeeze", t(UNKNOWN, 4), axes=(0,)) == "f32[4]"


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (t(N, 3), t(3, M), "f32[n, m]"),
        (t(8, N, 3), t(UNKNOWN, 2), "f32[8, n, 2]"),
        (t(2, 1, N, 3), t(5, 3, M), "f32[2, 5, n, m]"),
        (t(3), t(3), "f32[]"),
        (ANY, t(3, 4), "f32[...]"),
    ],
)
def test_matmul_shapes(x: TensorType, y: TensorType, expected: str) -> None:
    assert infer("matmul", x, y) == expected


def test_einsum_shapes() -> None:
    assert infer("einsum", t(N, 3), t(3, M), equation="ij,jk") == "f32[n, m]"
    assert infer("einsum", t(M, N, 3), equation="...ij->...ji") == "f32[m, 3, n]"
    assert infer("einsum", t(N, 3), ANY, equation="ij,jk->ik") == "f32[n, ?]"
    assert infer("einsum", t(N, N), equation="ii") == "f32[]"


WRONG: list[tuple[str, str, tuple[Type | None, ...], dict[str, Any]]] = [
    ("shape-mismatch", "add", (t(2), t(3)), {}),
    ("shape-mismatch", "add", (t(2 * N), t(3)), {}),
    ("dtype-mismatch", "add", (t(2), t(2, dtype=F64)), {}),
    ("dtype-mismatch", "divide", (t(2, dtype=I32), t(2, dtype=I32)), {}),
    ("dtype-mismatch", "trunc_divide", (t(2), t(2)), {}),
    ("dtype-mismatch", "logical_and", (t(2), t(2)), {}),
    ("dtype-mismatch", "bitwise_and", (t(2), t(2)), {}),
    ("dtype-mismatch", "add", (t(2, dtype=BOOL), t(2, dtype=BOOL)), {}),
    ("dtype-mismatch", "exp", (t(2, dtype=I32),), {}),
    ("dtype-mismatch", "where", (t(2), t(2), t(2)), {}),
    ("dtype-mismatch", "where", (t(2, dtype=BOOL), t(2), t(2, dtype=I32)), {}),
    ("dtype-mismatch", "clip", (t(2), t(dtype=I32)), {}),
    ("type-mismatch", "exp", (ShapeType((2,)),), {}),
    ("type-mismatch", "shape_to_tensor", (t(2),), {}),
    ("axis-out-of-range", "sum", (t(2, 3),), {"axis": (2,)}),
    ("attribute-value", "sum", (t(2, 3),), {"axis": (1, -1)}),
    ("attribute-value", "sum", (t(2, 3),), {"axis": ("x",)}),
    ("dtype-mismatch", "sum", (t(2, dtype=BOOL),), {}),
    ("dtype-mismatch", "mean", (t(2, dtype=I32),), {}),
    ("axis-out-of-range", "argmax", (t(),), {"axis": 0}),
    ("axis-out-of-range", "cumulative_sum", (t(3),), {"axis": 1}),
    ("empty-reduction", "argmin", (t(2, 0),), {"axis": -1}),
    ("rank-mismatch", "permute_dims", (t(2, 3),), {"axes": (0,)}),
    ("attribute-value", "permute_dims", (t(2, 3),), {"axes": (0, -2)}),
    ("axis-out-of-range", "expand_dims", (t(2),), {"axes": (2,)}),
    ("shape-mismatch", "squeeze", (t(2, 3),), {"axes": (0,)}),
    ("axis-out-of-range", "flatten", (t(2),), {"axis": 2}),
    ("shape-mismatch", "reshape", (t(2, 3), ShapeType((4,))), {}),
    ("shape-mismatch", "reshape", (t(2, 3), ShapeType((-1, -1))), {}),
    ("shape-mismatch", "reshape", (t(5), ShapeType((2, -1))), {}),
    ("dtype-mismatch", "reshape", (t(5), t(1)), {}),
    ("rank-mismatch", "reshape", (t(5), t(1, 1, dtype=I64)), {}),
    ("shape-mismatch", "broadcast_to", (t(2), ShapeType((1,))), {}),
    ("shape-mismatch", "broadcast_to", (t(2, 2), ShapeType((2,))), {}),
    ("shape-mismatch", "expand", (t(2), ShapeType((3,))), {}),
    ("rank-mismatch", "concat", (t(2), t(2, 2)), {"axis": 0}),
    ("shape-mismatch", "concat", (t(2, 2), t(2, 3)), {"axis": 0}),
    ("axis-out-of-range", "concat", (t(),), {"axis": 0}),
    ("shape-mismatch", "split", (t(4), ShapeType((1, 2))), {"num_outputs": 2}),
    ("shape-mismatch", "split", (t(4), ShapeType((4,))), {"num_outputs": 2}),
    ("attribute-value", "split", (t(4),), {"num_outputs": 0}),
    ("shape-mismatch", "slice", (t(4), ShapeType((1, 2)), ShapeType((1,))), {}),
    ("zero-step", "slice", (t(4), *[ShapeType((0,))] * 4), {}),
    ("axis-out-of-range", "slice", (t(4), *[ShapeType((1,))] * 3), {}),
    ("shape-mismatch", "pad", (t(4), ShapeType((1,))), {}),
    ("shape-mismatch", "pad", (t(4), ShapeType((-3, -2))), {}),
    ("shape-mismatch", "pad", (t(0), ShapeType((1, 0))), {"mode": "edge"}),
    ("dtype-mismatch", "pad", (t(4), ShapeType((1, 1)), t(dtype=I32)), {}),
    ("rank-mismatch", "tile", (t(4), ShapeType((1, 1))), {}),
    ("rank-mismatch", "tril", (t(4),), {}),
    ("shape-mismatch", "reverse_sequence", (t(2, 3), t(2, dtype=I64)), {}),
    ("dtype-mismatch", "take", (t(3), t(2, dtype=U8)), {}),
    ("axis-out-of-range", "take", (t(3), t(2, dtype=I64)), {"axis": 1}),
    ("rank-mismatch", "take_along_axis", (t(3), t(2, 2, dtype=I64)), {}),
    ("shape-mismatch", "take_along_axis", (t(3, 3), t(4, 2, dtype=I64)), {}),
    ("shape-mismatch", "gather_nd", (t(3), t(2, 2, dtype=I64)), {}),
    ("attribute-value", "gather_nd", (t(3, 3), t(1, dtype=I64)), {"batch_dims": 1}),
    ("shape-mismatch", "scatter_elements", (t(3), t(2, dtype=I64), t(3)), {}),
    ("shape-mismatch", "scatter_elements", (t(2, N, dtype=I64), *[t(2, N + 1, dtype=I64)] * 2), {}),
    ("dtype-mismatch", "scatter_elements", (t(3), t(2, dtype=I64), t(2, dtype=I32)), {}),
    ("shape-mismatch", "scatter_nd", (t(3, 4), t(2, 1, dtype=I64), t(2, 3)), {}),
    ("shape-mismatch", "one_hot", (t(2, dtype=I64), t(dtype=I64), t(3)), {}),
    ("rank-mismatch", "one_hot", (t(2, dtype=I64), t(2, dtype=I64), t(2)), {}),
    ("dtype-mismatch", "compress", (t(2), t(2)), {}),
    ("shape-mismatch", "full", (ShapeType((-1,)), t()), {}),
    ("rank-mismatch", "full", (ShapeType((1,)), t(1)), {}),
    ("rank-mismatch", "eye_like", (t(2),), {}),
    ("shape-mismatch", "matmul", (t(2, 3), t(2, 3)), {}),
    ("rank-mismatch", "matmul", (t(), t(2)), {}),
    ("attribute-value", "einsum", (t(2),), {"equation": "i,j"}),
    ("attribute-value", "einsum", (t(2),), {"equation": "i->j"}),
    ("rank-mismatch", "einsum", (t(2),), {"equation": "ij"}),
    ("shape-mismatch", "einsum", (t(2, 3),), {"equation": "ii"}),
    ("shape-mismatch", "det", (t(2, 3),), {}),
    ("shape-mismatch", "prelu", (t(3), t(2, 3)), {}),
    ("attribute-type", "gelu", (t(3),), {"approximate": "fast"}),
    ("missing-attribute", "cast", (t(3),), {}),
    ("wrong-arity", "add", (t(3),), {}),
]


@pytest.mark.parametrize(("code", "op", "types", "attrs"), WRONG)
def test_what_is_certainly_wrong_is_refused_where_it_stands(
    code: str, op: str, types: tuple[Type | None, ...], attrs: dict[str, Any]
) -> None:
    span = Source("program", "%y = …").span(5, 6)
    with pytest.raises(CompileError) as raised:
        infer_call(OPS[op], types, Attrs(attrs), [None] * len(types), span)
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.code == code
    assert diagnostic.span is span
    assert diagnostic.message.startswith(f"{op}: ")


def test_mixed_dtypes_are_told_to_cast() -> None:
    with pytest.raises(CompileError, match=r"help: .* cast one: cast\(…, to = f32\)"):
        infer("add", t(2), t(2, dtype=F64))
