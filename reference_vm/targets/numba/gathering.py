"""Makes kernels of what reads or writes at indices: take, gather_nd, scatter_nd and their like.

An index that is out of range is noted by the machine code; the operator's own `compute` is then
asked what is wrong. What the code has no form for (reductions, columns of indices) is left to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import numpy as np

from reference_vm.bytecode.kernel import Dims, Kernel, NativeCall, Stage
from reference_vm.ir.nodes import Call, Function
from reference_vm.targets.numba.copies import Copy, copy_block, copy_form, print_copy, strides
from reference_vm.targets.numba.gather_code import RowForm, print_rows
from reference_vm.targets.numba.making import Tools, staged_kernel
from reference_vm.targets.numba.printed import compiled
from reference_vm.types import TensorType
from reference_vm.types.arrays import to_numpy

if TYPE_CHECKING:  # it loads LLVM, which need not be installed
    from reference_vm.jit.machine import Machine

_ZERO: Final = np.zeros(1, np.int64)


@final
@dataclass(frozen=True, slots=True)
class _Rows:
    """How the rows of a call lie; numbers count elements."""

    shape: Dims
    """Of the result."""

    count: int
    period: int
    """Rows of one batch."""

    batch: int
    """From one batch of places to the next."""

    index_batch: int
    """From one batch of indices to the next."""

    length: int
    """Of a row."""

    sizes: Dims
    steps: Dims
    """Of the axes that the components of an index tuple are for."""


_Rule: TypeAlias = Callable[[Sequence[Dims], Mapping[str, Any]], "_Rows | None"]


def make(function: Function, tools: Tools) -> Kernel | None:
    """Return the kernel of an operator that reads or writes at indices; see `making.Maker`."""
    bindings = tuple(function.body.bindings())
    call, type_ = bindings[0].value, bindings[0].var.type
    if len(bindings) != 1 or not isinstance(call, Call) or not isinstance(type_, TensorType):
        return None
    rule = _RULES.get(call.op)
    if rule is None or call.attrs.get("reduction", "none") != "none":
        return None
    if call.args != function.params or len({*call.args}) != len(call.args):
        return None
    types = [p.type for p in function.params]
    if not all(isinstance(t, TensorType) for t in types):
        return None
    index_bytes = to_numpy(function.params[1].tensor.dtype).itemsize
    dtype = to_numpy(type_.dtype)
    planner = _Planner(rule, dict(call.attrs), index_bytes, dtype.itemsize, tools.machine)
    return staged_kernel(function, tools, planner.plan, (dtype,), can_fail=True)


@final
@dataclass(frozen=True)
class _Planner:
    """Turns dims into stages."""

    rule: _Rule
    attrs: Mapping[str, Any]
    index_bytes: int
    itemsize: int
    machine: Machine

    def plan(self, inputs: Sequence[Dims]) -> NativeCall | None:
        """Return the stages for operands of these dims; see `staged.Planner`."""
        rows = self.rule(inputs, self.attrs)
        if rows is None:
            return None
        scatters = len(inputs) == 3  # x, indices and updates
        operands = tuple(range(len(inputs)))
        stages = (self._copied(rows.shape), self._placed(rows, scatters))
        chosen = stages if scatters else stages[1:]
        return NativeCall(operands, (rows.shape,), chosen, owner=(self.machine, _ZERO))

    def _copied(self, shape: Dims) -> Stage:
        """Return the stage that copies what is scattered into."""
        whole = math.prod(shape) * self.itemsize
        copy = Copy(0, 3, (whole,), (1,), (1,))
        form = copy_form(copy, 1, 4)
        entry = compiled(self.machine, "copy", form, lambda: print_copy(form))
        return Stage(entry, copy_block(copy, form, _ZERO.ctypes.data), 0, whole, whole >> 3)

    def _placed(self, rows: _Rows, scatters: bool) -> Stage:
        """Return the stage that moves the rows; what is scattered is so in order, by one thread."""
        width = self.itemsize
        unit = width if rows.length == 1 and width in (1, 2, 4, 8) else 0
        places = (4, 3, 1, 2) if scatters else (3, 0, 1, 2)
        form = RowForm(scatters, self.index_bytes, len(rows.sizes), unit, *places)
        entry = compiled(self.machine, "rows", form, lambda: print_rows(form))
        values = {
            "fault": 0,
            "period": max(1, rows.period),
            "batch": rows.batch * width,
            "index_batch": rows.index_batch,
            "length": rows.length * width,
        }
        for i, (size, step) in enumerate(zip(rows.sizes, rows.steps, strict=True)):
            values |= {f"size{i}": size, f"step{i}": step * width}
        work = rows.count * (8 + (rows.length * width >> 3))
        return Stage(
            entry,
            form.words.block(**values),
            0,
            rows.count,
            work,
            grain=max(1, rows.count) if scatters else 1,
            fault_word=form.words.position("fault"),
        )


def _take(dims: Sequence[Dims], attrs: Mapping[str, Any]) -> _Rows:
    x, indices = dims
    axis = attrs["axis"] % len(x)
    length, count = math.prod(x[axis + 1 :]), math.prod(indices)
    return _Rows(
        (*x[:axis], *indices, *x[axis + 1 :]),
        math.prod(x[:axis]) * count,
        count,
        x[axis] * length,
        0,
        length,
        (x[axis],),
        (length,),
    )


def _along(dims: Sequence[Dims], attrs: Mapping[str, Any]) -> _Rows | None:
    """Return the rows of single elements along the last axis that has several."""
    x, indices = dims[0], dims[1]
    axis = attrs["axis"] % len(x)
    fits = all(a == b for i, (a, b) in enumerate(zip(x, indices, strict=True)) if i != axis)
    if not fits or math.prod(x[axis + 1 :]) != 1 or (len(dims) > 2 and dims[2] != indices):
        return None
    count = math.prod(indices)
    shape = x if len(dims) > 2 else indices
    return _Rows(shape, count, indices[axis], x[axis], indices[axis], 1, (x[axis],), (1,))


def _nd(dims: Sequence[Dims], attrs: Mapping[str, Any]) -> _Rows | None:
    x, indices = dims[0], dims[1]
    batches, components = attrs.get("batch_dims", 0), indices[-1]
    lead, axes = indices[:-1], slice(batches, batches + components)
    rest = x[batches + components :]
    if components > _MOST_COMPONENTS or x[:batches] != lead[:batches]:
        return None
    if len(dims) > 2 and dims[2] != (*lead, *rest):
        return None
    period = math.prod(lead[batches:])
    return _Rows(
        x if len(dims) > 2 else (*lead, *rest),
        math.prod(lead),
        period,
        math.prod(x[batches:]),
        period * components,
        math.prod(rest),
        x[axes],
        strides(x)[axes],
    )


_MOST_COMPONENTS: Final = 4

_RULES: Final[Mapping[str, _Rule]] = {
    "take": _take,
    "take_along_axis": _along,
    "gather_nd": _nd,
    "scatter_elements": _along,
    "scatter_nd": _nd,
}


__all__ = ["make"]
