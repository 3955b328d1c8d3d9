"""Loops without end, deep recursion, long chains: each has a bound, and none crashes."""

from __future__ import annotations

import numpy as np
import pytest

import reference_vm as rv
from reference_vm.runtime import calls
from tests.unit.functions.programs import COUNTDOWN, LISTS, MAPS, WAYS, program
from tests.unit.session.in_use import in_use

ZEROS = np.zeros(4, np.float32)

LOOP = program(
    COUNTDOWN,
    """fn @main(%i: i64[], %acc: f32[4]) -> f32[4] attrs { entry = true } {
      %r = @countdown(%i, %acc)
      return %r
    }""",
)
DEEP = program(
    """fn @depth(%i: i64[], %x: f32[4]) -> f32[4] {
      %zero = const i64[] 0
      %one = const i64[] 1
      %b = const f32[4] splat 1.0
      %c = greater(%i, %zero)
      %r = if %c {
        %j = subtract(%i, %one)
        %q = @depth(%j, %x)
        %a = add(%q, %b) @accel
        yield %a
      } else { yield %x }
      return %r
    }
    fn @endless(%x: f32[4]) -> f32[4] {
      %y = add(%x, %x) @accel
      %q = @endless(%y)
      %r = add(%q, %y)
      return %r
    }
    fn @main(%i: i64[], %x: f32[4]) -> f32[4] attrs { entry = true } {
      %r = @depth(%i, %x)
      return %r
    }
    fn @hang(%x: f32[4]) -> f32[4] attrs { entry = true } {
      %r = @endless(%x)
      return %r
    }"""
)


BOTH = pytest.mark.parametrize("interpreter", [True, False], ids=["interpreted", "native"])


@BOTH
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("devices", MAPS)
def test_a_loop_needs_the_same_memory_however_often_it_goes_round(
    devices: str, way: str, interpreter: bool
) -> None:
    program_ = rv.compile(rv.parse(LOOP), devices, **WAYS[way])
    session = rv.Session(program_, trace=False, interpreter=interpreter)
    peaks = []
    for count in (10, 1_000):
        result = session.run("main", np.int64(count), ZEROS)
        np.testing.assert_array_equal(result, ZEROS + count)
        peaks.append({name: memory.peak for name, memory in session.memory().items()})
    assert peaks[0] == peaks[1]


def test_a_loop_keeps_one_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "DEPTH", 1)
    session = rv.Session(rv.compile(rv.parse(LOOP), MAPS[1]), interpreter=True)
    np.testing.assert_array_equal(session.run("main", np.int64(50), ZEROS), ZEROS + 50)


@BOTH
def test_a_loop_that_builds_and_drops_lists_needs_constant_memory(interpreter: bool) -> None:
    text = program(
        LISTS,
        """fn @churn(%i: i64[], %l: List[f32[4]], %x: f32[4]) -> List[f32[4]] {
          %zero = const i64[] 0
          %one = const i64[] 1
          %c = greater(%i, %zero)
          %r = if %c {
            %j = subtract(%i, %one)
            %n: List[f32[4]] = Nil()
            %y = add(%x, %x)
            %m = match %l {
              Nil => { %a = Cons(%y, %n) %b = Cons(%x, %a) yield %b }
              Cons(%h, %t) => { yield %t }
            }
            %q = @churn(%j, %m, %x)
            yield %q
          } else { yield %l }
          return %r
        }
        fn @main(%i: i64[], %x: f32[4]) -> List[f32[4]] attrs { entry = true } {
          %n: List[f32[4]] = Nil()
          %r = @churn(%i, %n, %x)
          return %r
        }""",
    )
    for devices in MAPS:
        program_ = rv.compile(rv.parse(text), devices)
        session = rv.Session(program_, trace=False, checked=True, interpreter=interpreter)
        peaks = []
        for count in (9, 900):
            assert session.run("main", np.int64(count), ZEROS)[0] == "Nil"
            peaks.append({name: memory.peak for name, memory in session.memory().items()})
        assert peaks[0] == peaks[1]


@BOTH
def test_a_recursion_of_depth_a_hundred_thousand_returns(interpreter: bool) -> None:
    program_ = rv.compile(rv.parse(DEEP), MAPS[0])
    session = rv.Session(program_, trace=False, interpreter=interpreter)
    before = in_use(session)
    result = session.run("main", np.int64(100_000), ZEROS)
    np.testing.assert_array_equal(result, ZEROS + 100_000)
    assert in_use(session) == before


@pytest.mark.parametrize("way", WAYS)
def test_endless_recursion_is_a_located_error_and_the_session_works_on(
    monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(calls, "DEPTH", 1_000)
    program_ = rv.compile(rv.parse(DEEP), MAPS[1], **WAYS[way])
    session = rv.Session(program_, checked=True, interpreter=True)
    before = in_use(session)
    with pytest.raises(rv.ExecutionError) as error:
        session.run("hang", ZEROS)
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "recursion-too-deep"
    assert diagnostic.span is not None
    assert "%q = @endless(%y)" in str(diagnostic)
    assert in_use(session) == before
    np.testing.assert_array_equal(session.run("main", np.int64(5), ZEROS), ZEROS + 5)


def test_the_native_loop_ends_endless_recursion_too() -> None:
    text = program(
        """fn @endless(%x: f32[4]) -> f32[4] {
          %q = @endless(%x)
          %r = add(%q, %x)
          return %r
        }
        fn @main(%x: f32[4]) -> f32[4] attrs { entry = true } {
          %r = @endless(%x)
          return %r
        }"""
    )
    session = rv.Session(rv.compile(rv.parse(text), MAPS[0]), trace=False)
    assert session.notes == ()
    for _ in range(2):
        with pytest.raises(rv.ExecutionError) as error:
            session.run("main", ZEROS)
        assert error.value.diagnostics[0].code == "recursion-too-deep"
        assert in_use(session) == {"cpu:0": 0}


def test_a_million_trips_of_the_native_loop_need_no_memory() -> None:
    session = rv.Session(rv.compile(rv.parse(LOOP), MAPS[0]), trace=False)
    result = session.run("main", np.int64(1_000_000), ZEROS)
    np.testing.assert_array_equal(result, ZEROS + 1_000_000)
    assert session.memory()["cpu:0"].peak < 1_000


@BOTH
def test_an_argument_of_an_inner_call_that_does_not_fit_is_told_at_the_call(
    interpreter: bool,
) -> None:
    text = program(
        """fn @grow(%i: i64[], %x: f32[n], %y: f32[n]) -> f32[?] {
          %zero = const i64[] 0
          %one = const i64[] 1
          %c = greater(%i, %zero)
          %r = if %c {
            %j = subtract(%i, %one)
            %z = concat(%x, %y, axis = 0)
            %q = @grow(%j, %z, %y)
            yield %q
          } else { yield %x }
          return %r
        }
        fn @main(%i: i64[], %x: f32[4]) -> f32[?] attrs { entry = true } {
          %r = @grow(%i, %x, %x)
          return %r
        }"""
    )
    session = rv.Session(rv.compile(rv.parse(text), MAPS[0]), interpreter=interpreter)
    with pytest.raises(rv.ExecutionError) as error:
        session.run("main", np.int64(1), ZEROS)
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "argument-shape"
    assert "%q = @grow(%j, %z, %y)" in str(diagnostic)
