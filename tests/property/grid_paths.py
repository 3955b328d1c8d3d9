"""Run cells of the operator grid on every path there is, many to a module.

Each cell becomes a few functions of one module: ``r0`` has its operands at run time, ``h0`` also
those that decide shapes, ``u0`` is as ``h0`` with all dims unknown until it runs, ``c0`` has all
as constants, and ``f0`` has operators before and after it, which fuse. An outcome is the results,
or the code of the error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, Union, final

import numpy as np

import reference_vm as rv
from reference_vm.diagnostics import CompileError
from reference_vm.ir.builder import FunctionBuilder, ModuleBuilder
from reference_vm.ir.nodes import Call, Constant, Function, Module, Var
from reference_vm.ops.definition import Content
from reference_vm.ops.typing import infer_call
from reference_vm.oracle import evaluate as oracle
from reference_vm.oracle.estimate import Estimate
from reference_vm.types import UNKNOWN, ShapeType, TensorType, Type, Unknown, VirtualDevice
from reference_vm.types.arrays import from_numpy, to_numpy
from reference_vm.types.dtype import F32, I64
from tests.property.grid_cells import Array, Cell, Given

ACCEL: Final = VirtualDevice("accel")

Outcome: TypeAlias = Union["tuple[Any, ...]", str]
"""The results, flat, or the code of the diagnostic."""


@final
@dataclass(frozen=True, eq=False)
class Entry:
    """One function of the module, and what to call it with."""

    function: Function
    args: tuple[Array, ...]


@final
class Batch:
    """The functions of some cells, in one module."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.cells = cells
        self.entries: dict[str, Entry] = {}
        for number, cell in enumerate(cells):
            self._add(f"r{number}", cell, [_is_at_run_time(cell, i) for i in _places(cell)])
            if any(cell.is_host(i) for i in _places(cell)):
                self._add(f"h{number}", cell, [not cell.is_fixed(i) for i in _places(cell)])
            if cell.dtype == F32:
                self._add(
                    f"u{number}", cell, [not cell.is_fixed(i) for i in _places(cell)], UNKNOWN
                )
            self._add(f"c{number}", cell, [False for _ in _places(cell)])
            if cell.chained:
                self._add_chain(f"f{number}", cell)

    def _add(
        self, name: str, cell: Cell, at_run_time: Sequence[bool], dims: Unknown | None = None
    ) -> None:
        builder = FunctionBuilder(name)
        operands, args = _operands(builder, cell.operands, at_run_time, dims)
        type_ = _type(cell, at_run_time) if dims is None else _unsized(cell, operands)
        if type_ is None:
            return  # nothing is there to be run
        placed = cell.op.name in ("device_copy", "to_vdevice", "hint_on_device")
        returned = builder.body.binding(
            Call(cell.op.name, tuple(operands), cell.attrs),
            "result",
            type_ if cell.op.name == "match_cast" else None,
            ACCEL if placed else None,
        )
        self.entries[name] = Entry(builder.finish(returned, type_), args)

    def _add_chain(self, name: str, cell: Cell) -> None:
        """Add the cell's call between two operators that show whether halves are rounded."""
        builder = FunctionBuilder(name)
        at_run_time = [_is_at_run_time(cell, i) for i in _places(cell)]
        operands, args = _operands(builder, cell.operands, at_run_time)
        type_ = _type(cell, at_run_time)
        if not isinstance(type_, TensorType) or not isinstance(operands[0], Var):
            return
        row = _row(operands[0].tensor)
        place = builder.param("row", TensorType(from_numpy(row.dtype), row.shape))
        first = "logical_xor" if row.dtype == np.bool_ else "add"
        before = builder.body.call(first, operands[0], place)
        call = Call(cell.op.name, (before, *operands[1:]), cell.attrs)
        made = builder.body.binding(call, "made")
        after = "logical_not" if type_.dtype.is_bool else "square"
        function = builder.finish(builder.body.call(after, made), type_)
        self.entries[name] = Entry(function, (*args, row))

    def module(self, kinds: str) -> Module:
        """Return the module of the functions whose names start with one of these letters."""
        builder = ModuleBuilder()
        builder.vdevice("host")
        builder.vdevices.append(ACCEL)
        for name, entry in self.entries.items():
            if name[0] in kinds:
                builder.add(entry.function)
        return builder.finish()

    def run(self, kinds: str, device: str = "cpu:0", **options: Any) -> Mapping[str, Outcome]:
        """Return the outcome of each such function, compiled with these options."""
        roles = f"host=cpu:0,accel={device}"
        program = rv.compile(self.module(kinds), roles, default="accel", **options)
        session = rv.Session(program, trace=False)
        return {
            name: _outcome(session, name, entry.args)
            for name, entry in self.entries.items()
            if name[0] in kinds
        }

    def judged(self, kinds: str) -> Mapping[str, Any]:
        """Return the oracle's estimates, flat, or the code of its error, for each such function."""
        module = self.module(kinds)
        return {
            name: _estimate(module, name, entry.args)
            for name, entry in self.entries.items()
            if name[0] in kinds
        }


def _places(cell: Cell) -> range:
    return range(len(cell.operands))


def _is_at_run_time(cell: Cell, place: int) -> bool:
    return not cell.is_fixed(place) and not cell.is_host(place)


