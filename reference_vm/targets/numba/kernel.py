"""A loop nest, compiled: a `bytecode.Kernel` that calls machine code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import numpy as np

from reference_vm.bytecode.kernel import NativeCall, Stage
from reference_vm.loops.layout import layout
from reference_vm.loops.nest import Nest
from reference_vm.ops.definition import DataError
from reference_vm.targets.numba.calling import run_native
from reference_vm.targets.numba.launch import Launch, header
from reference_vm.targets.numba.plan import Plan, contiguous_plan, make_plan
from reference_vm.types.arrays import to_numpy

if TYPE_CHECKING:  # it loads LLVM, which need not be installed
    from reference_vm.jit.pool import Pool

Array: TypeAlias = Any

_PLANS_KEPT: Final = 256
"""Forms of operands that a kernel remembers the argument block of."""

_LARGE: Final = 1 << 18
"""Instructions on single elements from which on a call goes through the pool, and the interpreter's
lock is given up for its time."""


@final
@dataclass(frozen=True, slots=True)
class _Own:
    """A plan for arrays of one form, and its scratch rows."""

    plan: Plan
    scratch: Array


@final
@dataclass
class CompiledKernel:
    """Machine code for one primitive function."""

    name: str
    ops: tuple[str, ...]
    nest: Nest
    compiled: Callable[[], int]
    """Compiles the nest, and returns the address of
    ``void (int64_t *block, int64_t low, int64_t high)``."""

    parameters: int
    """Of the function; not all need be read, and some may be read in two ways."""

    launch: Launch | None
    code: object
    """What the machine code belongs to, which must live as long as this."""

    pool: Pool
    library: bool = False
    can_fail: bool = False
    _plans: dict[tuple[Any, ...], _Own] = field(default_factory=dict)
    _header: Any = None
    """For arrays like those of the last call, if the fast way takes them."""

    def __post_init__(self) -> None:
        sources = self.nest.sources
        self._sources = None if sources == tuple(range(self.parameters)) else sources

    @cached_property
    def entry(self) -> int:
        """The address of the machine code, which is made when it is first wanted.

        So what lies in a branch that is never taken is never compiled.
        """
        return self.compiled()

    def native(self, inputs: Sequence[Any]) -> NativeCall | None:
        """Return the machine code; see `bytecode.kernel.Kernel`."""
        shapes = [inputs[i] for i in self.nest.sources]
        plan = contiguous_plan(self.nest, shapes)
        return None if plan.copies else self._native(plan)

    def _native(self, plan: Plan) -> NativeCall:
        stage = Stage(
            self.entry,
            plan.block,
            *plan.low_high,
            work=self._work(plan),
            scratch=plan.scratch,
            scratch_word=layout(self.nest).scratch,
        )
        return NativeCall(self.nest.sources, plan.shapes, (stage,), owner=self.code)

    def _work(self, plan: Plan) -> int:
        return plan.elements * len(self.nest.code)

    def __call__(
        self,
        xp: Any,
        inputs: Sequence[Array],
        outputs: Sequence[Array | None],
    ) -> Sequence[Array]:
        """Compute the results; see `bytecode.kernel.Kernel`."""
        if self._sources is not None:
            inputs = [inputs[i] for i in self._sources]
        last = self._header
        if last is not None and not self.launch((last, *inputs, *outputs)):  # type: ignore[misc]
            return outputs
        return self._with_plan(inputs, outputs)

    def _with_plan(
        self, inputs: Sequence[Array], outputs: Sequence[Array | None]
    ) -> Sequence[Array]:
        """Call the kernel with arrays that differ in form from those of the last call."""
        key = tuple([(x.shape, x.strides, x.__class__) for x in inputs])
        own = self._plans.get(key)
        if own is None:
            if len(self._plans) >= _PLANS_KEPT:
                self._plans.clear()
            own = self._plans[key] = _own(self.nest, make_plan(self.nest, inputs))
        plan = own.plan
        inputs = _copied(inputs, plan)
        results = self._results(outputs, plan)
        if self.launch is None or self._work(plan) >= _LARGE:
            run_native(self.pool, self._native(plan), [*inputs, *results])
            return results
        made = header(self.entry, plan.block.ctypes.data, plan.low_high, [*inputs, *results])
        refused = self.launch((made, *inputs, *results))
        assert not refused, "a header fits the arrays it was made for"
        self._header = None if plan.copies else made
        return results

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
            assert out is None or out.flags.c_contiguous, "results are written in order"
            found.append(np.empty(shape, to_numpy(store.dtype)) if out is None else out)
        return found


def _own(nest: Nest, plan: Plan) -> _Own:
    """Return a plan whose block has scratch rows."""
    memory = np.empty(plan.scratch, dtype=np.uint8)
    if plan.scratch:
        plan.block[layout(nest).scratch] = memory.ctypes.data
    return _Own(plan, memory)


def _copied(inputs: Sequence[Array], plan: Plan) -> Sequence[Array]:
    """Return the inputs, copied where the kernel cannot read them as they lie."""
    if not plan.copies:
        return inputs
    result = list(inputs)
    for copy in plan.copies:
        result[copy.input] = copy.of(inputs[copy.input])
    return result
