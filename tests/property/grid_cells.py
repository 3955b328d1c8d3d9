"""The cells of the operator grid: calls of every operator on every dtype that it takes.

Elementwise operators get every pair of their dtypes' special values, and shapes at the limits. The
other operators get the sample calls that their own unit tests have, on special values, on plain
ones, and on nothing at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, final

import numpy as np

from reference_vm.diagnostics import CompileError
from reference_vm.ops.catalog import OPS
from reference_vm.ops.definition import Content, OpDef, Trait
from reference_vm.ops.typing import TypedCall, infer_call
from reference_vm.types import NO_ATTRS, Attrs, AttrValue, Dim, DType, ShapeType, TensorType, Type
from reference_vm.types.arrays import from_numpy, to_numpy
from reference_vm.types.dim import substitute
from reference_vm.types.dtype import BF16, BOOL, COMPUTED, F16, F32, F64, I8, I32, I64, U64
from reference_vm.types.types import substitute_dims
from tests.unit.ops import calls, values
from tests.unit.ops.calls import Host, Sample
from tests.unit.ops_nn import test_agreement_with_the_oracle as nn

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Dims: TypeAlias = "tuple[int, ...]"
Given: TypeAlias = "Array | Dims | None"


@final
@dataclass(frozen=True, eq=False)
class Cell:
    """One call: an operator on operands, each an array, a shape value or left out."""

    op: OpDef
    operands: tuple[Given, ...]
    attrs: Attrs = NO_ATTRS
    chained: bool = False
    """Whether it is also tried between other operators, in one kernel."""

    def __str__(self) -> str:
        shown = ", ".join(_shown(given) for given in self.operands)
        return f"{self.op.name}({shown}){dict(self.attrs) or ''}"

    @property
    def dtype(self) -> DType | None:
        """The dtype of the first operand."""
        first = self.operands[0]
        return from_numpy(first.dtype) if isinstance(first, np.ndarray) else None

    def is_fixed(self, index: int) -> bool:
        """Whether operand ``index`` is always a constant: shape values have no other form."""
        return isinstance(self.operands[index], tuple)

    def is_host(self, index: int) -> bool:
        """Whether operand ``index`` decides a shape."""
        return self.op.is_host_operand(index) and isinstance(self.operands[index], np.ndarray)

    def infer(self, known: Sequence[bool]) -> TypedCall:
        """Return the call's type when the operands marked in ``known`` are constants.

        Raises:
            CompileError: The operator does not take such operands.
        """
        types = [type_of(given) for given in self.operands]
        contents = [
            content_of(given) if is_known else None
            for given, is_known in zip(self.operands, known, strict=True)
        ]
        return infer_call(self.op, types, self.attrs, contents)

    @property
    def is_accepted(self) -> bool:
        """Whether the type rule takes the operands, as far as it can tell without their data."""
        try:
            self.infer([self.is_fixed(i) for i in range(len(self.operands))])
        except CompileError:
            return False
        return True


def _shown(given: Given) -> str:
    if not isinstance(given, np.ndarray):
        return str(given)
    return f"{from_numpy(given.dtype)}{list(given.shape)}"


def type_of(given: Given) -> Type | None:
    """Return the type of what is given as an operand."""
    if isinstance(given, np.ndarray):
        return TensorType(from_numpy(given.dtype), given.shape)
    return None if given is None else ShapeType(given)


def content_of(given: Given) -> Content | None:
    """Return the elements of a small vector of integers, which shapes are told by."""
    small = isinstance(given, np.ndarray) and given.dtype.kind in "iu" and given.ndim <= 1
    return tuple(int(v) for v in given.ravel()) if small else None  # type: ignore[union-attr]


_NEAR: Final = (0.1, 1 / 3, 0.49999997, 1.0000001, 0.9999999, 2.9999998, 4097.3, 16777217.0)
"""Beside the limits: inexact decimals, neighbours of whole numbers, and large odd ones."""


def special(dtype: DType) -> Array:
    """Return a vector of a dtype's special values, each once."""
    found = list(values.special(dtype))
    if dtype.is_float:
        found += [s * v for v in _NEAR for s in (1, -1)]
    if dtype.is_integer:
        found += [dtype.bits - 1, dtype.bits]
    with np.errstate(over="ignore"):
        every = values.array(dtype, found)
    return np.array(list({v.tobytes(): v for v in every}.values()), every.dtype)


