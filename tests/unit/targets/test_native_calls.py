"""A kernel as machine code: called by address, in any parts, it computes what the kernel does."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np
import pytest

from reference_vm.bytecode.kernel import NativeCall
from reference_vm.targets.numba.target import NUMBA
from reference_vm.targets.numpy import NUMPY
from tests.unit.targets.test_fused_kernels import SOFTMAX, only_kernel

ROWS = np.random.default_rng(1).normal(size=(6, 40)).astype(np.float32)


def run_in_parts(call: NativeCall, inputs: list[Any], edges: list[int]) -> list[Any]:
    results = [np.full(shape, np.nan, np.float32) for shape in call.shapes]
    (stage,) = call.stages
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(stage.entry)
    for low, high in itertools.pairwise(edges):
        scratch = np.empty(stage.scratch + 64, np.uint8)
        block = stage.block.copy()
        addresses = [x.ctypes.data for x in (*(inputs[i] for i in call.inputs), *results)]
        block[: len(addresses)] = addresses
        if stage.scratch:
            block[stage.scratch_word] = scratch.ctypes.data
        entry(block.ctypes.data, low, high)
    return results


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_any_parts_compute_the_same_to_the_bit(parts: int) -> None:
    kernel = NUMBA.compile(only_kernel(SOFTMAX), "cpu")
    (expected,) = kernel(np, [ROWS], [None])

    call = kernel.native([ROWS.shape])

    assert call is not None
    (stage,) = call.stages
    edges = [stage.low + (stage.high - stage.low) * i // parts for i in range(parts + 1)]
    (found,) = run_in_parts(call, [ROWS], edges)
    np.testing.assert_array_equal(found.view(np.uint32), expected.view(np.uint32))


def test_a_library_has_no_address() -> None:
    assert NUMPY.compile(only_kernel(SOFTMAX), "cpu").native([ROWS.shape]) is None
