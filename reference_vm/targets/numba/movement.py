"""Makes kernels of what moves elements and computes nothing: slices, joins, paddings, repeats.

Where NumPy makes a view, the operator's own `compute` is asked for it, on a tensor that has dims
but no memory; a copy of the view is the kernel. Joins and paddings are several copies.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import numpy as np

from reference_vm.bytecode.kernel import Dims, Kernel, NativeCall, Stage
from reference_vm.ir.nodes import Call, Function, Var
from reference_vm.ops.definition import DataError, OpDef
from reference_vm.ops.padding import source_places, widths
from reference_vm.ops.shape_values import run_sizes
from reference_vm.targets.numba.copies import (
    MAX_AXES,
    Copy,
    copy_block,
    copy_form,
    print_copy,
    strides,
)
from reference_vm.targets.numba.making import Tools, single_call, staged_kernel
from reference_vm.targets.numba.printed import compiled
from reference_vm.types import TensorType, TupleType
from reference_vm.types.arrays import to_numpy

if TYPE_CHECKING:  # it loads LLVM, which need not be installed
    from reference_vm.jit.machine import Machine

Array: TypeAlias = Any

VIEWS: Final = frozenset(
    {
        *("slice", "split", "flip", "broadcast_to", "expand", "permute_dims", "identity"),
        *("reshape", "expand_dims", "squeeze", "flatten"),
    }
)
"""Operators whose `compute` returns views of operand 0."""

_ZERO: Final = np.zeros(1, np.int64)


def make(function: Function, tools: Tools) -> Kernel | None:
    """Return the kernel of an operator that moves elements; see `making.Maker`."""
    single = single_call(function)
    if single is None:
        return None
    binding, constants = single
    call = binding.value
    assert isinstance(call, Call)
    copies = _RULES.get(call.op, _viewed if call.op in VIEWS else None)
    types = binding.var.type
    results = types.items if isinstance(types, TupleType) else (types,)
    if copies is None or not all(isinstance(t, TensorType) for t in results):
        return None
    dtypes = tuple(to_numpy(t.dtype) for t in results if isinstance(t, TensorType))
    op = tools.ops[call.op]
    places = tuple(
        function.params.index(a) if isinstance(a, Var) and a not in constants else None
        for a in call.args
    )
    hosts = frozenset(p for i, p in enumerate(places) if p is not None and op.is_host_operand(i))
    read = {p for p in places if p is not None} - hosts
    if not all(isinstance(function.params[p].type, TensorType) for p in read):
        return None
    told = tuple(constants.get(a) for a in call.args)
    if any(not op.is_host_operand(i) for i, value in enumerate(told) if value is not None):
        return None
    plan = _Planner(op, dict(call.attrs), places, told, hosts, dtypes, copies, tools.machine)
    return staged_kernel(function, tools, plan.plan, dtypes, hosts)


@final
@dataclass
class _Planner:
    """Turns dims and host operands into copies."""

    op: OpDef
    attrs: Mapping[str, Any]
    places: Sequence[int | None]
    """Which of the kernel's inputs each operand is."""

    told: Sequence[Any]
    """The operands that are constants, ``None`` for the others."""

    hosts: frozenset[int]
    dtypes: Sequence[Any]
    copies: Callable[[_Planner, Sequence[Any]], tuple[list[Dims], list[Copy]] | None]
    machine: Machine

    def __post_init__(self) -> None:
        tensors = [p for p in self.places if p is not None and p not in self.hosts]
        self.inputs = tuple(dict.fromkeys(tensors))

    def address(self, operand: int) -> int:
        """Return which address a tensor operand is at."""
        place = self.places[operand]
        assert place is not None
        return self.inputs.index(place)

    def target(self, result: int) -> int:
        return len(self.inputs) + result

    def plan(self, inputs: Sequence[Dims | Any]) -> NativeCall | None:
        """Return a stage for each copy; see `staged.Planner`."""
        given = [
            value if p is None else inputs[p]
            for p, value in zip(self.places, self.told, strict=True)
        ]
        found = self.copies(self, given)
        if found is None:
            return None
        shapes, copies = found
        joined = [copy.joined() for copy in copies if copy.size]
        if any(len(copy.dims) > MAX_AXES for copy in joined):
            return None
        itemsize = self.dtypes[0].itemsize
        if itemsize not in (1, 2, 4, 8):
            return None
        stages = tuple(self._stage(copy, itemsize) for copy in joined)
        return NativeCall(self.inputs, tuple(shapes), stages, owner=(self.machine, _ZERO))

    def _stage(self, copy: Copy, itemsize: int) -> Stage:
        form = copy_form(copy, itemsize, len(self.inputs) + len(self.dtypes))
        entry = compiled(self.machine, "copy", form, lambda: print_copy(form))
        block = copy_block(copy, form, _ZERO.ctypes.data)
        return Stage(entry, block, 0, copy.dims[0], copy.size)


def _viewed(planner: _Planner, given: Sequence[Any]) -> tuple[list[Dims], list[Copy]]:
    """Return copies of the views that the operator makes of operand 0."""
    hollow = _hollow(given[0], planner.dtypes[0])
    found = planner.op.compute(np, hollow, *given[1:], **planner.attrs)
    views = found if isinstance(found, tuple) else (found,)
    copies = [
        _of_view(hollow, view, planner.address(0), planner.target(i))
        for i, view in enumerate(views)
    ]
    return [view.shape for view in views], copies