def filled(shape: Dims, dtype: DType, shift: int = 0) -> Array:
    """Return special values of a dtype in a shape, one after the other and over again."""
    flat = special(dtype)
    order = (7 * np.arange(math.prod(shape)) + shift) % len(flat)
    return flat[order].reshape(shape)


# --- elementwise operators ---------------------------------------------------------------------

SHAPED: Final = (F32, I32, BOOL)
"""All shapes are tried with the first of these: how a kernel walks does not depend on the dtype."""

CHAINED: Final = (BOOL, I32, F16, BF16, F32)
"""The dtypes whose kernels are also fused with others."""

SHAPES: Final[tuple[tuple[Dims, Dims, Dims], ...]] = (
    ((), (), ()),
    ((0, 3), (3,), ()),
    ((3, 0), (1,), (1, 1)),
    ((1,), (1, 1), ()),
    ((2, 1, 3), (4, 1), (3,)),
)

_FAILS_ON: Final[Mapping[str, Any]] = {
    "pow": lambda y: y < 0,
    **dict.fromkeys(("floor_divide", "trunc_divide", "remainder", "fmod"), lambda y: y == 0),
}
"""Where an integer operand is the data's fault."""

_CLIPS: Final = ((None, None), (1, None), (None, 1), (0, 3), (3, 1), (math.nan, 1), (0, math.nan))


def elementwise_cells(op: OpDef) -> Iterator[Cell]:
    """Yield calls of an elementwise operator: special values and shapes, for each dtype."""
    for dtype in COMPUTED:
        for attrs in _attrs(op):
            for cell in _accepted(_special_cells(op, dtype, attrs)):
                yield replace(cell, chained=dtype in CHAINED and attrs.get("to", dtype) in CHAINED)
    for dtype in SHAPED:
        found = list(_accepted(_shaped_cells(op, dtype)))
        yield from found
        if found:
            return


def _attrs(op: OpDef) -> Iterator[Attrs]:
    if op.name == "cast":
        yield from (Attrs(to=dtype) for dtype in COMPUTED)
    elif op.name == "isinf":
        yield from (Attrs(detect_negative=False), Attrs(detect_positive=False))
    elif op.name == "gelu":
        yield from (Attrs(approximate="none"), Attrs(approximate="tanh"))
    else:
        yield NO_ATTRS


def _special_cells(op: OpDef, dtype: DType, attrs: Attrs) -> Iterator[Cell]:
    x = special(dtype)
    if op.name == "clip":
        for bounds in _CLIPS:
            if dtype.is_float or not any(isinstance(b, float) for b in bounds):
                ends = (None if b is None else values.array(dtype, [b]).reshape(()) for b in bounds)
                yield Cell(op, (x, *ends))
    elif op.name == "where":
        yield Cell(op, (np.array([[[True]], [[False]]]), x[:, None], x))
    elif op.name == "prelu":
        yield Cell(op, (np.tile(x[:, None], len(x)), x))
    elif len(op.operands) == 1:
        yield Cell(op, (x,), attrs)
    else:
        fails = _FAILS_ON.get(op.name)
        bad = fails(x) if fails and dtype.is_integer else np.zeros(len(x), bool)
        yield Cell(op, (x[:, None], x[~bad]))
        if bad.any():
            yield Cell(op, (x[:, None], x))


def _shaped_cells(op: OpDef, dtype: DType) -> Iterator[Cell]:
    for shapes in SHAPES:
        count = len(op.operands)
        operands = [filled(shape, dtype, i) for i, shape in enumerate(shapes[:count])]
        if op.name in _FAILS_ON and dtype.is_integer:
            operands[1] = np.full_like(operands[1], 3)
        if op.name == "where":
            operands[0] = filled(shapes[0], BOOL)
        attrs = Attrs(to=F32) if op.name == "cast" else NO_ATTRS
        yield Cell(op, tuple(operands), attrs)


