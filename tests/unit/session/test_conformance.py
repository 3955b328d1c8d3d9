"""The reference as a backend: what it says of a run is what its trace says."""

from __future__ import annotations

import numpy as np
import pytest

from hettest.backend.protocol import Copy, Execution, Memory, Options, Rejected
from hettest.capability import missing
from hettest.runner import TextProgram
from reference_vm.conformance import Backend
from tests.unit.session.test_runs import X

PROGRAM = """module {
  vdevice @host, @accel
  fn @main(%a: f32[n], %b: f32[n], %c: f32[n]) -> f32[n] @host {
    %s = add(%a, %b)       @host
    %t = add(%b, %c)       @accel
    %d = subtract(%s, %t)  @host
    return %d
  }
}
"""
MAP = {"host": "cpu:0", "accel": "sim:0"}


def text(program: str) -> TextProgram:
    return TextProgram("case", program)


def test_a_run_is_observed() -> None:
    executable = Backend().compile(text(PROGRAM), MAP, Options(extra={"fuse": False}))
    seen = executable.run("main", (X, X, X))
    np.testing.assert_array_equal(np.asarray(seen.results), 0 * X)
    assert set(seen.executions or ()) == {
        Execution("add", ("main/%s",), "cpu:0"),
        Execution("add", ("main/%t",), "sim:0"),
        Execution("subtract", ("main/%d",), "cpu:0"),
    }
    assert set(seen.copies or ()) == {
        Copy("cpu:0", "sim:0", "main/%c", 16, "argument"),
        Copy("cpu:0", "sim:0", "main/%b", 16, "read", "main/%t"),
        Copy("sim:0", "cpu:0", "main/%t", 16, "read", "main/%d"),
    }
    assert seen.memory is not None
    assert seen.memory["sim:0"] == Memory(start=0, end=0, peak=32)
    assert seen.intermediates is not None
    np.testing.assert_array_equal(seen.intermediates["main/%t"], 2 * X)


def test_what_is_fused_away_is_still_executed_and_no_intermediate() -> None:
    executable = Backend().compile(text(PROGRAM), MAP, Options())
    seen = executable.run("main", (X, X, X))
    executed = {name: e.device for e in seen.executions or () for name in e.defines}
    assert executed == {"main/%s": "cpu:0", "main/%t": "sim:0", "main/%d": "cpu:0"}


def test_intermediates_can_be_left_out() -> None:
    options = Options(extra={"intermediates": False, "checked": False})
    executable = Backend().compile(text(PROGRAM), MAP, options)
    assert executable.run("main", (X, X, X)).intermediates is None


@pytest.mark.parametrize(
    ("program", "stage", "code", "line"),
    [
        ("module {\n  fn @main(", "parse", "syntax-error", 2),
        (
            "module {\n  fn @main(%a: f32[4] @gpu) -> f32[4] {\n    return %a\n  }\n}",
            "parse",
            "unknown-vdevice",
            2,
        ),
        (
            "module {\n  fn @main(%a: f32[4]) -> f32[4] {\n    return %b\n  }\n}",
            "verify",
            "undefined-variable",
            3,
        ),
        (
            "module {\n fn @main(%a: f32[4]) -> f32[4] {\n  %b = frob(%a)\n  return %b\n }\n}",
            "compile",
            "unknown-operator",
            3,
        ),
    ],
)
def test_a_program_at_fault_is_rejected_with_stage_code_and_line(
    program: str, stage: str, code: str, line: int
) -> None:
    with pytest.raises(Rejected) as caught:
        Backend().compile(text(program), MAP, Options())
    found = caught.value
    assert (found.code, found.line) == (code, line)
    assert found.stage == stage


def test_a_run_at_fault_is_rejected() -> None:
    executable = Backend().compile(text(PROGRAM), MAP, Options())
    with pytest.raises(Rejected, match="argument %b") as caught:
        executable.run("main", (X, X.astype(np.float64), X))
    assert (caught.value.stage, caught.value.code) == ("run", "argument-dtype")


def test_devices_are_listed_with_the_reason_of_those_that_are_missing() -> None:
    devices = {d.name: d for d in Backend().devices()}
    assert devices["cpu:0"].available
    assert devices["sim.no-f64:1"].kind == "sim"
    assert devices["sim:0"].memory_space != devices["sim:1"].memory_space
    cuda = next(d for d in devices.values() if d.kind == "cuda")
    assert cuda.available == (cuda.reason is None)


def test_a_device_can_be_used_by_hand() -> None:
    device = Backend().open("sim:0")
    held = device.put(X)
    device.synchronize()
    np.testing.assert_array_equal(device.get(held), X)
    np.testing.assert_array_equal(device.get(device.xp.exp(held * 0)), np.ones_like(X))


def test_every_construct_of_the_language_is_claimed() -> None:
    words = ["if", "match", "adt", "closure", "function", "recursion", "tuple", "weights"]
    assert missing([f"construct:{word}" for word in words], Backend().capabilities) == ()
