"""Apache TVM as a backend: what Relax decides, what was moved, and how its deaths are told."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
import pytest

from hettest.adapters import tvm as adapter
from hettest.adapters.tvm_operators import NAMES
from hettest.backend.protocol import Observation, Options, Rejected
from hettest.capability import missing
from hettest.case.loader import load
from hettest.corpus import corpus_root, select
from hettest.language import operators
from hettest.outcome import Outcome
from hettest.runner import TextProgram, run_item
from hettest.runner.run import Environment

installed = pytest.mark.skipif(
    find_spec("tvm") is None,
    reason="the package apache-tvm is not installed (pip install 'hettest[tvm]')",
)
DEVICES = ("cpu:0", "cpu:1")
MAP = {"host": "cpu:0", "accel": "cpu:1"}
ONE, TWO = (np.array(data, np.float32) for data in ((1, 2, 3, 4), (10, 20, 30, 40)))


@pytest.fixture(scope="module")
def backend() -> Iterator[adapter.Backend]:
    opened = adapter.Backend()
    yield opened
    opened.close()


def run(backend: adapter.Backend, body: str, default: str = "cpu:0") -> Observation:
    text = f"""module {{
  vdevice @host, @accel
  fn @main(%a: f32[4], %b: f32[4]) -> f32[4] {{
{body}
  }}
}}
"""
    executable = backend.compile(TextProgram("x", text), MAP, Options("copy", default))
    return executable.run("main", (ONE, TWO))


def moved(observation: Observation) -> list[tuple[str | None, str, str, str | None]]:
    return [(c.value, c.source, c.target, c.cause) for c in observation.copies or ()]


def ran(observation: Observation) -> dict[str, str]:
    return {e.defines[0]: e.device for e in observation.executions or ()}


def test_without_the_package_each_device_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "find_spec", lambda name: None)

    infos = adapter.Backend().devices()

    assert {info.reason for info in infos} == {
        "the package apache-tvm is not installed (pip install 'hettest[tvm]')"
    }


def test_it_claims_operators_of_the_language_and_one_policy() -> None:
    assert set(NAMES) <= set(operators())
    words = ("policy:replicate", "input:hir", "op:pow:i32", "op:pow:f32", "op:hint_on_device")
    assert missing(words, adapter.Backend().capabilities) == words[:3]


@installed
def test_a_request_is_kept_and_its_operands_are_brought_once(backend: adapter.Backend) -> None:
    seen = run(
        backend,
        "%s = add(%a, %b) @host\n%t = multiply(%s, %s) @accel\n%u = add(%t, %s) @accel\nreturn %u",
    )

    assert ran(seen) == {"main/%s": "cpu:0", "main/%t": "cpu:1", "main/%u": "cpu:1"}
    assert moved(seen) == [("main/%s", "cpu:0", "cpu:1", "read")]
    assert np.asarray(seen.results).tolist() == [132.0, 506.0, 1122.0, 1980.0]


@installed
def test_relax_places_what_nothing_requests(backend: adapter.Backend) -> None:
    seen = run(backend, "%s = negative(%a) @accel\n%t = square(%s)\nreturn %t")

    assert ran(seen) == {"main/%s": "cpu:1", "main/%t": "cpu:1"}
    assert moved(seen) == [("main/%a", "cpu:0", "cpu:1", "argument")]


@installed
def test_the_default_device_is_the_first_of_the_module(backend: adapter.Backend) -> None:
    seen = run(backend, "%s = add(%a, %b)\nreturn %s", default="cpu:1")

    assert ran(seen) == {"main/%s": "cpu:1"}
    assert [c[3] for c in moved(seen)] == ["argument", "argument"]


@installed
def test_operands_apart_are_relaxs_own_error(backend: adapter.Backend) -> None:
    body = "%s = negative(%a) @host\n%t = square(%b) @accel\n%u = add(%s, %t)\nreturn %u"

    with pytest.raises(Rejected, match="same VDevice") as caught:
        run(backend, body)

    assert (caught.value.stage, caught.value.code) == ("compile", "ValueError")


@installed
@pytest.mark.parametrize(
    ("case", "outcomes"),
    [
        ("placement/shared_input", {Outcome.PASSED, Outcome.UNSUPPORTED}),
        ("placement/chain_two_segments", {Outcome.FAILED, Outcome.UNSUPPORTED}),
        ("placement/to_vdevice_where_it_is", {Outcome.FAILED, Outcome.UNSUPPORTED}),
        ("placement/hint_pulls_producers", {Outcome.PASSED, Outcome.UNSUPPORTED}),
        ("diagnostics/unknown_vdevice", {Outcome.UNSUPPORTED}),
        ("ops/floor_divide/integers", {Outcome.CRASHED}),
        ("ops/abs/values", {Outcome.PASSED}),
    ],
)
def test_items_end_as_the_engine_deserves(
    backend: adapter.Backend, case: str, outcomes: set[Outcome]
) -> None:
    root = corpus_root()
    items = select(load(root / f"{case}.toml", root), DEVICES).items
    environment = Environment(backend, "apache_tvm", DEVICES, {})

    assert {run_item(item, environment).outcome for item in items} == outcomes
