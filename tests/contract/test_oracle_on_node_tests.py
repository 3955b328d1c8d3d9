"""The oracle against ONNX's own node tests, whose expected results it has never seen.

What the importer refuses is not counted; `test_onnx_node_tests` lists it. Results in 16-bit floats
may be off by what rounding each intermediate value costs, which the oracle does not do.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reference_vm.diagnostics import CompileError
from reference_vm.exchange import from_onnx
from reference_vm.oracle.estimate import Estimate, Result
from reference_vm.oracle.evaluate import evaluate

onnx = pytest.importorskip("onnx")

AT_LEAST = 1150
"""How many of the tests the importer takes, so that an importer that refuses all cannot pass."""

COARSE = {"float16": 4e-3, "bfloat16": 1e-2}


def _cases() -> list[Any]:
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its generators overflow and divide by zero on purpose
        return list(collect_testcases(None))


def _array(value: Any) -> NDArray[Any]:
    from onnx.numpy_helper import to_array

    return np.asarray(to_array(value) if isinstance(value, onnx.TensorProto) else value)


def _leaves(result: Result) -> Iterator[Estimate]:
    stack: list[Any] = [result]
    while stack:
        top = stack.pop()
        if isinstance(top, Estimate):
            yield top
        elif isinstance(top, tuple):
            stack.extend(reversed(top))


def _agrees(estimate: Estimate, expected: NDArray[Any]) -> bool:
    """Whether all decided elements agree; what is too close to call does not count.

    Integers agree if they are as far apart at most as the decisions before them leave open.
    """
    tolerance = COARSE.get(expected.dtype.name, 1e-3)
    if estimate.value.shape != expected.shape:
        return False
    if not estimate.dtype.is_float:
        apart = estimate.value.astype(np.float64) - expected.astype(np.float64)
        return bool(np.all(np.abs(apart) <= estimate.errors))
    decided = np.isfinite(estimate.errors)
    return bool(
        np.allclose(
            estimate.value[decided].astype(np.float64),
            expected[decided].astype(np.float64),
            rtol=tolerance,
            atol=max(tolerance * 1e-3, 3e-6),
            equal_nan=True,
        )
    )


def test_every_node_test_that_imports_has_the_result_that_onnx_expects() -> None:
    wrong, checked = [], 0
    for case in _cases():
        try:
            module = from_onnx(case.model)
        except CompileError:
            continue
        inputs, outputs = case.data_sets[0]
        args = [_array(value) for value in inputs if value is not None]
        estimates = list(_leaves(evaluate(module, "main", args).result))
        expected = [_array(value) for value in outputs]
        checked += 1
        if len(estimates) != len(expected) or not all(map(_agrees, estimates, expected)):
            wrong.append(case.name)

    assert wrong == []
    assert checked >= AT_LEAST
