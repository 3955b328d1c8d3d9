from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

from reference_vm.diagnostics import CompileError
from reference_vm.interop.onnx_backend import OnnxBackend
from tests.unit.exchange.models import I64, single, value

VECTOR = np.array([1, -2], np.float32)
SUM = single("ReduceSum", [value("x", [2, 3]), value("axes", [1], I64)], keepdims=0)


@pytest.mark.parametrize("device", ["CPU", "CPU:0", "cpu", "sim:0"])
def test_a_model_runs_on_devices_of_onnx_and_ours(device: str) -> None:
    (found,) = OnnxBackend.run_model(single("Abs", [value("x", ["n"])]), [VECTOR], device)
    np.testing.assert_array_equal(found, [1, 2])


def test_a_prepared_model_runs_again_with_other_sizes() -> None:
    prepared = OnnxBackend.prepare(single("Neg", [value("x", ["n"])]))
    for size in (2, 3):
        (found,) = prepared.run([np.ones(size, np.float32)])
        np.testing.assert_array_equal(found, -np.ones(size))


def test_inputs_may_be_named_or_tensors_or_one_array() -> None:
    prepared = OnnxBackend.prepare(single("Abs", [value("x", [2])]))
    tensor = numpy_helper.from_array(VECTOR)
    ways: list[Any] = [VECTOR, [VECTOR], (VECTOR,), {"x": VECTOR}, [tensor]]
    for inputs in ways:
        np.testing.assert_array_equal(prepared.run(inputs)[0], [1, 2])


@pytest.mark.parametrize("inputs", [[], [VECTOR, VECTOR], {"y": VECTOR}])
def test_wrong_inputs_are_named(inputs: object) -> None:
    prepared = OnnxBackend.prepare(single("Abs", [value("x", [2])]))
    with pytest.raises(ValueError, match="expected"):
        prepared.run(inputs)  # type: ignore[arg-type]


def test_axes_that_come_with_the_run_are_translated_for_their_values() -> None:
    prepared = OnnxBackend.prepare(SUM)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for axis in (0, 1, 0):
        (found,) = prepared.run([x, np.array([axis])])
        np.testing.assert_array_equal(found, x.sum(axis))


def test_a_refused_model_raises_when_it_is_prepared() -> None:
    refused = single("RandomNormalLike", [value("x", [2, 3])])
    with pytest.raises(CompileError, match="nondeterministic"):
        OnnxBackend.prepare(refused)
    assert not OnnxBackend.is_compatible(refused)
    assert OnnxBackend.is_compatible(SUM)


def test_a_node_runs_alone() -> None:
    node = helper.make_node("Add", ["a", "a"], ["y"])
    np.testing.assert_array_equal(OnnxBackend.run_node(node, [VECTOR])[0], VECTOR * 2)
    softmax = helper.make_node("Softmax", ["x"], ["y"])
    x = np.zeros((1, 2, 2), np.float32)
    (old,) = OnnxBackend.run_node(softmax, [x], opset_version=11)
    (new,) = OnnxBackend.run_node(softmax, [x])
    assert old.ravel().tolist() == [0.25] * 4
    assert new.ravel().tolist() == [0.5] * 4


def test_devices_that_are_here_are_supported() -> None:
    assert OnnxBackend.supports_device("CPU")
    assert OnnxBackend.supports_device("sim:1")
    assert not OnnxBackend.supports_device("TPU")
    assert not OnnxBackend.supports_device("no device")
