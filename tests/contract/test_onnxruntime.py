"""onnxruntime as a backend: what it claims, how its refusals and its deaths are told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from hettest.adapters.child import EngineDied
from hettest.adapters.onnxruntime import Backend
from hettest.backend.protocol import Options, Rejected
from hettest.capability import missing
from hettest.case.expansion import Item
from hettest.case.loader import load
from hettest.corpus import corpus_root, select
from hettest.outcome import Outcome
from hettest.runner import TextProgram, run_item
from hettest.runner.run import Environment

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

        def onnx(self, entry: str | None = None) -> bytes:
            return b"no model"

    with pytest.raises(Rejected) as caught:
        backend.compile(Broken(), {}, Options())

    assert caught.value.stage == "compile"


def test_a_death_is_told_and_the_next_run_finds_a_new_process(backend: Backend) -> None:
    executable = backend.compile(TextProgram("x", DIVIDE), {}, Options())
    process = backend._engine.child.process
    assert process is not None
    process.kill()

    with pytest.raises(EngineDied, match="killed by SIGKILL"):
        executable.run("main", (ints(7), ints(2)))

    again = executable.run("main", (ints(9), ints(2))).results
    assert np.asarray(again).tolist() == [4]


def test_one_device_and_no_observations_are_claimed(backend: Backend) -> None:
    (device,) = backend.devices()

    assert (device.name, device.available) == ("cpu:0", True)
    words = ("observe:copies", "input:hir", "dtype:bf16", "device:sim", "op:add:f32", "dtype:f16")
    assert missing(words, backend.capabilities) == words[:4]


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
    root = corpus_root()
    items: tuple[Item, ...] = select(load(root / f"{case}.toml", root), ("cpu:0",)).items
    environment = Environment(backend, "onnxruntime", ("cpu:0",), {})

    ended = {run_item(item, environment).outcome for item in items}

    assert ended <= outcomes
