"""The shapes of one call, told in four ways: with numbers, symbols and unknown dims, and by a run.

A cell is a call on arrays (`grid_cells.Cell`). Its *variants* have some of the sizes replaced
throughout, by 0 too, so that operands still fit or no longer do, and host operands with other
numbers in them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, Union, final

import numpy as np

from reference_vm.diagnostics import CompileError, DataError
from reference_vm.ir.nodes import Binding, Block, Call, Function, Var
from reference_vm.ops.definition import Content, OpDef, Trait
from reference_vm.ops.typing import fill_attrs, infer_call
from reference_vm.targets.shape_function import shape_function
from reference_vm.types import (
    UNKNOWN,
    Attrs,
    Dim,
    DType,
    ShapeType,
    TensorType,
    Type,
    Unknown,
    leaves,
)
from reference_vm.types.arrays import from_numpy
from reference_vm.types.dim import evaluate, symbol
from tests.property.grid_cells import Cell, Given, cells, content_of, type_of

Dims: TypeAlias = "tuple[int, ...]"
Told: TypeAlias = Union["tuple[Dims | None, ...]", str]
"""The dims of each tensor of the result, ``None`` for not known; or the code of the error."""

VARIANTS: Final = 6
"""Variants of each cell."""

_SIZES: Final = (0, 0, 1, 2, 3, 5)
_NUMBERS: Final = (-3, -1, 0, 1, 2, 4, 9)
_DTYPES: Final = ("bool", "i32", "i64", "f32", "u8", "i8")
_MOST: Final = 24
"""Cells of an operator that are tried; those of other dtypes say nothing new of shapes."""

_LATE: Final = frozenset(
    {
        "division-by-zero",
        "empty-reduction",
        "index-out-of-range",
        "negative-exponent",
        "attribute-value",
    }
)
"""Codes of errors that the elements alone may tell."""


def shape_cells(op: OpDef, rng: random.Random) -> Iterator[Cell]:
    """Yield cells of an operator, each followed by variants of it."""
    found = [c for c in cells(op) if c.dtype is None or c.dtype.name in _DTYPES]
    step = max(1, len(found) // _MOST)
    for cell in found[::step]:
        yield cell
        for _ in range(VARIANTS):
            yield variant(cell, rng)


def variant(cell: Cell, rng: random.Random) -> Cell:
    """Return the cell with one or two of its sizes replaced, and perhaps a number of a host
    operand."""
    operands = list(cell.operands)
    for _ in range(rng.choice((1, 1, 2))):
        sizes = sorted({d for g in operands if isinstance(g, np.ndarray) for d in g.shape})
        if sizes:
            old, new = rng.choice(sizes), rng.choice(_SIZES)
            everywhere = rng.random() < 0.7
            operands = [
                _resized(g, old, new, everywhere, rng) if not cell.op.is_host_operand(i) else g
                for i, g in enumerate(operands)
            ]
    if rng.random() < 0.5:
        operands = [
            _renumbered(g, rng) if cell.op.is_host_operand(i) else g for i, g in enumerate(operands)
        ]
    return replace(cell, operands=tuple(operands))


def _resized(given: Given, old: int, new: int, everywhere: bool, rng: random.Random) -> Given:
    if not isinstance(given, np.ndarray):
        return given
    replaced = [d == old and (everywhere or rng.random() < 0.5) for d in given.shape]
    shape = tuple(new if r else d for r, d in zip(replaced, given.shape, strict=True))
    return np.resize(given, shape) if given.size else np.zeros(shape, given.dtype)


def _renumbered(given: Given, rng: random.Random) -> Given:
    if not isinstance(given, np.ndarray) or given.dtype.kind != "i" or not given.size:
        return given
    changed = given.copy()
    changed.reshape(-1)[rng.randrange(changed.size)] = rng.choice(_NUMBERS)
    return changed


# --- the four ways ----------------------------------------------------------------------------


def inferred(cell: Cell) -> Told:
    """Return what the type rule says when all is known."""
    try:
        return _dims(cell.infer([True] * len(cell.operands)).type)
    except CompileError as error:
        return error.diagnostics[0].code


def foretold(cell: Cell) -> Told:
    """Return what the shape function says, as the runtime asks it before a launch."""
    types = [type_of(given) for given in cell.operands]
    told = shape_function(_primitive(cell, types), {cell.op.name: cell.op})
    reads = iter(told.reads)
    inputs = [_input(g, next(reads)) for g in cell.operands if g is not None]
    try:
        return tuple(told(inputs))
    except DataError as error:
        return error.code


def executed(cell: Cell) -> tuple[Told, tuple[DType, ...]]:
    """Return the dims and dtypes of what the operator computes."""
    try:
        with np.errstate(all="ignore"):
            attrs = fill_attrs(cell.op, cell.attrs)
            result = cell.op.compute(np, *cell.operands, **attrs)
    except DataError as error:
        return error.code, ()
    if isinstance(cell_type(cell), ShapeType):
        return (), ()
    arrays = [np.asarray(r) for r in (result if isinstance(result, tuple) else (result,))]
    return tuple(a.shape for a in arrays), tuple(from_numpy(a.dtype) for a in arrays)


def cell_type(cell: Cell) -> Type | None:
    """Return the type of the result; ``None`` if the rule takes no such operands."""
    try:
        return cell.infer([True] * len(cell.operands)).type
    except CompileError:
        return None


@final
@dataclass(frozen=True)
class Loose:
    """A type rule's answer where some dims are symbols or unknown."""

    type: Type | None
    values: dict[str, int]

    def contradicts(self, dims: Told) -> bool:
        """Whether it rules out what a run found."""
        if self.type is None:
            return True
        if isinstance(self.type, ShapeType) or isinstance(dims, str):
            return False
        types = list(leaves(self.type))
        return len(types) != len(dims) or any(map(self._differs, types, dims))

    def _differs(self, type_: TensorType, found: Dims | None) -> bool:
        if type_.shape is None or found is None:
            return False
        if len(type_.shape) != len(found):
            return True
        return any(
            not isinstance(dim, Unknown) and evaluate(dim, self.values) != size
            for dim, size in zip(type_.shape, found, strict=True)
        )


