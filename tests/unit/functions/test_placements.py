"""Functions, lists and closures give the same values wherever their operators are put."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reference_vm as rv
from tests.unit.functions.programs import LISTS, program
from tests.unit.session.in_use import in_use

TEXT = program(
    LISTS,
    """fn @items(%x: f32[n], %i: i64[], %l: List[f32[]]) -> List[f32[]] {
      %zero = const i64[] 0
      %one = const i64[] 1
      %more = greater(%i, %zero)
      %r = if %more {
        %j = subtract(%i, %one)
        %h = take(%x, %j, axis = 0)
        %m = Cons(%h, %l)
        %q = @items(%x, %j, %m)
        yield %q
      } else { yield %l }
      return %r
    }
    fn @main(%x: f32[n], %i: i64[]) -> f32[] attrs { entry = true } {
      %nil: List[f32[]] = Nil()
      %l = @items(%x, %i, %nil)
      %f = fn (%u: f32[]) -> f32[] { %v = multiply(%u, %u) return %v }
      %r = match %l {
        Cons(%a, Cons(%b, _)) => { %c = subtract(%a, %b) %d = %f(%c) yield %d }
        _ => { %e = const f32[] 0.0 yield %e }
      }
      return %r
    }""",
)


@pytest.mark.parametrize(
    "options",
    [
        {"place": "*=accel"},
        {"place": "c=accel"},
        {"place": "h=accel"},
        {"place": "auto"},
        {"split": "alternate"},
        {"split": "random:3"},
        {"default": "accel"},
        {"policy": "replicate"},
    ],
    ids=str,
)
def test_values_do_not_hang_on_places(options: dict[str, Any]) -> None:
    compiled = rv.compile(rv.parse(TEXT), "host=cpu:0,accel=sim:0", check=True, **options)
    session = rv.Session(compiled, checked=True)
    before = in_use(session)
    result = session.run("main", np.array([3, 5, 7], np.float32), np.int64(3))
    np.testing.assert_array_equal(result, np.float32(4))
    assert in_use(session) == before
