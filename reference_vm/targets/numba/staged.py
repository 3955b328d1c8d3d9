"""A kernel that is stages of machine code over one workspace, and how Python runs it.

What is compiled does not depend on sizes; a *plan* turns the dims of the operands into a
`bytecode.NativeCall`: argument blocks, work to divide, bytes of workspace. Plans are kept by dims.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import numpy as np

from reference_vm.bytecode.kernel import Dims, Kernel, NativeCall
from reference_vm.targets.numba.calling import run_native
from reference_vm.targets.numba.launch import Launch, header

if TYPE_CHECKING:  # it loads LLVM, which need not be installed
    from reference_vm.jit.pool import Pool

Array: TypeAlias = Any
Planner: TypeAlias = "Callable[[Sequence[Dims | Any]], NativeCall | None]"
"""From the dims of each input, or the value of a host operand, to the stages.

It returns ``None`` where the library does better, and raises `DataError` for dims that do not fit.
"""

_PLANS_KEPT: Final = 64

_SMALL: Final = 1 << 14
"""Instructions on single elements up to which the interpreter's lock is kept."""


@final
@dataclass
class StagedKernel:
    """Machine code in stages for one primitive function."""

    name: str
    ops: tuple[str, ...]
    plan: Planner
    dtypes: tuple[Any, ...]
    """NumPy's, of the results."""

    instead: Kernel
    """The kernel of the library, for dims that the plan leaves to it, and to say what is wrong
    with bad data."""

    pool: Pool
    hosts: frozenset[int] = frozenset()
    """Which inputs are values that the plan reads, not tensors."""

    launch: Launch | None = None
    """The fast way to call small kernels from Python, where there is one."""

    library: bool = False
    can_fail: bool = False
    _plans: dict[tuple[Any, ...], NativeCall | None] = field(default_factory=dict)
    _headers: dict[NativeCall, list[Any]] = field(default_factory=dict)
    """Of the stages of small calls, each with the block that it writes to."""

    def native(self, inputs: Sequence[Any]) -> NativeCall | None:
        """Return the stages for operands of these dims; see `bytecode.kernel.Kernel`."""
        if any(type(d) is not int for x in inputs if isinstance(x, tuple) for d in x):
            return self._made(inputs)
        key = tuple(_hashable(x) if i in self.hosts else x for i, x in enumerate(inputs))
        if key not in self._plans:
            if len(self._plans) >= _PLANS_KEPT:
                self._plans.clear()
                self._headers.clear()
            self._plans[key] = self._made(inputs)
        return self._plans[key]

    def _made(self, inputs: Sequence[Any]) -> NativeCall | None:
        call = self.plan(inputs)
        hollow = call is not None and any(math.prod(shape) == 0 for shape in call.shapes)
        return None if hollow and self.can_fail else call  # no machine code runs for nothing

    def __call__(
        self, xp: Any, inputs: Sequence[Array], outputs: Sequence[Array | None]
    ) -> Sequence[Array]:
        """Compute the results; see `bytecode.kernel.Kernel`."""
        forms = [x if i in self.hosts else x.shape for i, x in enumerate(inputs)]
        call = self.native(forms)
        if call is None:
            return self.instead(xp, inputs, outputs)
        operands = [inputs[i] for i in call.inputs]
        results = [
            np.empty(shape, dtype) if out is None else out
            for out, shape, dtype in zip(outputs, call.shapes, self.dtypes, strict=True)
        ]
        if all(r.size == 0 for r in results):
            return results
        if self._launched(call, [*operands, *results]):
            return results
        good = run_native(self.pool, call, [*map(np.ascontiguousarray, operands), *results])
        return results if good else self.instead(xp, inputs, outputs)

    def _launched(self, call: NativeCall, arrays: Sequence[Array]) -> bool:
        """Run a small call the fast way; tell whether that could be done, and the data was good.

        The interpreter's lock is held in each stage, so blocks are shared by all threads; memory
        that stages share would not be safe from them.
        """
        if self.launch is None or call.workspace:
            return False
        made = self._headers.get(call)
        if made is None:
            made = self._headers[call] = _headers(call, arrays)
        for stage, (made_header, block) in zip(call.stages, made, strict=False):
            if self.launch((made_header, *arrays)):
                return False
            if stage.fault_word and block[stage.fault_word]:
                block[stage.fault_word] = 0
                return False
        return bool(made) or not call.stages


def _headers(call: NativeCall, arrays: Sequence[Array]) -> list[Any]:
    """Return for each stage its header and its block; nothing for a call that is not small."""
    if any(stage.scratch for stage in call.stages) or sum(s.work for s in call.stages) > _SMALL:
        return []
    blocks = [stage.block.copy() for stage in call.stages]
    return [
        (header(stage.entry, block.ctypes.data, (stage.low, stage.high), arrays), block)
        for stage, block in zip(call.stages, blocks, strict=True)
    ]


def _hashable(value: Any) -> Any:
    """Return a host operand as part of a key: its dtype, shape and bytes."""
    if isinstance(value, tuple):
        return value
    array = np.asarray(value)
    return array.dtype.str, array.shape, array.tobytes()