def loosened(cell: Cell, rng: random.Random) -> Loose:
    """Return the rule's answer after hiding dims: as symbols, equal sizes alike, or unknown."""
    values: dict[str, int] = {}
    types = [_loose(type_of(g), rng, values) for g in cell.operands]
    tell = rng.random() < 0.7
    contents: list[Content | None] = [
        _content(g) if isinstance(g, tuple) or (tell and cell.op.is_host_operand(i)) else None
        for i, g in enumerate(cell.operands)
    ]
    try:
        return Loose(infer_call(cell.op, types, cell.attrs, contents).type, values)
    except CompileError:
        return Loose(None, values)


def _loose(type_: Type | None, rng: random.Random, values: dict[str, int]) -> Type | None:
    if not isinstance(type_, TensorType) or type_.shape is None:
        return type_
    if rng.random() < 0.1:
        return TensorType(type_.dtype, None)
    shape: list[Dim] = []
    for size in type_.shape:
        kind = rng.random()
        if kind < 0.4 and isinstance(size, int):
            values[f"s{size}"] = size
            shape.append(symbol(f"s{size}"))
        else:
            shape.append(UNKNOWN if kind < 0.7 else size)
    return TensorType(type_.dtype, tuple(shape))


def _content(given: Given) -> Content | None:
    return given if isinstance(given, tuple) else content_of(given)


def _primitive(cell: Cell, types: Sequence[Type | None]) -> Function:
    args = [None if t is None else Var(f"x{i}", t) for i, t in enumerate(types)]
    out = Var("y", None)
    body = Block((Binding(out, Call(cell.op.name, tuple(args), cell.attrs)),), out)
    params = tuple(a for a in args if a is not None)
    return Function(cell.op.name, params, ShapeType(None), body, attrs=Attrs(primitive=True))


def _input(given: Any, read: bool) -> Any:
    return given if isinstance(given, tuple) or read else given.shape


def _dims(type_: Type) -> tuple[Dims | None, ...]:
    found = []
    for leaf in leaves(type_):
        shape = leaf.shape
        known = shape is not None and all(isinstance(d, int) for d in shape)
        found.append(shape if known else None)
    return tuple(found)  # type: ignore[arg-type]  # known dims are ints


def disagreements(op: OpDef, rng: random.Random) -> Iterator[str]:
    """Yield what differs between the ways, over the operator's cells and their variants."""
    for cell in shape_cells(op, rng):
        yield from (f"{cell}: {found}" for found in _disagreements(cell, rng))


def _disagreements(cell: Cell, rng: random.Random) -> Iterator[str]:
    static, told = inferred(cell), foretold(cell)
    if isinstance(static, str):
        if told != static:
            yield f"inference ends in {static}, the shape function in {told}"
        return
    if isinstance(told, str):
        if told not in _LATE:
            yield f"inference says {static}, the shape function ends in {told}"
        return
    found, dtypes = executed(cell)
    if isinstance(found, str):
        if found not in _LATE:
            yield f"inference says {static}, the run ends in {found}"
        return
    yield from _compared(cell, static, told, found, dtypes)
    loose = loosened(cell, rng)
    if loose.contradicts(found) and not _is_either(cell):
        yield f"with symbols {loose.values} inference says {loose.type}, the run {found}"


def _is_either(cell: Cell) -> bool:
    """Whether a 0 in a reshape's target may be a dim to copy or a size.

    Of a tensor without elements only the run can tell: a size, where no copy fits. What was
    inferred from a copy is held to the number of elements when the view is made.
    """
    x, *rest = cell.operands
    empty = isinstance(x, np.ndarray) and not x.size
    return cell.op.name == "reshape" and empty and any(0 in np.asarray(t) for t in rest)


def _compared(
    cell: Cell,
    static: tuple[Dims | None, ...],
    told: tuple[Dims | None, ...],
    found: tuple[Dims | None, ...],
    dtypes: tuple[DType, ...],
) -> Iterator[str]:
    if any(s is not None and s != f for s, f in zip(static, found, strict=True)):
        yield f"inference says {static}, the run {found}"
    if any(t is not None and t != f for t, f in zip(told, found, strict=True)):
        yield f"the shape function says {told}, the run {found}"
    if None in told and not cell.op.has(Trait.DATA_DEPENDENT):
        yield f"the shape function says {told}, though no data decide"
    type_ = cell_type(cell)
    if type_ is not None and tuple(t.dtype for t in leaves(type_)) != dtypes:
        yield f"inference says {type_}, the run has {', '.join(map(str, dtypes))}"
