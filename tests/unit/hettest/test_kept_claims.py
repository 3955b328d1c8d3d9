"""What a backend claims to show, it shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hettest.backend.protocol import Copy, Execution, Memory, Observation, Reading
from hettest.expect.claims import check, unkept
from hettest.expect.named import Listed
from tests.unit.hettest.situations import ones, situation

ACME = Listed("acme", ("cpu:0", "npu:0"))
PROGRAM = """module {
  vdevice @host, @accel
  fn @main(%p: (f32[2], f32[2]), %x: f32[2]) -> f32[2] {
    %a = %p[0]
    %r = add(%a, %x)
    return %r
  }
}
"""
ARGS = ((ones(2), ones(2)), ones(2))
RIGHT = Observation(
    results=2 * ones(2),
    executions=[Execution("add", ("main/%r",), "npu:0")],
    copies=[Copy("cpu:0", "npu:0", "main/%p.0", 8, "argument")],
)
BINDING = {"host": "cpu:0", "accel": "npu:0"}


def wrong(seen: Observation, program: str = PROGRAM) -> list[str]:
    """Return what is said of a run whose claims are those that it keeps."""
    fields = {"executions": "placement", "copies": "copies", "memory": "memory"}
    fields |= {"metered": "meter"}
    claims = [f"observe:{w}" for name, w in fields.items() if getattr(seen, name) is not None]
    return [c.detail for c in check(situation(program, ARGS, seen, BINDING), claims, ACME)]


def test_what_is_named_as_the_protocol_says_is_well() -> None:
    assert wrong(RIGHT) == []


@pytest.mark.parametrize(
    ("copy", "message"),
    [
        (
            Copy("cpu:0", "npu:0", "main/%x", 8, "because"),
            (
                "a transfer has the cause 'because', expected argument, constant, deliver, "
                "explicit, host, read or result, or None"
            ),
        ),
        (
            Copy("cpu:0", "npu:0", "main/%nowhere", 8, "read"),
            "a transfer is of 'main/%nowhere', which is no variable of the program",
        ),
        (
            Copy("cpu:0", "npu:0", "x", 8, "read"),
            "a transfer is of 'x', which is no variable of the program",
        ),
        (
            Copy("cpu:0", "npu:0", "main/%x", 8, "read", "main/%nobody"),
            "a transfer is for 'main/%nobody', which is no variable of the program",
        ),
        (
            Copy("cpu:0", "gpu:7", "main/%x", 8, "read"),
            "gpu:7 is not one of the devices that acme lists: cpu:0, npu:0",
        ),
    ],
)
def test_a_transfer_that_names_what_nobody_knows_is_wrong(copy: Copy, message: str) -> None:
    assert wrong(replace(RIGHT, copies=[copy, copy])) == [message]


UNLISTED = "gpu:7 is not one of the devices that acme lists: cpu:0, npu:0"
ELSEWHERE = [Execution("add", ("main/%r",), "gpu:7")]
PEAKS = {"npu:0": Memory(0, 0, 8), "gpu:7": Memory(0, 0, 8)}
READINGS = {"npu:0": Reading(1), "gpu:7": Reading(1)}


@pytest.mark.parametrize(
    "seen",
    [
        replace(RIGHT, executions=ELSEWHERE),
        replace(RIGHT, memory=PEAKS),
        replace(RIGHT, metered=READINGS),
    ],
)
def test_a_device_that_is_not_listed_is_wrong_wherever_it_stands(seen: Observation) -> None:
    assert wrong(seen) == [UNLISTED]


NOTHING = replace(RIGHT, executions=[], copies=None)


def test_nothing_shown_of_what_must_be_computed_is_wrong_though_nothing_is_placed() -> None:
    assert wrong(NOTHING) == ["its executions show nothing computed, though main/%r must be"]


@pytest.mark.parametrize(
    "step",
    [
        "%r = identity(%a)",
        "%r = cast(%a, to=f32)",
        "%r = permute_dims(%a, axes=[0])",
        "%z = const f32[] 1.0\n    %r = multiply(%a, %z)",
    ],
)
def test_what_may_be_simplified_away_need_not_be_shown(step: str) -> None:
    assert wrong(NOTHING, PROGRAM.replace("%r = add(%a, %x)", step)) == []


def test_results_without_elements_need_no_execution() -> None:
    assert wrong(replace(NOTHING, results=ones(0))) == []


def test_bytes_that_are_claimed_must_be_shown() -> None:
    copies = [Copy("cpu:0", "sim:0", bytes=4), Copy("cpu:0", "sim:0")]
    seen = Observation(results=np.zeros(1), copies=copies)
    assert list(unkept(seen, frozenset({"observe:copies|bytes"}))) == [
        "the backend claims observe:bytes but shows a transfer without its bytes"
    ]


def test_bytes_that_are_not_claimed_may_be_left_out() -> None:
    seen = Observation(results=np.zeros(1), copies=[Copy("cpu:0", "sim:0")])
    assert not list(unkept(seen, frozenset({"observe:copies"})))