def _operands(
    builder: FunctionBuilder,
    given: Sequence[Given],
    at_run_time: Sequence[bool],
    dims: Unknown | None = None,
) -> tuple[list[Var | None], tuple[Array, ...]]:
    """Add parameters and constants; return the operands and the arguments to call with."""
    operands: list[Var | None] = []
    args: list[Array] = []
    for place, (value, is_param) in enumerate(zip(given, at_run_time, strict=True)):
        if value is None:
            operands.append(None)
        elif isinstance(value, tuple):
            operands.append(builder.body.shape(value))
        elif is_param:
            shape = value.shape if dims is None else (dims,) * value.ndim
            type_ = TensorType(from_numpy(value.dtype), shape)
            operands.append(builder.param(f"p{place}", type_))
            args.append(value)
        else:
            operands.append(builder.body.binding(_constant(value), f"k{place}"))
    return operands, tuple(args)


def _constant(value: Array) -> Constant:
    return Constant(from_numpy(value.dtype), value.shape, value.tobytes())


def _row(type_: TensorType) -> Array:
    """Return what is added before a call: for the last two axes, one row for all of the first."""
    shape = type_.shape or ()
    sizes = [d for d in shape if isinstance(d, int)]
    last = (1, *sizes[-1:])[-min(2, len(sizes)) :] if sizes else ()
    values = 0.3 + np.arange(math.prod(last)) if type_.dtype.is_float else np.ones(math.prod(last))
    return values.astype(to_numpy(type_.dtype)).reshape(last)


def _unsized(cell: Cell, operands: Sequence[Var | None]) -> Type:
    """Return the result's type where no dim is known but those of shape values."""
    types = [None if v is None else v.type for v in operands]
    contents: list[Content | None] = [g if isinstance(g, tuple) else None for g in cell.operands]
    types = [ShapeType(c) if c is not None else t for t, c in zip(types, contents, strict=True)]
    return infer_call(cell.op, types, cell.attrs, contents).type


def _type(cell: Cell, at_run_time: Sequence[bool]) -> Type | None:
    """Return the result's type; ``None`` if the constants show that the data is at fault."""
    try:
        return cell.infer([not a for a in at_run_time]).type
    except CompileError:
        return None


def _outcome(session: rv.Session, name: str, args: Sequence[Array]) -> Outcome:
    try:
        return flat(session.run(name, *args))
    except rv.ExecutionError as error:
        return error.diagnostics[0].code


def _estimate(module: Module, name: str, args: Sequence[Array]) -> Any:
    try:
        result = oracle.evaluate(module, name, args).result
        if isinstance(module.by_name[name].result, ShapeType):  # which a run returns as a vector
            return (Estimate.exact(np.array(result, np.int64), I64),)
        return flat(result)
    except rv.ExecutionError as error:
        return error.diagnostics[0].code


def flat(value: Any) -> tuple[Any, ...]:
    """Return what is in a value's tuples, in order."""
    if not isinstance(value, tuple):
        return (value,)
    return tuple(leaf for item in value for leaf in flat(item))


def same_bits(one: Outcome, other: Outcome) -> bool:
    """Whether two outcomes are the same error, or equal to the bit; any NaN is like any other."""
    if isinstance(one, str) or isinstance(other, str):
        return one is other or one == other
    return len(one) == len(other) and all(map(_equal, one, other))


def _equal(one: Any, other: Any) -> bool:
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return bool(one == other)
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if not from_numpy(one.dtype).is_float:
        return bool(np.array_equal(one, other))
    with np.errstate(invalid="ignore"):  # of f16's signalling NaN
        one, other = one.astype(np.float64), other.astype(np.float64)
    equal = (one == other) & (np.signbit(one) == np.signbit(other))
    return bool(np.all(equal | (np.isnan(one) & np.isnan(other))))


def within(outcome: Outcome, meant: Outcome) -> bool:
    """Whether an outcome is what the oracle means: its error, or results within its bounds."""
    if isinstance(outcome, str) or isinstance(meant, str):
        return outcome is meant or outcome == meant
    return len(outcome) == len(meant) and all(map(_near, outcome, meant))


def _near(found: Any, estimate: Any) -> bool:
    if not isinstance(estimate, Estimate):
        return bool(found == estimate)
    if found.shape != estimate.value.shape or found.dtype != to_numpy(estimate.dtype):
        return False
    if not estimate.dtype.is_float:
        return bool(np.all((found == estimate.value) | np.isinf(estimate.errors)))
    with np.errstate(all="ignore"):
        wide, value = found.astype(estimate.value.dtype), estimate.value
        near = (np.abs(wide - value) <= estimate.errors) | (wide == value)
    return bool(np.all(near | (np.isnan(wide) & np.isnan(value)) | np.isinf(estimate.errors)))


def is_exact(outcome: Outcome) -> bool:
    """Whether an outcome has no floats, and so no rounding."""
    if isinstance(outcome, str):
        return True
    return not any(isinstance(x, np.ndarray) and from_numpy(x.dtype).is_float for x in outcome)


def difference(one: Outcome, other: Outcome) -> str:
    """Return where two outcomes first differ, for a message."""
    if isinstance(one, str) or isinstance(other, str):
        return f"{_named(one)}, {_named(other)}"
    for x, y in zip(one, other, strict=False):
        x, y = np.asarray(x), np.asarray(getattr(y, "value", y))
        if x.shape != y.shape:
            return f"shapes {list(x.shape)}, {list(y.shape)}"
        for place in np.ndindex(x.shape):
            if not (x[place] == y[place] or (x[place] != x[place] and y[place] != y[place])):
                return f"element {list(place)}: {x[place]!r}, {y[place]!r}"
    return "signs of zeros or dtypes differ"


def _named(outcome: Outcome) -> str:
    return outcome if isinstance(outcome, str) else "a result"
