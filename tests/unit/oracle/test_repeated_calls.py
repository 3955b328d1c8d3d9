"""Values that the run showed are used only where their name means one value."""

from __future__ import annotations

import numpy as np

from reference_vm.oracle.evaluate import check_locally
from reference_vm.oracle.repetition import repeated
from reference_vm.text import parse

TWICE = """
module {
  fn @inner(%x: f32[1]) -> f32[1] { %i = negative(%x) return %i }
  fn @part(%x: f32[1]) -> f32[1] { %p = @inner(%x) return %p }
  fn @once(%x: f32[1]) -> f32[1] { %o = square(%x) return %o }
  fn @main(%a: f32[1], %b: f32[1]) -> f32[1] {
    %s = @part(%a)
    %t = @part(%b)
    %u = @once(%t)
    %r = subtract(%s, %u)
    return %r
  }
}
"""


def test_what_is_called_twice_is_repeated_with_all_that_it_calls() -> None:
    assert repeated(parse(TWICE), "main") == {"part", "inner"}
    assert repeated(parse(TWICE), "part") == frozenset()


def test_a_function_that_calls_itself_is_repeated() -> None:
    text = """module { fn @f(%x: f32[1]) -> f32[1] { %y = @f(%x) return %y } }"""
    assert repeated(parse(text), "f") == {"f"}


def test_the_first_of_two_calls_is_not_held_to_what_the_second_computed() -> None:
    one, two = np.array([1.0], np.float32), np.array([2.0], np.float32)
    observed = {"inner/%i": -two, "once/%o": two * two, "main/%r": -one - two * two}
    checked: list[tuple[str, float]] = []

    check_locally(
        parse(TWICE),
        "main",
        (one, two),
        observed,
        lambda name, op, estimate, seen, span: checked.append((name, float(estimate.value[0]))),
    )

    assert checked == [("once/%o", 4.0), ("main/%r", -5.0)]