def _accepted(cells: Iterator[Cell]) -> Iterator[Cell]:
    return (cell for cell in cells if cell.is_accepted)


# --- the other operators -----------------------------------------------------------------------

SIZES: Final[tuple[Mapping[str, Dim], ...]] = (
    {"n": 3, "m": 2},
    {"n": 0, "m": 2},
    {"n": 2, "m": 0},
    {"n": 1, "m": 1},
)
"""What the symbols of samples stand for."""

SAMPLED: Final = (BOOL, I8, I32, I64, U64, F16, BF16, F32, F64)
"""The dtypes that samples are tried with: all that differ in more than width."""


def sampled_cells(op: OpDef) -> Iterator[Cell]:
    """Yield calls of an operator that has samples in `tests.unit.ops.calls`.

    The first two are tried with every dtype; how the others differ does not depend on it.
    """
    samples = [sample for sample in calls.SAMPLES if sample.op == op.name]
    for place, sample in enumerate(samples):
        for number, sizes in enumerate(SIZES):
            for dtype in (SAMPLED if place < 2 else (F32, F16, BOOL)) if number == 0 else (F32,):
                cell = _sampled(op, sample, sizes, dtype)
                if cell.is_accepted:
                    yield replace(cell, chained=dtype in CHAINED and op.loops is not None)


def _sampled(op: OpDef, sample: Sample, sizes: Mapping[str, Dim], dtype: DType) -> Cell:
    if op.name == "expand":
        sizes = {**sizes, "m": sizes["n"]}
    operands = [_operand(g, sizes, dtype, i) for i, g in enumerate(sample.operands)]
    return Cell(op, tuple(operands), Attrs(sample.attrs))


def _operand(given: calls.Given, sizes: Mapping[str, Dim], dtype: DType, place: int) -> Given:
    """Return a sample's operand: f32 stands for the dtype at hand, i64 for indices."""
    if given is None:
        return None
    if isinstance(given, Host):
        known = [substitute(d, sizes) for d in given.values]
        return np.array(known, np.int64).reshape((len(known),) if given.rank else ())
    type_ = substitute_dims(given, sizes)
    dims = type_.dims if isinstance(type_, ShapeType) else type_.shape  # type: ignore[union-attr]
    assert dims is not None
    shape = tuple(d if isinstance(d, int) else -1 for d in dims)
    if not isinstance(type_, TensorType):
        return shape
    if type_.dtype == I64:
        return np.asarray(np.arange(math.prod(shape), dtype=np.int64) % 2 * -1).reshape(shape)
    return filled(shape, dtype if type_.dtype == F32 else type_.dtype, place)


TREES: Final = (
    np.array([0, 1]),  # features
    np.array([0.5, -1.0]),  # thresholds
    np.array([0, 3], np.uint8),  # modes
    np.array([1, -1]),  # yes
    np.array([-2, -3]),  # no
    np.array([True, False]),  # missing
    np.array([0, -4]),  # roots
    np.array([0, 1, 3, 4, 5]),  # leaf_starts
    np.array([0, 1, 0, 1, 0]),  # leaf_targets
    np.array([1.5, -2.0, 0.25, 4.0, 0.5]),  # leaf_weights
)
ROIS: Final = np.array([[0.5, 1.0, 3.5, 4.0], [-1.0, 0.0, 9.0, 8.0], [2.0, 2.0, 2.0, 2.0]])
BOXES: Final = np.array([[[0, 0, 2, 2], [0, 1, 2, 3], [2, 2, 0, 0], [4, 4, 5, 5]]], np.float32)
SCORES: Final = np.array([[[0.5, 0.75, 0.25, 0.5], [0.0, 0.125, 0.5, 0.25]]], np.float32)
LIMITS: Final = (np.array(3), np.array(0.25, np.float32), np.array(0.125, np.float32))