def _hollow(dims: Dims, dtype: Any) -> Array:
    """Return a tensor of these dims whose elements must not be read."""
    steps = [s * dtype.itemsize for s in strides(dims)]
    return np.lib.stride_tricks.as_strided(np.empty(1, dtype), dims, steps)


def _of_view(whole: Array, view: Array, source: int, target: int) -> Copy:
    itemsize = whole.dtype.itemsize
    start = (view.ctypes.data - whole.ctypes.data) // itemsize if view.ndim and view.size else 0
    steps = tuple(s // itemsize for s in view.strides)
    return Copy(source, target, view.shape, steps, strides(view.shape), start)


def _expanded(planner: _Planner, given: Sequence[Any]) -> tuple[list[Dims], list[Copy]]:
    """Return the copy that reads each place of an axis of one again and again.

    It is what `_viewed` says, which is asked where the dims do not fit, but told by dims alone.
    """
    dims, sizes = given[0], given[1]
    target = sizes if isinstance(sizes, tuple) else run_sizes(sizes)
    rank = max(len(dims), len(target))
    own = (*[1] * (rank - len(dims)), *dims)
    wanted = (*[1] * (rank - len(target)), *target)
    if planner.op.name == "broadcast_to" and len(target) < rank:
        return _viewed(planner, given)
    two_way = planner.op.name == "expand"
    shape = tuple(a if two_way and b == 1 else b for a, b in zip(own, wanted, strict=True))
    if any(b < 0 or (a != b and a != 1) for a, b in zip(own, shape, strict=True)):
        return _viewed(planner, given)
    steps = (*[0] * (rank - len(dims)), *strides(dims))
    read = tuple(0 if a == 1 else step for a, step in zip(own, steps, strict=True))
    return [shape], [Copy(planner.address(0), planner.target(0), shape, read, strides(shape))]


def _joined(planner: _Planner, given: Sequence[Any]) -> tuple[list[Dims], list[Copy]]:
    """Return a copy for each operand of ``concat``."""
    axis = planner.attrs["axis"] % len(given[0])
    others = {(*dims[:axis], *dims[axis + 1 :]) for dims in given}
    if len(others) > 1:
        raise DataError("shape-mismatch", f"operands {given} differ on more than axis {axis}")
    shape = (*given[0][:axis], sum(dims[axis] for dims in given), *given[0][axis + 1 :])
    steps, place = strides(shape), 0
    copies: list[Copy] = []
    for i, dims in enumerate(given):
        begin = place * steps[axis]
        copies.append(
            Copy(planner.address(i), planner.target(0), dims, strides(dims), steps, 0, begin)
        )
        place += dims[axis]
    return [shape], copies


def _padded(planner: _Planner, given: Sequence[Any]) -> tuple[list[Dims], list[Copy]] | None:
    """Return the copies of ``pad``: of the value, then of what stays; or of runs of places."""
    dims, pads, axes = given[0], given[1], given[3] if len(given) > 3 else None
    around = widths(dims, pads, range(len(dims)) if axes is None else axes)
    shape = tuple(n + a + b for n, (a, b) in zip(dims, around, strict=True))
    mode = planner.attrs["mode"]
    runs = [list(_runs(mode, n, *width)) for n, width in zip(dims, around, strict=True)]
    copies: list[Copy] = []
    if mode == "constant" and any(map(any, around)):
        value = planner.address(2) if len(given) > 2 and given[2] is not None else -1
        copies.append(Copy(value, planner.target(0), shape, (0,) * len(shape), strides(shape)))
    source, target = strides(dims), strides(shape)
    if len(copies) + np.prod([len(r) for r in runs]) > _MOST_COPIES:
        return None
    for box in itertools.product(*runs):
        copies.append(
            Copy(
                planner.address(0),
                planner.target(0),
                tuple(run.count for run in box),
                tuple(run.step * s for run, s in zip(box, source, strict=True)),
                target,
                sum(run.source * s for run, s in zip(box, source, strict=True)),
                sum(run.target * s for run, s in zip(box, target, strict=True)),
            )
        )
    return [shape], copies


_MOST_COPIES: Final = 16


@final
@dataclass(frozen=True, slots=True)
class _Run:
    """Places of one axis that follow one another in the source too, forward or backward."""

    target: int
    source: int
    step: int
    count: int


def _runs(mode: str, size: int, before: int, behind: int) -> Iterator[_Run]:
    """Yield the runs of a padded axis; of constant padding only what stays."""
    if mode == "constant":
        first, end = max(0, -before), size + min(0, behind)
        yield _Run(first + before, first, 1, max(0, end - first))
        return
    places = source_places(mode, size, before, behind)
    steps = np.diff(places)
    start = 0
    while start < len(places):
        step = int(steps[start]) if start < len(steps) else 1
        rest = steps[start:]
        other = np.flatnonzero(rest != step)
        count = int(other[0]) + 1 if len(other) else len(places) - start
        yield _Run(start, int(places[start]), step, count)
        start += count


def _full(planner: _Planner, given: Sequence[Any]) -> tuple[list[Dims], list[Copy]]:
    """Return the copy that repeats the value of ``full``."""
    shape = tuple(int(n) for n in given[0])
    if any(n < 0 for n in shape):
        raise DataError("shape-mismatch", f"the shape {list(shape)} has negative sizes")
    copy = Copy(planner.address(1), planner.target(0), shape, (0,) * len(shape), strides(shape))
    return [shape], [copy]


_RULES: Final[Mapping[str, Any]] = {
    "broadcast_to": _expanded,
    "concat": _joined,
    "expand": _expanded,
    "full": _full,
    "pad": _padded,
}


__all__ = ["VIEWS", "make"]
