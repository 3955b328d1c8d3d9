"""One call, or more, of every operator of the basic families, over symbolic shapes.

`Host` stands for a host operand whose elements are known dims; the test of agreement replaces the
symbols by numbers, infers again and runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from reference_vm.ops.catalog import FAMILIES
from reference_vm.types import AttrValue, Dim, DType, ShapeType, TensorType
from reference_vm.types.dim import symbol
from reference_vm.types.dtype import BOOL, F32, F64, I32, I64

N: Final = symbol("n")
M: Final = symbol("m")


@dataclass(frozen=True)
class Host:
    """An integer tensor whose elements are known: a vector, or one number."""

    values: tuple[Dim, ...]
    rank: int = 1


Given: TypeAlias = TensorType | ShapeType | Host | None


@dataclass(frozen=True)
class Sample:
    """A call of an operator; symbols are at least ``least``."""

    op: str
    operands: tuple[Given, ...]
    attrs: Mapping[str, AttrValue] = field(default_factory=dict)
    least: int = 0

    def __str__(self) -> str:
        return f"{self.op}-{'-'.join(map(str, self.operands))}-{dict(self.attrs)}"


def t(*dims: Dim, dtype: DType = F32) -> TensorType:
    return TensorType(dtype, dims)


def index(*dims: Dim) -> TensorType:
    """A tensor of indices; the test fills it with zeros."""
    return TensorType(I64, dims)


def host(*values: Dim) -> Host:
    return Host(values)


def number(value: Dim) -> Host:
    return Host((value,), 0)


def shape(*dims: Dim) -> ShapeType:
    return ShapeType(dims)


_LOGIC: Final = ("logical_and", "logical_or", "logical_xor", "logical_not")
_INTEGER: Final = ("trunc_divide", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert")
_SHIFTS: Final = ("bitwise_left_shift", "bitwise_right_shift")
_OWN: Final = ("where", "clip", "cast", "prelu")


def _elementwise() -> list[Sample]:
    families = ("arithmetic", "elementary functions", "activations", "comparison, logic and bits")
    found: list[Sample] = []
    for op in (op for family in families for op in FAMILIES[family] if op.name not in _OWN):
        integer = op.name in (*_INTEGER, *_SHIFTS)
        dtype = BOOL if op.name in _LOGIC else I32 if integer else F32
        one, two = t(N, 1, 4, dtype=dtype), t(M, 1, dtype=dtype)
        found.append(Sample(op.name, (one, two) if len(op.operands) == 2 else (one,)))
    return found


_REDUCED: Final = t(N, 3, M)
_KEEP: Final = (False, True)
_NUMBERS: Final = ("sum", "prod", "max", "min", "mean")


def _reductions() -> list[Sample]:
    found: list[Sample] = []
    for name in (*_NUMBERS, "all", "any"):
        x = t(N, 3, M, dtype=F32 if name in _NUMBERS else BOOL)
        axes: tuple[AttrValue, ...] = (None, (0,), (1, -1), ())
        found += [Sample(name, (x,), {"axis": a, "keepdims": k}) for a in axes for k in _KEEP]
    for name in ("argmax", "argmin"):
        options = [{"axis": axis, "keepdims": keep} for axis in (1, -1) for keep in _KEEP]
        found += [Sample(name, (_REDUCED,), option, least=1) for option in options]
    for name in ("cumulative_sum", "cumulative_prod"):
        backwards = {"axis": -1, "exclusive": True, "reverse": True}
        found += [Sample(name, (_REDUCED,), attrs) for attrs in ({"axis": 0}, backwards)]
    return found


_BIG: Final = 2**63 - 1

_MOVEMENT: Final = [
    Sample("reshape", (t(N, 4, 6), host(0, -1, 3))),
    Sample("reshape", (t(N, 4, 6), host(N, -1, 2)), least=1),
    Sample("reshape", (t(N, 4, 6), shape(N * 2, 12))),
    Sample("reshape", (t(N, M), shape(M, N)), {"allow_zero": True}),
    Sample("reshape", (t(N, 4), host(-1))),
    Sample("reshape", (t(N, 6), shape(2, 3 * N))),
    Sample("flatten", (t(N, 2, M),)),
    Sample("flatten", (t(N, 2, M),), {"axis": -1}),
    Sample("flatten", (t(),), {"axis": 0}),
    Sample("expand_dims", (t(N, M),), {"axes": (0, -1)}),
    Sample("squeeze", (t(N, 1, M, 1),), {"axes": (1, -1)}),
    Sample("squeeze", (t(4, 1, 3),)),
    Sample("slice", (t(N, M), host(1), host(_BIG))),
    Sample("slice", (t(N, M), host(-3), host(_BIG), host(-1))),
    Sample("slice", (t(N, M), host(0, 2), host(-1, N), host(1, 0))),
    Sample("slice", (t(N, M), host(-1), host(-_BIG), host(0), host(-1))),
    Sample("slice", (t(N, M), host(7), host(1), host(1), host(-2))),
    Sample("slice", (t(N, M), host(1), host(M), host(1), host(3))),
    Sample("slice", (t(N, M), host(-5), host(-2), host(0), host(2))),
    Sample("slice", (t(N, M), host(M), host(N), host(0))),
    Sample("slice", (t(N), host(N + 1), host(0), host(0), host(-2))),
    Sample("concat", (t(N, 4), t(M, 4), t(3, 4)), {"axis": 0}),
    Sample("concat", (t(M, N), t(M, N)), {"axis": -1}),
    Sample("split", (t(2 * N, 3),), {"num_outputs": 2}),
    Sample("split", (t(N, 3),), {"num_outputs": 4}),
    Sample("split", (t(N + 5, 3), host(N, 5)), {"num_outputs": 2}),
    Sample("split", (t(3, 7),), {"axis": -1, "num_outputs": 3}),
    Sample("identity", (t(N),)),
    Sample("permute_dims", (t(N, 3, M),)),
    Sample("permute_dims", (t(N, 3, M),), {"axes": (1, -1, 0)}),
    Sample("broadcast_to", (t(1, 4), shape(N, M, 4))),
    Sample("expand", (t(M, 1, 4), shape(N, 1))),
    Sample("expand", (t(1), host(1, N))),
    Sample("flip", (t(N, M),), {"axes": ()}),
    Sample("flip", (t(N, M),), {"axes": (-1,)}),
    Sample("tile", (t(N, 2), host(2, M))),
    Sample("tril", (t(3, N, M),)),
    Sample("triu", (t(N, M), number(1))),
    Sample("reverse_sequence", (t(M, N), index(N))),
    Sample("pad", (t(N, M), host(1, 2, 3, 4))),
    Sample("pad", (t(N, M), host(-1, 2, 0, -1), t()), least=1),
    Sample("pad", (t(N, M), host(3, 2), None, host(-1)), {"mode": "reflect"}, least=1),
    Sample("pad", (t(N, M), host(3, 2), None, host(0)), {"mode": "wrap"}, least=1),
    Sample("pad", (t(N, M), host(3, N), None, host(0)), {"mode": "edge"}, least=1),
]

_INDEXING: Final = [
    Sample("take", (t(N, 4, M), index(2, 3)), {"axis": 1}),
    Sample("take", (t(N, 4), index()), {"axis": -1}),
    Sample("take", (t(4, N), index(M, 0)), {"axis": 0}),
    Sample("take_along_axis", (t(N, 4), index(1, M)), {"axis": 1}, least=1),
    Sample("take_along_axis", (t(N, M), index(N, 3)), least=1),
    Sample("take_along_axis", (t(5, 4), index(7, 2)), {"axis": 0}),
    Sample("gather_nd", (t(3, N, M), index(M, 1))),
    Sample("gather_nd", (t(3, 4, M), index(N, 5, 2))),
    Sample("gather_nd", (t(N, 3, M), index(N, 2, 1)), {"batch_dims": 1}),
    Sample("gather_nd", (t(N, M, 3), index(N, M, 1)), {"batch_dims": 2}),
    Sample("one_hot", (index(N, M), number(3), t(2))),
    Sample("one_hot", (index(N, M), number(N), t(2)), {"axis": 0}, least=1),
    Sample("compress", (t(N, M), t(N, dtype=BOOL)), {"axis": 0}),
    Sample("compress", (t(N, M), t(N, dtype=BOOL)), least=1),
    Sample("scatter_elements", (t(N, 4), index(N, 2), t(N, 2)), {"axis": 1}),
    Sample("scatter_elements", (t(3, N), index(2, N), t(2, N)), {"reduction": "add"}),
    Sample("scatter_nd", (t(3, N), index(M, 1), t(M, N))),
    Sample("scatter_nd", (t(3, 4, N), index(M, 2), t(M, N)), {"reduction": "max"}),
]

_OTHERS: Final = [
    Sample("where", (t(N, 1, dtype=BOOL), t(M), t(1, 1, 1))),
    Sample("clip", (t(N, M), t(), t())),
    Sample("clip", (t(N, M), None, t())),
    Sample("cast", (t(N, M),), {"to": I64}),
    Sample("bitcast", (t(N, M),), {"to": I32}),
    Sample("isnan", (t(N, M),)),
    Sample("isinf", (t(N, M),)),
    Sample("prelu", (t(N, 3, M), t(3, 1))),
    Sample("full", (shape(N, M, 3), t())),
    Sample("full", (host(N, 2), index())),
    Sample("arange", (number(0), number(N), number(1))),
    Sample("arange", (number(1), number(N), number(3))),
    Sample("arange", (number(N), number(-2), number(-2))),
    Sample("arange", (number(M), number(N), number(2))),
    Sample("eye_like", (t(N, M),), {"dtype": F64, "k": 1}),
    Sample("shape_of", (t(N, 3, M),)),
    Sample("shape_of", (t(N, 3, M),), {"start": -2, "end": 9}),
    Sample("size_of", (t(N, 3, M),)),
    Sample("shape_to_tensor", (shape(N, 3),)),
    Sample("tensor_to_shape", (host(N, 3),)),
    Sample("matmul", (t(N, 3), t(3, M))),
    Sample("matmul", (t(2, N, 3), t(3))),
    Sample("matmul", (t(N), t(M, N, 4))),
    Sample("matmul", (t(N), t(N))),
    Sample("matmul", (t(N, 1, M, 4), t(3, 4, 2))),
    Sample("einsum", (t(N, 3), t(3, M)), {"equation": "ij, jk -> ki"}),
    Sample("einsum", (t(N, M, 3), t(M, 3)), {"equation": "...j,...j"}),
    Sample("einsum", (t(N, M, 3),), {"equation": "i...->..."}),
    Sample("det", (t(N, 3, 3),)),
    Sample("device_copy", (t(N),)),
    Sample("to_vdevice", (t(N),)),
    Sample("hint_on_device", (t(N),)),
    Sample("match_cast", (t(N),)),
]

SAMPLES: Final = [*_elementwise(), *_reductions(), *_MOVEMENT, *_INDEXING, *_OTHERS]
