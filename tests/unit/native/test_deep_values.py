"""Lists longer than Python's stack is deep go into runs and out, each node at the same price."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import reference_vm as rv
from hettest.judge.nesting import leaves
from reference_vm.session import Session
from tests.unit.native.both import Both
from tests.unit.native.data_programs import LIST_TYPE, REVERSE
from tests.unit.native.programs import X

DEEP = 2_000
assert sys.getrecursionlimit() <= DEEP

TURN = f"""module {{ {LIST_TYPE}
fn @main(%l: List[f32[4]]) -> List[f32[4]] {{
  %e: List[f32[4]] = Nil()
  %r = @reverse(%l, %e)
  return %r
}} {REVERSE} }}"""

ELSEWHERE = f"""module {{ vdevice @host, @accel
{LIST_TYPE}
fn @main(%l: List[f32[4] @accel]) -> List[f32[4] @accel] {{
  %e: List[f32[4] @accel] = Nil()
  %r = @turned(%l, %e)
  return %r
}}
fn @turned(%l: List[f32[4] @accel], %to: List[f32[4] @accel]) -> List[f32[4] @accel] {{
  %r = match %l {{
    Cons(%h, %t) => {{ %c = Cons(%h, %to) %s = @turned(%t, %c) yield %s }}
    Nil => {{ yield %to }}
  }}
  return %r
}} }}"""


def listed(count: int) -> Any:
    """Return a list whose first node has the largest number."""
    made: Any = ("Nil",)
    for i in range(count):
        made = ("Cons", X + i, made)
    return made


def calls(run: Callable[[], object], *, of_python: bool = False) -> int:
    """Return how many functions are called meanwhile; maybe only those written in Python."""
    made = 0

    def note(frame: Any, event: str, arg: Any) -> None:
        nonlocal made
        made += event == "call" or (event == "c_call" and not of_python)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return made


@pytest.mark.parametrize(("text", "devices"), [(TURN, ""), (ELSEWHERE, "host=cpu:0,accel=sim:0")])
def test_deep_lists_go_in_and_out_alike(text: str, devices: str) -> None:
    Both(rv.compile(rv.parse(text), devices)).check("main", listed(DEEP))


def test_a_list_of_a_hundred_thousand_nodes_goes_in_and_out() -> None:
    session = Session(rv.compile(rv.parse(TURN)))
    found = [array[0] for array in leaves(session.run("main", listed(100_000)))]
    np.testing.assert_array_equal(found, np.arange(100_000, dtype=np.float32) + X[0])
    assert not session.left_to_python()
    assert session.memory()["cpu:0"].current == 0


@pytest.mark.parametrize("size", ["4", "n"])
def test_a_type_that_names_ever_larger_ones_goes_in_and_out_alike(size: str) -> None:
    text = f"""module {{
    type Nest[A] {{ End, More(A, Nest[(A, A)]) }}
    fn @main(%l: Nest[f32[{size}]]) -> Nest[f32[{size}]] {{ return %l }}
    }}"""
    nest = ("More", X, ("More", (X, X), ("More", ((X, X), (X, X)), ("End",))))
    Both(rv.compile(rv.parse(text))).check("main", nest)


def test_a_node_calls_no_function_of_python_on_its_way() -> None:
    session = Session(rv.compile(rv.parse(TURN)))
    given = {count: listed(count) for count in (5_000, 1_000, 4_000)}
    found = {
        n: calls(partial(session.run, "main", arg), of_python=True) for n, arg in given.items()
    }
    assert abs(found[4_000] - found[1_000]) < 100


@pytest.mark.parametrize("interpreter", [False, True])
@pytest.mark.parametrize(("text", "devices"), [(TURN, ""), (ELSEWHERE, "host=cpu:0,accel=sim:0")])
def test_twice_the_nodes_take_twice_the_calls(text: str, devices: str, interpreter: bool) -> None:
    session = Session(rv.compile(rv.parse(text), devices), interpreter=interpreter)
    session.run("main", listed(1_000))
    steps = 250
    given = [listed(count) for count in range(steps, 1_001, steps)]
    counts = [calls(partial(session.run, "main", arg)) for arg in given]
    more = [after - before for before, after in pairwise(counts)]
    assert max(more) - min(more) <= max(0.02 * max(more), 100), counts
