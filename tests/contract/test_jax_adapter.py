"""JAX as a backend: placement and transfers as they were, and whose error is whose."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
import pytest

from hettest.adapters import jax as adapter
from hettest.adapters.jax_operators import NAMES
from hettest.backend.protocol import Rejected
from hettest.capability import missing
from hettest.language import operators
from hettest.outcome import Outcome
from tests.contract.engines import TWO_BY_REQUEST, ended, moved, ran, run

installed = pytest.mark.skipif(
    find_spec("jax") is None, reason="the package jax is not installed (pip install 'hettest[jax]')"
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

    assert [info.available for info in infos] == [False] * 4
    assert {info.reason for info in infos} == {
        "the package jax is not installed (pip install 'hettest[jax]')"
    }


def test_it_claims_operators_of_the_language_and_no_hints() -> None:
    assert set(NAMES) <= set(operators())
    words = ("op:hint_on_device", "input:hir", "construct:if", "op:add:bf16", "policy:replicate")
    assert missing(words, adapter.Backend().capabilities) == words[:3]


@installed
def test_a_request_is_kept_and_its_operands_are_brought_once(backend: adapter.Backend) -> None:
    seen = run(backend, TWO_BY_REQUEST, MAP)

    assert ran(seen) == {"main/%s": "cpu:0", "main/%t": "cpu:1", "main/%u": "cpu:1"}
    assert moved(seen) == [("main/%s", "cpu:0", "cpu:1", "read")]
    assert np.asarray(seen.results).tolist() == [132.0, 506.0, 1122.0, 1980.0]


@installed
@pytest.mark.parametrize(("policy", "cause"), [("copy", "read"), ("replicate", "argument")])
def test_an_argument_read_on_two_devices_goes_by_the_policy(
    backend: adapter.Backend, policy: str, cause: str
) -> None:
    body = "%s = negative(%a) @host\n%t = square(%a) @accel\nreturn %t"

    assert moved(run(backend, body, MAP, policy)) == [("main/%a", "cpu:0", "cpu:1", cause)]


@installed
def test_what_jax_takes_along_is_seen(backend: adapter.Backend) -> None:
    seen = run(backend, "%s = negative(%a) @accel\n%t = add(%s, %b)\nreturn %t", MAP)

    assert moved(seen) == [
        ("main/%a", "cpu:0", "cpu:1", "argument"),
        ("main/%b", "cpu:0", "cpu:1", "argument"),
    ]


@installed
def test_a_copy_onto_its_own_device_is_a_fresh_buffer(backend: adapter.Backend) -> None:
    seen = run(backend, "%s = negative(%a) @host\n%t = device_copy(%s) @host\nreturn %t", MAP)

    assert moved(seen) == [("main/%s", "cpu:0", "cpu:0", "explicit")]


@installed
def test_operands_apart_are_jaxs_own_error(backend: adapter.Backend) -> None:
    body = "%s = negative(%a) @host\n%t = square(%b) @accel\n%u = add(%s, %t)\nreturn %u"

    with pytest.raises(Rejected, match="incompatible devices") as caught:
        run(backend, body, MAP)

    assert (caught.value.stage, caught.value.code) == ("run", "ValueError")


@installed
@pytest.mark.parametrize(
    ("case", "outcomes"),
    [
        ("placement/shared_input", {Outcome.PASSED}),
        ("placement/pinned_result", {Outcome.FAILED}),
        ("placement/two_hints", {Outcome.UNSUPPORTED}),
        ("diagnostics/unknown_vdevice", {Outcome.UNSUPPORTED}),
        ("ops/matmul/half", {Outcome.PASSED}),
    ],
)
def test_items_end_as_the_engine_deserves(
    backend: adapter.Backend, case: str, outcomes: set[Outcome]
) -> None:
    assert ended(backend, case, DEVICES) == outcomes
