"""Makes kernels of matrix products, with what comes before and after them in one function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_vm.bytecode.kernel import Kernel
from reference_vm.ir.nodes import Function
from reference_vm.targets.numba.machine import nest_address
from reference_vm.targets.numba.making import Tools, operators
from reference_vm.targets.numba.printed import compiled
from reference_vm.targets.numba.product_code import PackKind, print_pack, print_product
from reference_vm.targets.numba.product_form import ProductForm, product_form
from reference_vm.targets.numba.product_plan import Code, Planner
from reference_vm.targets.numba.product_tiles import TileKind
from reference_vm.targets.numba.staged import StagedKernel
from reference_vm.targets.numba.vectors import registers
from reference_vm.targets.numpy import NUMPY
from reference_vm.types import TensorType, TupleType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import F16

if TYPE_CHECKING:  # it loads LLVM, which need not be installed
    from reference_vm.jit.machine import Machine


def make(function: Function, tools: Tools) -> Kernel | None:
    """Return the kernel of a function of matrix products; see `making.Maker`."""
    rules = {name: op.loops for name, op in tools.ops.items() if op.loops is not None}
    form = product_form(function, rules)
    if form is None or (form.dtype == F16 and not tools.machine.converts_f16):
        return None
    code = product_code(tools.machine, form)
    plan = Planner(form, code, len(function.params), tools.pool.threads)
    return StagedKernel(
        function.name,
        operators(function),
        plan,
        _dtypes(function),
        NUMPY.compile(function, "cpu"),
        tools.pool,
    )


def product_code(machine: Machine, form: ProductForm) -> Code:
    """Return the machine code of products like this one, and of what follows on it."""
    kind = TileKind(form.dtype, form.dtype, registers(machine.features))
    pack = PackKind(form.dtype.bits, kind.width)
    return Code(
        compiled(machine, "product", kind, lambda: print_product(kind)),
        compiled(machine, "pack", pack, lambda: print_pack(pack)),
        kind.width,
        kind.heights[0],
        0 if form.follow is None else nest_address(machine, form.follow),
        machine,
    )


def _dtypes(function: Function) -> tuple[object, ...]:
    result = function.result
    items = result.items if isinstance(result, TupleType) else (result,)
    return tuple(to_numpy(t.dtype) for t in items if isinstance(t, TensorType))


__all__ = ["make", "product_code"]
