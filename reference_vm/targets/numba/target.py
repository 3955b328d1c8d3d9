"""The target ``numba``: compiles primitive functions to machine code.

Its makers are asked in turn (`makers.MAKERS`); a function that none of them takes is given to the
library target. Kernels that are alike share machine code, whatever the sizes.
"""

from __future__ import annotations

import importlib.util
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final, final

from reference_vm.bytecode.kernel import Kernel
from reference_vm.ir.nodes import Call, Function, operands
from reference_vm.jit.object_cache import ObjectCache
from reference_vm.jit.panels import host_width, packed_shape
from reference_vm.loops.kernel import LoopRule, Move
from reference_vm.ops.catalog import OPS
from reference_vm.ops.definition import OpDef
from reference_vm.targets.in_place import elementwise_pairs
from reference_vm.targets.numba.conv_form import convolution_of
from reference_vm.targets.numba.makers import MAKERS, REPORTING
from reference_vm.targets.numba.making import Maker, Tools
from reference_vm.targets.numba.product_form import product_form
from reference_vm.targets.numba.ranked import ranked_kernel
from reference_vm.targets.numpy import NUMPY
from reference_vm.targets.target import Target
from reference_vm.types import TensorType

if TYPE_CHECKING:
    from reference_vm.jit.machine import Machine, Statistics

LOOPS: Final[Mapping[str, LoopRule]] = {n: op.loops for n, op in OPS.items() if op.loops}

MAX_FUSED: Final = 64
"""Operators in one kernel: more would only lengthen compilation."""


@final
@dataclass(frozen=True)
class NumbaTraits:
    """What this target compiles from loop rules."""

    def fuses(self, op: OpDef) -> bool:
        rule = op.loops
        return rule is not None and not (isinstance(rule, Move) and rule.kind != "permute")

    def max_fused(self) -> int:
        return MAX_FUSED

    def takes(self, function: Function) -> bool:
        return product_form(function, LOOPS) is not None or convolution_of(function) is not None

    def packs(self, function: Function) -> tuple[int, ...]:
        form = product_form(function, LOOPS)
        if form is None or form.right.axes != (0, 1):
            return ()
        param = function.params[form.right.param]
        read = Counter(v for b in function.body.bindings() for v in operands(b.value))
        return (form.right.param,) if read[param] == 1 and _fills_panels(param.tensor) else ()

    def alignment(self) -> int:
        return 64

    def in_place(self, function: Function) -> frozenset[tuple[int, int]]:
        return elementwise_pairs(function, self._compiled)

    def _compiled(self, name: str) -> OpDef | None:
        return OPS[name] if self.fuses(OPS[name]) else None


def _fills_panels(matrix: TensorType) -> bool:
    """Whether a matrix of this type, of known dims, is no more than twice as large in panels."""
    if matrix.shape is None or not all(isinstance(d, int) and d > 0 for d in matrix.shape):
        return False
    rows, columns = (d for d in matrix.shape if isinstance(d, int))
    return math.prod(packed_shape(rows, columns, host_width(matrix.dtype))) <= 2 * rows * columns


@final
@dataclass(frozen=True)
class NumbaTarget:
    """Compiles for devices whose memory is the process's own."""

    name: str = "numba"
    traits: NumbaTraits = NumbaTraits()
    library: Target = NUMPY
    ops: Mapping[str, OpDef] = field(default_factory=lambda: OPS)
    cache: ObjectCache | None = None
    """Where object code is kept; ``None`` for the user's own folder."""

    makers: tuple[Maker, ...] = MAKERS
    """What compiles functions, asked in this order."""

    reporting: tuple[Maker, ...] = REPORTING
    """What compiles functions that may find bad data."""

    threads: int | None = None
    """How many threads share a large kernel; ``None`` for the pool of the process."""

    @property
    def available(self) -> bool:
        """Whether what it compiles with is installed."""
        return importlib.util.find_spec("llvmlite") is not None

    @cached_property
    def machine(self) -> Machine:
        """LLVM, loaded when the first kernel is compiled."""
        from reference_vm.jit.machine import Machine, shared_machine

        return shared_machine() if self.cache is None else Machine(self.cache)

    @cached_property
    def _tools(self) -> Tools:
        from reference_vm.jit.pool import Pool, shared_pool
        from reference_vm.targets.numba.launch import fast_launch

        pool = shared_pool() if self.threads is None else Pool(self.machine, self.threads)
        launch = fast_launch(self.machine)
        return Tools(self.machine, launch, pool, self.ops)

    @property
    def statistics(self) -> Statistics:
        """How many kernels were compiled, loaded from disk and shared."""
        return self.machine.statistics

    def compile(self, function: Function, device_kind: str) -> Kernel:
        kernel = self._made(function) or self._of_any_rank(function)
        return self.library.compile(function, device_kind) if kernel is None else kernel

    def _made(self, function: Function) -> Kernel | None:
        """Return the kernel that one of the makers makes of a function."""
        makers = self.reporting if self._fails(function) else self.makers
        made = (make(function, self._tools) for make in makers)
        return next((kernel for kernel in made if kernel is not None), None)

    def _of_any_rank(self, function: Function) -> Kernel | None:
        instead = partial(self.library.compile, function, "cpu")
        return ranked_kernel(function, self._made, instead, self.ops)

    def _fails(self, function: Function) -> bool:
        """Whether an operator may report an error that depends on data."""
        for binding in function.body.bindings():
            call = binding.value
            if isinstance(call, Call) and self.ops[call.op].can_fail(binding.var.type):
                return True
        return False


NUMBA: Final = NumbaTarget()
