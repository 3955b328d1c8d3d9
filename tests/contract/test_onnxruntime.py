"""onnxruntime as a backend: what it claims, how its refusals and its deaths are told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from hettest.adapters.child import EngineDied
from hettest.adapters.onnxruntime import Backend
from hettest.backend import discovery
from hettest.backend.protocol import Options, Rejected
from hettest.capability import missing
from hettest.errors import UsageError
from hettest.outcome import Outcome
from hettest.runner import TextProgram
from tests.contract.engines import ended, ran, run

pytest.importorskip("onnxruntime")

DIVIDE = """module {
  fn @main(%a: i32[n], %b: i32[n]) -> i32[n] {
    %q = trunc_divide(%a, %b)
    return %q
  }
  fn @both(%a: i32[n], %b: i32[n]) -> (i32[n], i32[n]) {
    %q = trunc_divide(%a, %b)
    %r = add(%a, %b)
    %t = (%q, %r)
    return %t
  }
}
"""


@pytest.fixture(scope="module")
def backend() -> Iterator[Backend]:
    opened = Backend()
    yield opened
    opened.close()


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def test_every_function_of_a_program_runs(backend: Backend) -> None:
    executable = backend.compile(TextProgram("x", DIVIDE), {}, Options())

    one = executable.run("main", (ints(7, -7), ints(2, 2))).results
    two = executable.run("both", (ints(7), ints(2))).results

    assert np.asarray(one).tolist() == [3, -3]
    assert [np.asarray(r).tolist() for r in two] == [[3], [9]]


def test_an_error_of_the_engine_is_a_rejection(backend: Backend) -> None:
    executable = backend.compile(TextProgram("x", DIVIDE), {}, Options())

    with pytest.raises(Rejected, match="division by zero") as caught:
        executable.run("main", (ints(7), ints(0)))

    assert (caught.value.stage, caught.value.code) == ("run", "Fail")


def test_a_model_that_it_refuses_is_rejected_at_compile(backend: Backend) -> None:
    @dataclass
    class Broken:
        id: str = "broken"
        text: str = ""

        def json(self) -> dict[str, Any]:
            return {}

        def onnx(self, entry: str | None = None) -> bytes:
            return b"no model"

    with pytest.raises(Rejected) as caught:
        backend.compile(Broken(), {}, Options())

    assert caught.value.stage == "compile"


def test_a_death_is_told_and_the_next_run_finds_a_new_process(backend: Backend) -> None:
    executable = backend.compile(TextProgram("x", DIVIDE), {}, Options())
    process = backend._chosen.child.process
    assert process is not None
    process.kill()

    with pytest.raises(EngineDied, match="killed by SIGKILL"):
        executable.run("main", (ints(7), ints(2)))

    again = executable.run("main", (ints(9), ints(2))).results
    assert np.asarray(again).tolist() == [4]


def test_one_device_is_claimed_and_no_transfers(backend: Backend) -> None:
    (device,) = backend.devices()

    assert (device.name, device.available) == ("cpu:0", True)
    words = ("observe:copies", "input:hir", "dtype:bf16", "device:sim", "op:tan:f64")
    assert missing((*words, "op:add:f32", "dtype:f16"), backend.capabilities) == words


def test_the_provider_of_each_operator_is_read_back(backend: Backend) -> None:
    assert not missing(["observe:placement"], backend.capabilities)

    seen = run(backend, "%s = add(%a, %b)\n%m = mean(%s)\n%t = subtract(%s, %m)\nreturn %t", {})

    assert ran(seen) == {"main/%s": "cpu:0", "main/%m": "cpu:0", "main/%t": "cpu:0"}
    assert [e.op for e in seen.executions or ()] == ["add", "mean", "subtract"]


def test_results_are_nested_as_the_program_says(backend: Backend) -> None:
    text = """module {
  fn @main(%a: i32[n]) -> (i32[n], (i32[n], i32[n])) {
    %b = negative(%a)
    %c = square(%a)
    %i = (%b, %c)
    %t = (%a, %i)
    return %t
  }
}
"""
    executable = backend.compile(TextProgram("x", text), {}, Options())
    nested: Any = executable.run("main", (ints(3),)).results
    first, (second, third) = nested

    assert [np.asarray(r).tolist() for r in (first, second, third)] == [[3], [-3], [9]]


def test_a_provider_that_is_not_there_is_told_with_those_that_are() -> None:
    backend = Backend(provider="CUDAExecutionProvider")

    host, cuda = backend.devices()
    backend.close()

    assert host.available
    assert (cuda.name, cuda.available) == ("cuda:0", False)
    assert "has no CUDAExecutionProvider here; it has" in (cuda.reason or "")
    assert not missing(["device:cuda", "op:tan:f64"], backend.capabilities)


def test_requests_on_two_devices_cannot_be_said() -> None:
    backend = Backend(provider="CUDAExecutionProvider")

    with pytest.raises(Rejected, match="one list of providers"):
        run(backend, "return %a", {"host": "cpu:0", "accel": "cuda:0"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"provider": "cuda"}, "option provider is 'cuda', expected the name of an execution"),
        ({"threads": -1}, "option threads is -1, expected 1 or more, or 0"),
    ],
)
def test_options_out_of_range_are_told(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Backend(**options)


def test_options_come_with_the_name() -> None:
    loaded = discovery.load("onnxruntime:threads=2")

    assert isinstance(loaded, Backend)
    assert loaded.threads == 2


@pytest.mark.parametrize(
    ("case", "outcomes"),
    [
        ("ops/add/floats", {Outcome.PASSED}),
        ("ops/bitwise_left_shift/values", {Outcome.UNSUPPORTED, Outcome.PASSED}),
        ("diagnostics/unknown_vdevice", {Outcome.UNSUPPORTED}),
        ("ops/floor_divide/integers", {Outcome.CRASHED, Outcome.PASSED}),
    ],
)
def test_items_end_as_the_engine_deserves(
    backend: Backend, case: str, outcomes: set[Outcome]
) -> None:
    assert ended(backend, case, ("cpu:0",)) <= outcomes
