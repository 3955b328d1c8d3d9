"""Makes kernels of max_pool, average_pool and lp_pool over up to three axes.

Left to the library: f16 and bf16, whose sums are wider, and norms other than the first two.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from reference_vm.bytecode.kernel import Dims, Kernel, NativeCall, Stage
from reference_vm.ir.nodes import Call, Function
from reference_vm.ops.pooling import window_counts
from reference_vm.ops.windows import Windows, run_outputs, windows_of
from reference_vm.targets.numba.making import Tools, staged_kernel
from reference_vm.targets.numba.planes import phase_ranges, phase_starts
from reference_vm.targets.numba.pool_code import PoolForm, print_pool
from reference_vm.targets.numba.pool_vectors import LONGEST
from reference_vm.targets.numba.printed import compiled
from reference_vm.targets.numba.vectors import lanes, registers
from reference_vm.types import TensorType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import BF16, F16, F32, F64

if TYPE_CHECKING:  # it loads LLVM, which need not be installed
    from reference_vm.jit.machine import Machine

_AXES: Final = "dhw"

_WINDOW_ATTRS: Final = ("strides", "pads", "dilations", "auto_pad", "ceil_mode")


def make(function: Function, tools: Tools) -> Kernel | None:
    """Return the kernel of a pool; see `making.Maker`."""
    bindings = tuple(function.body.bindings())
    call, type_ = bindings[0].value, bindings[0].var.type
    if len(bindings) != 1 or not isinstance(call, Call) or not isinstance(type_, TensorType):
        return None
    kind = _kind(call)
    if kind is None or type_.dtype in (F16, BF16) or len(call.attrs["kernel_shape"]) > len(_AXES):
        return None
    if kind != "max" and type_.dtype not in (F32, F64):
        return None
    vectors = None
    if type_.dtype in (F32, F64):
        vectors = lanes(type_.dtype, registers(tools.machine.features))
    plan = _Planner(dict(call.attrs), PoolForm(kind, type_.dtype, vectors), tools.machine)
    return staged_kernel(function, tools, plan.plan, (to_numpy(type_.dtype),))


def _kind(call: Call) -> str | None:
    if call.op == "lp_pool":
        return {1: "l1", 2: "l2"}.get(call.attrs["p"])
    return {"max_pool": "max", "average_pool": "average"}.get(call.op)


@final
@dataclass
class _Planner:
    """Turns dims into a stage."""

    attrs: Mapping[str, Any]
    form: PoolForm
    machine: Machine

    def plan(self, inputs: Sequence[Dims | Any]) -> NativeCall | None:
        """Return the stage; see `staged.Planner`."""
        x: Dims = inputs[0]
        attrs = {name: self.attrs[name] for name in _WINDOW_ATTRS}
        windows = windows_of(self.attrs["kernel_shape"], **attrs)
        outputs = run_outputs(windows, x[2:])
        shape = (*x[:2], *outputs)
        tables = _Tables(*_as_one_row(windows, x[2:], outputs))
        rows = math.prod(shape) // max(1, tables.outputs[-1])
        block = self.form.words().block(**self._values(tables))
        stride = windows.strides[-1]
        form = replace(self.form, stride=stride if stride <= LONGEST else 0)
        entry = compiled(self.machine, "pool", form, lambda: print_pool(form))
        kernel: Any = windows.kernel
        work = math.prod(shape) * math.prod(kernel)
        stage = Stage(entry, block, 0, rows, work)
        return NativeCall((0,), (shape,), (stage,), owner=(self.machine, tables))

    def _values(self, tables: _Tables) -> dict[str, int]:
        rank = len(tables.sizes)
        values: dict[str, int] = {}
        for place, name in enumerate(_AXES):
            axis = place - (len(_AXES) - rank)
            values |= tables.axis(axis, name) if axis >= 0 else tables.single(name)
            counts: Any = [1]
            if axis >= 0 and self.form.op == "average":
                include = bool(self.attrs["count_include_pad"])
                counts = window_counts(tables.windows, axis, tables.sizes[axis], include)
            values[f"counts_{name}"] = tables.keep(np.asarray(counts, np.float64))
        return values


def _as_one_row(windows: Windows, sizes: Dims, outputs: Dims) -> tuple[Windows, Dims, Dims]:
    """Return the same pool over one axis, if windows tile each row and rows follow one another."""
    kernel: Any = windows.kernel
    single = all(n == 1 for n in (*kernel[:-1], *windows.strides[:-1]))
    extent: Any = windows.extent(len(kernel) - 1)
    stride = windows.strides[-1]
    tiled = sizes[-1] == outputs[-1] * stride and extent <= stride
    if not single or not tiled or any(map(any, windows.padding(sizes))):
        return windows, sizes, outputs
    row = windows_of(
        kernel[-1:], strides=windows.strides[-1:], pads=None, dilations=windows.dilations[-1:]
    )
    return row, (math.prod(sizes),), (math.prod(outputs),)


@final
@dataclass
class _Tables:
    """The numbers of each axis, and the tables that the block points to."""

    windows: Windows
    sizes: Dims
    outputs: Dims
    kept: list[Any] = field(default_factory=list)

    def keep(self, table: Any) -> int:
        """Return the address of a table, which lives as long as this."""
        self.kept.append(table)
        address: int = table.ctypes.data
        return address

    def axis(self, axis: int, name: str) -> dict[str, int]:
        windows, size = self.windows, self.sizes[axis]
        kernel: Any = windows.kernel[axis]
        stride, dilation = windows.strides[axis], windows.dilations[axis]
        before = windows.padding(self.sizes)[axis][0]
        phases = [k * dilation for k in range(kernel)]
        starts = phase_starts(phases, before)
        if name == "w":
            starts = phase_ranges(phases, before, stride, size, self.outputs[axis])
        return {
            f"size_{name}": size,
            f"out_{name}": self.outputs[axis],
            f"kernel_{name}": kernel,
            f"stride_{name}": stride,
            f"starts_{name}": self.keep(np.asarray(starts, np.int64)),
        }

    def single(self, name: str) -> dict[str, int]:
        """Return the numbers of an axis that there is not."""
        values = dict.fromkeys((f"{n}_{name}" for n in ("size", "out", "kernel", "stride")), 1)
        return {**values, f"starts_{name}": self.keep(np.zeros(1, np.int64))}


__all__ = ["make"]
