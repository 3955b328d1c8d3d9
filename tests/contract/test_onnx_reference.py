"""ONNX's reference evaluator as a backend: what it claims, and whose error is whose."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from hettest.adapters import onnx_reference as adapter
from hettest.backend.protocol import Options, Rejected
from hettest.capability import missing
from hettest.outcome import Outcome
from hettest.runner import TextProgram
from tests.contract.engines import ended, run


@pytest.fixture(scope="module")
def backend() -> Iterator[adapter.Backend]:
    opened = adapter.Backend()
    yield opened
    opened.close()


def test_without_the_package_the_device_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "find_spec", lambda name: None)

    (device,) = adapter.Backend().devices()

    assert (device.name, device.available) == ("cpu:0", False)
    assert device.reason == "the package onnx is not installed (pip install 'hettest[onnx]')"


def test_it_claims_values_alone(backend: adapter.Backend) -> None:
    words = ("observe:copies", "observe:placement", "input:hir", "dtype:bf16", "op:add:f16")
    assert missing(words, backend.capabilities) == words[:4]


def test_a_program_runs_and_shows_its_results_alone(backend: adapter.Backend) -> None:
    seen = run(backend, "%s = add(%a, %b)\nreturn %s", {})

    assert np.asarray(seen.results).tolist() == [11.0, 22.0, 33.0, 44.0]
    assert (seen.executions, seen.copies) == (None, None)


def test_an_error_of_the_evaluator_is_a_rejection(backend: adapter.Backend) -> None:
    text = """module {
  fn @main(%x: f32[2, 5, 3]) -> f32[2, 5, 3] {
    %r = lrn(%x, size = 3)
    return %r
  }
}
"""
    executable = backend.compile(TextProgram("x", text), {}, Options())

    with pytest.raises(Rejected, match="LRN only applies on 4D") as caught:
        executable.run("main", (np.ones((2, 5, 3), np.float32),))

    assert (caught.value.stage, caught.value.code) == ("run", "RuntimeError")


@pytest.mark.parametrize(
    ("case", "outcomes"),
    [
        ("ops/add/floats", {Outcome.PASSED}),
        ("ops/mean/half", {Outcome.FAILED}),
        ("diagnostics/unknown_vdevice", {Outcome.UNSUPPORTED}),
    ],
)
def test_items_end_as_the_engine_deserves(
    backend: adapter.Backend, case: str, outcomes: set[Outcome]
) -> None:
    assert ended(backend, case, ("cpu:0",)) == outcomes
