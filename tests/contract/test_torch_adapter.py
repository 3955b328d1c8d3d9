"""PyTorch as a backend: eager on two devices, and whole functions compiled or exported."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from hettest.adapters import torch as adapter
from hettest.adapters.torch_operators_nn import NAMES
from hettest.backend import discovery
from hettest.backend.protocol import Options, Rejected
from hettest.capability import missing
from hettest.errors import UsageError
from hettest.language import operators
from hettest.outcome import Outcome
from hettest.runner import TextProgram
from tests.contract.engines import TWO_BY_REQUEST, ended, moved, ran, run

installed = pytest.mark.skipif(
    find_spec("torch") is None,
    reason="the package torch is not installed (pip install 'hettest[torch]')",
)
DEVICES = ("cpu:0", "meta:0")
MAP = {"host": "cpu:0", "accel": "meta:0"}
ALONE = {"host": "cpu:0", "accel": "cpu:0"}


@pytest.fixture(scope="module")
def backend() -> Iterator[adapter.Backend]:
    opened = adapter.Backend()
    yield opened
    opened.close()


@pytest.fixture(scope="module", params=["compile", "export"])
def whole(request: pytest.FixtureRequest) -> Iterator[adapter.Backend]:
    opened = adapter.Backend(mode=request.param)
    yield opened
    opened.close()


def test_without_the_package_the_device_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "find_spec", lambda name: None)

    (device,) = adapter.Backend().devices()

    assert device.reason == "the package torch is not installed (pip install 'hettest[torch]')"


def test_it_claims_operators_of_the_language_and_no_hints() -> None:
    assert set(NAMES) <= set(operators())
    words = ("op:hint_on_device", "input:hir", "dtype:u16", "op:lstm", "op:add:bf16")
    assert missing(words, adapter.Backend().capabilities) == words[:4]


def test_whole_functions_show_nothing_and_have_known_sizes() -> None:
    words = ("observe:placement", "device:meta", "op:nonzero:f32", "policy:replicate", "op:add")
    assert missing(words, adapter.Backend(mode="compile").capabilities) == words[:4]


def test_a_mode_that_there_is_not_is_told() -> None:
    with pytest.raises(UsageError, match="mode is 'fast', expected one of eager, compile, export"):
        adapter.Backend(mode="fast")


def test_the_mode_comes_with_the_name() -> None:
    loaded = discovery.load("torch:mode=export")

    assert isinstance(loaded, adapter.Backend)
    assert loaded.waivers.name == "torch_export.toml"


@installed
def test_a_request_is_kept_and_its_operands_are_brought_once(backend: adapter.Backend) -> None:
    seen = run(backend, TWO_BY_REQUEST, MAP)

    assert ran(seen) == {"main/%s": "cpu:0", "main/%t": "meta:0", "main/%u": "meta:0"}
    assert moved(seen) == [("main/%s", "cpu:0", "meta:0", "read")]
    assert np.asarray(seen.results).tolist() == [132.0, 506.0, 1122.0, 1980.0]


@installed
def test_a_copy_onto_its_own_device_is_fresh_memory(backend: adapter.Backend) -> None:
    seen = run(backend, "%s = negative(%a) @host\n%t = device_copy(%s) @host\nreturn %t", MAP)

    assert moved(seen) == [("main/%s", "cpu:0", "cpu:0", "explicit")]


@installed
def test_operands_apart_are_pytorchs_own_error(backend: adapter.Backend) -> None:
    body = "%s = negative(%a) @host\n%t = square(%b) @accel\n%u = add(%s, %t)\nreturn %u"

    with pytest.raises(Rejected, match="not on the expected device") as caught:
        run(backend, body, MAP)

    assert (caught.value.stage, caught.value.code) == ("run", "RuntimeError")


@installed
def test_what_only_data_tell_is_put_on_meta_as_it_is(backend: adapter.Backend) -> None:
    text = """module {
  vdevice @accel
  fn @main(%a: f32[4]) -> i64[1, ?] {
    %i = nonzero(%a) @accel
    return %i
  }
}
"""
    executable = backend.compile(TextProgram("x", text), {"accel": "meta:0"}, Options())

    seen = executable.run("main", (np.array([0, 1, 0, 2], np.float32),))

    assert ran(seen) == {"main/%i": "meta:0"}
    assert np.asarray(seen.results).tolist() == [[1, 3]]


@installed
def test_a_whole_function_runs_for_each_size_that_it_meets(whole: adapter.Backend) -> None:
    text = """module {
  fn @main(%a: f32[n], %p: (f32[n], f32[n])) -> (f32[n], i64[1]) {
    %x = %p[0]
    %y = %p[1]
    %s = add(%a, %x)
    %t = multiply(%s, %y)
    %h = shape_of(%t)
    %k = shape_to_tensor(%h)
    %r = (%t, %k)
    return %r
  }
}
"""
    executable = whole.compile(TextProgram("x", text), {}, Options())

    for size in (3, 1, 3):
        ones = np.ones(size, np.float32)
        nested: Any = executable.run("main", (ones, (ones, 3 * ones))).results
        total, shape = nested
        assert np.asarray(total).tolist() == [6.0] * size
        assert np.asarray(shape).tolist() == [size]


@installed
def test_more_programs_than_pytorch_keeps_for_one_code_are_compiled(
    whole: adapter.Backend,
) -> None:
    for number in range(10):
        seen = run(whole, f"%c = const f32[] {number}.0\n%s = add(%a, %c)\nreturn %s", ALONE)
        assert np.asarray(seen.results).tolist() == [
            1.0 + number,
            2.0 + number,
            3.0 + number,
            4.0 + number,
        ]


@installed
@pytest.mark.parametrize(
    ("case", "outcomes"),
    [
        ("placement/shared_input", {Outcome.PASSED}),
        ("placement/pinned_result", {Outcome.FAILED}),
        ("placement/two_hints", {Outcome.UNSUPPORTED}),
        ("diagnostics/unknown_vdevice", {Outcome.UNSUPPORTED}),
        ("ops/matmul/half", {Outcome.PASSED}),
        ("ops/sign/values", {Outcome.PASSED, Outcome.FAILED}),
    ],
)
def test_items_end_as_the_engine_deserves(
    backend: adapter.Backend, case: str, outcomes: set[Outcome]
) -> None:
    assert ended(backend, case, DEVICES) == outcomes
