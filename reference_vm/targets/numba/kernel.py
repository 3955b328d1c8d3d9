"""A loop nest, compiled: a `bytecode.Kernel` that calls machine code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, final

import numpy as np

from reference_vm.loops.nest import Nest
from reference_vm.ops.definition import DataError
from reference_vm.targets.numba.launch import Launch
from reference_vm.targets.numba.plan import Plan, make_plan
from reference_vm.types.arrays import to_numpy

Array: TypeAlias = Any

_PLANS_KEPT: Final = 256
"""Forms of operands that a kernel remembers the argument block of."""


@final
@dataclass
class CompiledKernel:
    """Machine code for one primitive function."""

    name: str
    ops: tuple[str, ...]
    nest: Nest
    entry: int
    """The address of ``void (int64_t *block, int64_t low, int64_t high)``."""

    launch: Launch
    library: bool = False
    _plans: dict[tuple[Any, ...], tuple[Plan, int]] = field(default_factory=dict)

    def __call__(
        self,
        xp: Any,
        inputs: Sequence[Array],
        outputs: Sequence[Array | None],
    ) -> Sequence[Array]:
        """Compute the results; see `bytecode.kernel.Kernel`."""
        key = tuple([(x.shape, x.strides, x.__class__) for x in inputs])
        found = self._plans.get(key)
        if found is None:
            found = self._plan(key, inputs)
        plan, block = found
        if plan.materialize:
            inputs = _materialized(inputs, plan)
        for out, shape in zip(outputs, plan.shapes, strict=True):
            if out is None or out.shape != shape:
                outputs = self._results(outputs, plan)
                break
        low, high = plan.low_high
        self.launch(self.entry, block, low, high, *inputs, *outputs)
        return outputs

    def _plan(self, key: tuple[Any, ...], inputs: Sequence[Array]) -> tuple[Plan, int]:
        plan = make_plan(self.nest, inputs)
        if len(self._plans) >= _PLANS_KEPT:
            self._plans.clear()
        found = self._plans[key] = (plan, plan.block.ctypes.data)
        return found

    def _results(self, outputs: Sequence[Array | None], plan: Plan) -> list[Array]:
        """Return the arrays to write to, new ones where there are none.

        Raises:
            DataError: One that was given has another shape.
        """
        found: list[Array] = []
        for out, shape, store in zip(outputs, plan.shapes, self.nest.stores, strict=True):
            if out is not None and out.shape != shape:
                raise DataError(
                    "shape-mismatch", f"the result is {list(shape)}, expected {list(out.shape)}"
                )
            found.append(np.empty(shape, to_numpy(store.dtype)) if out is None else out)
        return found


def _materialized(inputs: Sequence[Array], plan: Plan) -> list[Array]:
    copied = list(inputs)
    for index, shape in plan.materialize:
        copied[index] = np.ascontiguousarray(np.broadcast_to(inputs[index], shape))
    return copied
