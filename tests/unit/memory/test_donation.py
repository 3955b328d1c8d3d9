"""Donated arguments: their memory is used, or given back, where the run has it alone."""

from __future__ import annotations

import numpy as np
import pytest

import reference_vm as rv
from reference_vm.runtime.peaks import peaks
from reference_vm.session import Session

X = np.linspace(0.01, 0.1, 256, dtype=np.float32)
BODY = """%b = sqrt(%a) @accel
  %c = cumulative_sum(%b, axis = 0) @accel
  %d = exp(%c) @accel
  return %d"""


def session(body: str = BODY, donate: str = "donate", interpreter: bool = False) -> Session:
    text = f"""module {{ vdevice @host, @accel
  fn @main(%a: f32[n] @accel {donate}) -> f32[n] @accel {{ {body} }} }}"""
    program = rv.compile(rv.parse(text), "accel=sim:0", fuse=False, check=True)
    return Session(program, checked=True, interpreter=interpreter)


def expected() -> np.ndarray:
    return np.exp(np.cumsum(np.sqrt(X), dtype=np.float32))


@pytest.mark.parametrize("interpreter", [True, False])
@pytest.mark.parametrize("on_device", [True, False])
def test_result_lies_in_the_memory_of_what_was_donated(interpreter: bool, on_device: bool) -> None:
    found = session(interpreter=interpreter)
    given = found.put(X, "sim:0") if on_device else X
    np.testing.assert_allclose(found.run("main", given), expected(), rtol=1e-5)
    taken = [r for r in found.trace if r.op == "take_storage"]
    assert [(r.device, [a.value for a in r.reads]) for r in taken] == [("sim:0", ["main/%a"])]
    assert found.memory()["sim:0"].current == 0


def test_donation_saves_memory() -> None:
    with_it, without = session(), session(donate="")
    for run in (with_it, without):
        run.run("main", X)
    assert peaks(with_it.trace)["sim:0"].planned == 2 * X.nbytes
    assert peaks(without.trace)["sim:0"].planned == 3 * X.nbytes


def test_array_on_the_host_stays_as_it_is() -> None:
    text = """module { fn @main(%a: f32[n] donate) -> f32[n] {
      %b = exp(%a) %c = cumulative_sum(%b, axis = 0) return %c } }"""
    for interpreter in (True, False):
        found = Session(rv.compile(rv.parse(text), fuse=False, check=True), interpreter=interpreter)
        given = X.copy()
        found.run("main", given)
        np.testing.assert_array_equal(given, X)
        assert found.memory()["cpu:0"].current == 0


def test_array_that_was_put_on_the_host_is_used() -> None:
    text = "module { fn @main(%a: f32[n] donate) -> f32[n] { %b = exp(%a) return %b } }"
    for interpreter in (True, False):
        found = Session(rv.compile(rv.parse(text), check=True), interpreter=interpreter)
        np.testing.assert_allclose(found.run("main", found.put(X, "cpu:0")), np.exp(X), rtol=1e-6)
        assert [r.op for r in found.trace if r.kind in ("alloc", "builtin")] == ["take_storage"]
        assert found.memory()["cpu:0"].current == 0


def test_donated_parameter_that_nobody_reads_is_given_back() -> None:
    text = """module { vdevice @host, @accel
      fn @main(%a: f32[n] @accel donate, %b: f32[n] @accel) -> f32[n] @accel {
        %c = cumulative_sum(%b, axis = 0) @accel
        %d = cumulative_sum(%c, axis = 0) @accel
        return %d } }"""
    found = Session(rv.compile(rv.parse(text), "accel=sim:0", check=True), checked=True)
    given = found.put(X, "sim:0"), found.put(X, "sim:0")
    want = np.cumsum(np.cumsum(X, dtype=np.float32), dtype=np.float32)
    np.testing.assert_allclose(found.run("main", *given), want)
    assert found.memory()["sim:0"].current == X.nbytes


@pytest.mark.parametrize("interpreter", [True, False])
def test_donated_array_that_an_arm_handed_out_lives_as_long_as_that(interpreter: bool) -> None:
    text = """module { vdevice @host, @accel
      fn @main(%x: f32[3, 3] @host donate, %z: f32[3, 3] @host, %d: bool[] @host)
          -> (f32[3, 3] @accel, f32[3, 3] @accel) {
        %v = if %d { yield %z } else { yield %x }
        %w = if %d { yield %v } else { yield %v }
        %a = exp(%x) @host
        %b = cumulative_sum(%a, axis = 0) @host
        %e = cumulative_sum(%w, axis = 0) @host
        %f = sum(%e) @accel
        %m = maximum(%v, %f) @accel
        %g = add(%b, %z) @host
        %r = (%g, %m)
        return %r } }"""
    program = rv.compile(rv.parse(text), "accel=sim:0", fuse=False, check=True)
    x, z = X[:9].reshape(3, 3), X[9:18].reshape(3, 3)
    for d in (True, False):
        found = Session(program, checked=True, interpreter=interpreter)
        sums, most = found.run("main", found.put(x, "cpu:0"), z, np.array(d))
        v = z if d else x
        np.testing.assert_allclose(sums, np.cumsum(np.exp(x), axis=0) + z, rtol=1e-6)
        np.testing.assert_allclose(most, np.maximum(v, np.cumsum(v, axis=0).sum()), rtol=1e-6)
        assert not any(m.current for m in found.memory().values())
