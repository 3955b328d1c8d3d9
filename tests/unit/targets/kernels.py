"""Primitive functions and their kernels, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from reference_vm.bytecode.kernel import Kernel
from reference_vm.ir.nodes import Binding, Block, Call, Function, Var
from reference_vm.jit.object_cache import ObjectCache
from reference_vm.ops.definition import OpDef
from reference_vm.ops.typing import infer_call
from reference_vm.targets.numba.kernel import CompiledKernel
from reference_vm.targets.numba.target import NumbaTarget
from reference_vm.targets.numpy import NUMPY
from reference_vm.types import NO_ATTRS, Attrs, Type


def one_call(op: OpDef, types: Sequence[Type], attrs: Attrs = NO_ATTRS) -> Function:
    """Return the primitive function that is one call."""
    typed = infer_call(op, types, attrs, [None] * len(types))
    params = tuple(Var(f"p{i}", t) for i, t in enumerate(types))
    result = Var("r", typed.type)
    body = Block((Binding(result, Call(op.name, params, typed.attrs)),), result)
    return Function(op.name, params, typed.type, body, attrs=Attrs(primitive=True))


@cache
def target() -> NumbaTarget:
    """Return a target that keeps nothing on disk."""
    return NumbaTarget(cache=ObjectCache(None))


def compiled(function: Function) -> CompiledKernel:
    """Return the compiled kernel of ``function``, which must not be a library kernel."""
    kernel = target().compile(function, "cpu")
    assert isinstance(kernel, CompiledKernel), f"{function.name} was not compiled"
    return kernel


def library(function: Function) -> Kernel:
    return NUMPY.compile(function, "cpu")