OWN_CALLS: Final[Sequence[nn.Call]] = (
    ("tree_ensemble", [nn.f(5, 2), *TREES], {"targets": 2}),
    ("tree_ensemble", [nn.f(5, 2), *TREES], {"targets": 3, "aggregate": "max"}),
    ("roi_align", [nn.f(2, 3, 4, 5), ROIS, np.array([0, 1, 0])], {"output_width": 2}),
    (
        "roi_align",
        [nn.f(2, 3, 4, 5), ROIS, np.array([0, 1, 0])],
        {"mode": "max", "sampling_ratio": 2, "output_height": 2, "half_pixel": False},
    ),
    ("non_max_suppression", [BOXES, SCORES, *LIMITS], {}),
    ("non_max_suppression", [BOXES, SCORES, LIMITS[0]], {"center_point_box": True}),
    ("grid_sample", [nn.f(1, 2, 3, 4), nn.f(1, 2, 2, 2)], {}),
    ("grid_sample", [nn.f(1, 1, 3), nn.f(1, 4, 1)], {"mode": "cubic", "padding_mode": "border"}),
    ("quantize_linear", [nn.f(3, 4, scale=50), nn.f(), None], {"output_dtype": I8}),
    ("dequantize_linear", [nn.u8(3, 4), nn.f(4), nn.u8(4)], {"output_dtype": F16}),
)

_FLOATS: Final = (F16, BF16, F32, F64)


def network_cells(op: OpDef) -> Iterator[Cell]:
    """Yield calls of an operator that has samples among the network operators' tests."""
    for name, operands, attrs in (*nn.CALLS, *OWN_CALLS):
        if name == op.name:
            for dtype in _FLOATS:
                for cell in _accepted(_network(op, operands, attrs, dtype)):
                    yield replace(cell, chained=dtype in CHAINED and op.loops is not None)
    for name, operands, attrs in nn.OTHER_CALLS:
        if name == op.name:
            yield from _accepted(iter([Cell(op, tuple(map(_array, operands)), Attrs(attrs))]))


def _array(given: Any) -> Given:
    return None if given is None else np.asarray(given)


def _network(
    op: OpDef, operands: Sequence[Any], attrs: Mapping[str, Any], dtype: DType
) -> Iterator[Cell]:
    plain = tuple(
        np.asarray(v, to_numpy(dtype)) if v is not None and v.dtype == np.float64 else v
        for v in operands
    )
    given = Attrs(attrs)
    yield Cell(op, plain, given)
    x = plain[0]
    if x.ndim and dtype in (F16, F32):
        if from_numpy(x.dtype) == dtype:
            yield Cell(op, (_sprinkled(x), *plain[1:]), given)
        yield Cell(op, (x[:0], *plain[1:]), given)
        yield Cell(op, (x[..., :0], *plain[1:]), given)


