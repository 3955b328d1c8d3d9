"""Hand-written kernels, run stage by stage over poisoned memory and judged by the oracle."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from reference_vm.bytecode.kernel import Kernel, NativeCall, Stage
from reference_vm.ir.nodes import Function, Module
from reference_vm.ops.catalog import OPS
from reference_vm.ops.definition import DataError
from reference_vm.oracle.estimate import Estimate
from reference_vm.oracle.evaluate import evaluate
from reference_vm.targets.numba.target import NUMBA
from reference_vm.targets.numpy import NUMPY
from reference_vm.targets.target import Target
from reference_vm.types import Attrs, TensorType
from reference_vm.types.arrays import from_numpy, to_numpy
from tests.unit.targets.kernels import one_call

Array = Any

POISON = 0xFF
"""Every float of such bytes is NaN, and every integer -1."""

_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def function_of(op: str, operands: Sequence[Array], **attrs: Any) -> Function:
    """Return the primitive function that is one call on operands of these types."""
    types = [TensorType(from_numpy(x.dtype), x.shape) for x in operands]
    return one_call(OPS[op], types, Attrs(**attrs))


def native(function: Function, target: Target = NUMBA) -> Kernel:
    """Return the kernel of ``function``, which must not be a library's."""
    kernel = target.compile(function, "cpu")
    assert not kernel.library, f"{function.name} is left to the library"
    return kernel


def run_in_parts(call: NativeCall, operands: Sequence[Array], dtypes: Any, parts: int) -> list[Any]:
    """Return the results of the stages, each cut into ``parts``, the last of them run first."""
    results = [_filled(shape, dtype) for shape, dtype in zip(call.shapes, dtypes, strict=True)]
    given = [np.ascontiguousarray(operands[i]) for i in call.inputs]
    addresses = [x.ctypes.data for x in (*given, *results)]
    workspace = _aligned(call.workspace)
    for stage in call.stages:
        for low, high in reversed(_ranges(stage, parts)):
            _run(stage, addresses, workspace, low, high)
    return results


def as_the_library(
    op: str, operands: Sequence[Array], target: Target = NUMBA, **attrs: Any
) -> None:
    """Fail unless a kernel that notes bad data does what the library does, whole and in parts."""
    function = function_of(op, operands, **attrs)
    (right,) = NUMPY.compile(function, "cpu")(np, operands, [None])
    kernel = native(function, target)
    assert kernel.can_fail
    (whole,) = kernel(np, operands, [None])
    call = kernel.native([x.shape for x in operands])
    assert call is not None or right.size == 0
    cut = whole if call is None else run_in_parts(call, operands, [right.dtype], 3)[0]
    for found in (whole, cut):
        assert found.shape == right.shape
        assert found.tobytes() == right.tobytes()


def refused(op: str, operands: Sequence[Array], target: Target = NUMBA, **attrs: Any) -> None:
    """Fail unless kernel and library say the same of bad data, every time."""
    function = function_of(op, operands, **attrs)
    with pytest.raises(DataError) as expected:
        NUMPY.compile(function, "cpu")(np, operands, [None])
    kernel = native(function, target)
    for _ in range(2):
        with pytest.raises(DataError) as found:
            kernel(np, operands, [None])
        assert vars(found.value) == vars(expected.value)
        assert found.value.args == expected.value.args


def uncached(machine: Any, kind: str, form: object, text: Any) -> int:
    """Return the address of code that a mutant may have printed: nothing of before is kept."""
    found: int = machine.address(text(), text)
    return found


def _run(stage: Stage, addresses: Sequence[int], workspace: Array, low: int, high: int) -> None:
    block = stage.block.copy()
    block[: len(addresses)] = addresses
    block[stage.workspace_word or 0] = (
        workspace.ctypes.data if stage.workspace_word else addresses[0]
    )
    scratch = _aligned(stage.scratch)
    if stage.scratch:
        block[stage.scratch_word] = scratch.ctypes.data
    _ENTRY(stage.entry)(block.ctypes.data, low, high)


def _ranges(stage: Stage, parts: int) -> list[tuple[int, int]]:
    rounds = -(-(stage.high - stage.low) // stage.grain)
    edges = [stage.low + rounds * i // parts * stage.grain for i in range(parts + 1)]
    edges[-1] = stage.high
    return [(a, b) for a, b in itertools.pairwise(edges) if b > a]


def _filled(shape: Sequence[int], dtype: Any) -> Array:
    made = np.empty(tuple(shape), dtype)
    made.reshape(-1).view(np.uint8)[...] = POISON
    return made


def _aligned(size: int) -> Array:
    whole = np.full(size + 64, POISON, np.uint8)
    return whole[-whole.ctypes.data % 64 :][: max(size, 0)]


def check(
    function: Function,
    operands: Sequence[Array],
    parts: int = 3,
    hosts: frozenset[int] = frozenset(),
    target: Target = NUMBA,
) -> None:
    """Fail unless the kernel, called at once or in parts, computes what the oracle means.

    ``hosts`` are the operands whose data is read on the host.
    """
    kernel = native(function, target)
    called = list(kernel(np, operands, [None] * len(_types(function))))
    meant = evaluate(Module(functions=(function,)), function.name, operands).result
    estimates = meant if isinstance(meant, tuple) else (meant,)
    for found, estimate in zip(called, estimates, strict=True):
        assert isinstance(estimate, Estimate)
        near(found, estimate)
    call = kernel.native([x if i in hosts else x.shape for i, x in enumerate(operands)])
    assert call is not None
    dtypes = [to_numpy(t.dtype) for t in _types(function)]
    divided = run_in_parts(call, operands, dtypes, parts)
    for one, other in zip(called, divided, strict=True):
        assert one.tobytes() == other.tobytes(), "cut into parts it computes other bits"


def _types(function: Function) -> Sequence[Any]:
    result = function.result
    return result.items if hasattr(result, "items") else (result,)


def near(found: Array, estimate: Estimate) -> None:
    """Fail unless every element is within the oracle's bounds, NaN where it is."""
    assert found.shape == estimate.value.shape
    value = estimate.value
    with np.errstate(all="ignore"):
        wide = found.astype(value.dtype)
        right = (np.abs(wide - value) <= estimate.errors) | (wide == value)
        if estimate.dtype.is_float:
            right |= np.isnan(wide) & np.isnan(value)
    wrong = np.argwhere(~right)
    assert not len(wrong), f"{len(wrong)} wrong, first at {wrong[0]}: {found[tuple(wrong[0])]}"


__all__ = ["check", "function_of", "native", "near", "run_in_parts"]
