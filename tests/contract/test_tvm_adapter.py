"""Apache TVM as a backend: what Relax decides, what was moved, and how its deaths are told."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
import pytest

from hettest.adapters import tvm as adapter
from hettest.adapters.tvm_operators import NAMES
from hettest.backend.protocol import Rejected
from hettest.capability import missing
from hettest.language import operators
from hettest.outcome import Outcome
from tests.contract.engines import TWO_BY_REQUEST, ended, moved, ran, run

installed = pytest.mark.skipif(
    find_spec("tvm") is None,
    reason="the package apache-tvm is not installed (pip install 'hettest[tvm]')",
)
DEVICES = ("cpu:0", "cpu:1")
MAP = {"host": "cpu:0", "accel": "cpu:1"}


@pytest.fixture(scope="module")
def backend() -> Iterator[adapter.Backend]:
    opened = adapter.Backend()
    yield opened
    opened.close()


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
    seen = run(backend, TWO_BY_REQUEST, MAP)

    assert ran(seen) == {"main/%s": "cpu:0", "main/%t": "cpu:1", "main/%u": "cpu:1"}
    assert moved(seen) == [("main/%s", "cpu:0", "cpu:1", "read")]
    assert np.asarray(seen.results).tolist() == [132.0, 506.0, 1122.0, 1980.0]


@installed
def test_relax_places_what_nothing_requests(backend: adapter.Backend) -> None:
    seen = run(backend, "%s = negative(%a) @accel\n%t = square(%s)\nreturn %t", MAP)

    assert ran(seen) == {"main/%s": "cpu:1", "main/%t": "cpu:1"}
    assert moved(seen) == [("main/%a", "cpu:0", "cpu:1", "argument")]


@installed
def test_the_default_device_is_the_first_of_the_module(backend: adapter.Backend) -> None:
    seen = run(backend, "%s = add(%a, %b)\nreturn %s", MAP, default="cpu:1")

    assert ran(seen) == {"main/%s": "cpu:1"}
    assert [c[3] for c in moved(seen)] == ["argument", "argument"]


@installed
def test_operands_apart_are_relaxs_own_error(backend: adapter.Backend) -> None:
    body = "%s = negative(%a) @host\n%t = square(%b) @accel\n%u = add(%s, %t)\nreturn %u"

    with pytest.raises(Rejected, match="same VDevice") as caught:
        run(backend, body, MAP)

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
    assert ended(backend, case, DEVICES) == outcomes