def _sprinkled(x: Array) -> Array:
    """Return ``x`` with an infinity of each sign and a NaN in it."""
    found = x.copy()
    flat = found.reshape(-1)
    for place, value in zip(
        (0, x.size // 2, x.size - 1), (math.inf, math.nan, -math.inf), strict=True
    ):
        flat[place] = value
    return found


# --- data at fault -----------------------------------------------------------------------------


def i64(*found: int) -> Array:
    return np.array(found, np.int64)


def number(value: int) -> Array:
    return np.array(value, np.int64)


ROW: Final = np.arange(4, dtype=np.float32)
TABLE: Final = np.arange(12, dtype=np.float32).reshape(3, 4)
NOTHING: Final = np.zeros((3, 0), np.float32)
IMAGE: Final = np.ones((2, 1, 3, 3), np.float32)
SINGLE_TREES: Final = tuple(v.astype(np.float32) if v.dtype == np.float64 else v for v in TREES)

FAULTS: Final[Sequence[tuple[str, str, tuple[Given, ...], dict[str, AttrValue]]]] = (
    ("division-by-zero", "floor_divide", (i64(1, 2), i64(1, 0)), {}),
    ("division-by-zero", "trunc_divide", (i64(1, 2), number(0)), {}),
    ("division-by-zero", "remainder", (values.array(U64, [1, 2]), values.array(U64, [0, 1])), {}),
    ("division-by-zero", "fmod", (values.array(I8, [1, 2]), values.array(I8, [0, 1])), {}),
    ("negative-exponent", "pow", (i64(2, 3), i64(1, -1)), {}),
    ("empty-reduction", "argmax", (NOTHING,), {"axis": 1}),
    ("empty-reduction", "argmin", (NOTHING,), {"axis": -1, "keepdims": True}),
    ("index-out-of-range", "take", (ROW, i64(0, 4)), {}),
    ("index-out-of-range", "take", (ROW, i64(-5)), {}),
    ("index-out-of-range", "take", (TABLE[:0], i64(0)), {"axis": 0}),
    ("index-out-of-range", "take", (NOTHING, i64(3)), {"axis": 0}),
    ("index-out-of-range", "take", (NOTHING[:1].T, i64(1)), {"axis": 1}),
    ("index-out-of-range", "take_along_axis", (TABLE, i64(4)[None]), {"axis": 1}),
    ("index-out-of-range", "gather_nd", (TABLE, i64(0, 4)), {}),
    ("index-out-of-range", "gather_nd", (TABLE, i64(-4)), {}),
    ("index-out-of-range", "scatter_elements", (ROW, i64(4), ROW[:1]), {}),
    ("index-out-of-range", "scatter_elements", (ROW, i64(-5), ROW[:1]), {"reduction": "add"}),
    ("index-out-of-range", "scatter_nd", (TABLE, i64(3)[None], TABLE[:1]), {}),
    ("index-out-of-range", "reverse_sequence", (TABLE, i64(1, 2, 3, 4)), {}),
    ("index-out-of-range", "reverse_sequence", (TABLE[:, :1], i64(-1)), {}),
    ("index-out-of-range", "compress", (ROW, np.array([False] * 4 + [True])), {}),
    ("index-out-of-range", "compress", (NOTHING, np.array([True])), {"axis": 1}),
    ("index-out-of-range", "roi_align", (IMAGE, ROIS[:1].astype("f4"), i64(2)), {}),
    ("index-out-of-range", "tree_ensemble", (TABLE[:, :1], *SINGLE_TREES), {"targets": 2}),
    ("shape-mismatch", "non_max_suppression", (BOXES, SCORES, i64(1, 2)), {}),
    ("zero-step", "arange", (number(0), number(4), number(0)), {}),
    ("zero-step", "slice", (ROW, i64(0), i64(4), i64(0), i64(0)), {}),
    ("shape-mismatch", "pad", (ROW, i64(-3, -2)), {}),
    ("shape-mismatch", "pad", (NOTHING, i64(0, 1, 0, 0)), {"mode": "edge"}),
    ("shape-mismatch", "split", (ROW, i64(1, 2)), {"num_outputs": 2}),
    ("rank-mismatch", "tile", (TABLE, i64(1, 2, 3)), {}),
    ("shape-mismatch", "reshape", (TABLE, i64(5, -1)), {}),
    ("shape-mismatch", "reshape", (TABLE, i64(5, 3)), {}),
    ("shape-mismatch", "broadcast_to", (TABLE, i64(3, 5)), {}),
    ("shape-mismatch", "expand", (TABLE, i64(2, 1)), {}),
    ("shape-mismatch", "one_hot", (i64(0), number(0), ROW[:2]), {}),
    ("shape-mismatch", "top_k", (ROW, i64(5)), {}),
    ("shape-mismatch", "tensor_to_shape", (i64(2, -1),), {}),
)
"""Calls with the code of the error that they end in."""


def fault_cells() -> Iterator[tuple[str, Cell]]:
    """Yield calls whose data is at fault, each after the code of the error that it ends in."""
    for code, name, operands, attrs in FAULTS:
        yield code, Cell(OPS[name], operands, Attrs(attrs))


def cells(op: OpDef) -> list[Cell]:
    """Return the operator's column of the grid."""
    if op.has(Trait.ELEMENTWISE) and op.name != "identity":
        return list(elementwise_cells(op))
    return [*sampled_cells(op), *network_cells(op)]
