"""Closures, names of functions, and what they are put into."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.unit.functions.programs import LISTS, program, run_everywhere

X = np.array([1, 2, 3], np.float32)
W = np.array([10, 20, 30], np.float32)

APPLY = """
fn @twice(%f: (f32[n]) -> f32[n], %x: f32[n]) -> f32[n] {
  %a = %f(%x)
  %b = %f(%a)
  return %b
}
"""
REPEAT = """
fn @repeat(%f: (f32[3]) -> f32[3], %x: f32[3], %i: i64[]) -> f32[3] {
  %zero = const i64[] 0
  %one = const i64[] 1
  %c = greater(%i, %zero)
  %r = if %c {
    %j = subtract(%i, %one)
    %y = %f(%x)
    %q = @repeat(%f, %y, %j)
    yield %q
  } else { yield %x }
  return %r
}
"""

PROGRAMS = {
    "a closure captures, and is called through a parameter": (
        APPLY
        + """fn @main(%x: f32[n], %w: f32[n]) -> f32[n] attrs { entry = true } {
          %f = fn (%y: f32[n]) -> f32[n] { %z = add(%y, %w) @accel return %z }
          %r = @twice(%f, %x)
          return %r
        }""",
        X + 2 * W,
    ),
    "a function of the module is a value": (
        APPLY
        + """fn @double(%x: f32[n]) -> f32[n] { %y = add(%x, %x) return %y }
        fn @main(%x: f32[n], %w: f32[n]) -> f32[n] attrs { entry = true } {
          %r = @twice(@double, %x)
          %f = @double
          %s = %f(%w)
          %t = add(%r, %s)
          return %t
        }""",
        4 * X + 2 * W,
    ),
    "a loop calls a closure that captures values of two devices": (
        REPEAT
        + """fn @main(%x: f32[3], %w: f32[3]) -> f32[3] attrs { entry = true } {
          %u = add(%w, %w) @accel
          %v = add(%w, %w) @host
          %f = fn (%y: f32[3]) -> f32[3] {
            %a = add(%y, %u) @accel
            %b = subtract(%a, %v) @host
            %c = add(%b, %w)
            return %c
          }
          %five = const i64[] 5
          %r = @repeat(%f, %x, %five)
          return %r
        }""",
        X + 5 * W,
    ),
    "partial application": (
        """fn @scaled(%k: f32[3], %x: f32[3]) -> f32[3] { %y = multiply(%k, %x) return %y }
        fn @main(%x: f32[3], %w: f32[3]) -> f32[3] attrs { entry = true } {
          %by = fn (%k: f32[3]) -> (f32[3]) -> f32[3] {
            %f = fn (%y: f32[3]) -> f32[3] { %z = @scaled(%k, %y) return %z }
            return %f
          }
          %g = %by(%w)
          %h = %by(%x)
          %a = %g(%x)
          %b = %h(%a)
          return %b
        }""",
        W * X * X,
    ),
    "functions lie in tuples": (
        """fn @main(%x: f32[3], %w: f32[3]) -> f32[3] attrs { entry = true } {
          %f = fn (%y: f32[3]) -> f32[3] { %z = add(%y, %w) return %z }
          %g = fn (%u: f32[3]) -> f32[3] { %v = multiply(%u, %x) @accel return %v }
          %t = (%f, (%g, %x))
          %f2 = %t[0]
          %i = %t[1]
          %g2 = %i[0]
          %x2 = %i[1]
          %a = %f2(%x2)
          %b = %g2(%a)
          return %b
        }""".replace("(%f, (%g, %x))", "(%f, %p)").replace("%t = ", "%p = (%g, %x)\n %t = "),
        (X + W) * X,
    ),
    "functions lie in lists": (
        LISTS
        + """
        fn @through(%l: List[(f32[3]) -> f32[3]], %x: f32[3]) -> f32[3] {
          %r = match %l {
            Nil => { yield %x }
            Cons(%f, %t) => { %y = %f(%x) %q = @through(%t, %y) yield %q }
          }
          return %r
        }
        fn @main(%x: f32[3], %w: f32[3]) -> f32[3] attrs { entry = true } {
          %f = fn (%y: f32[3]) -> f32[3] { %z = add(%y, %w) return %z }
          %g = fn (%u: f32[3]) -> f32[3] { %v = multiply(%u, %u) return %v }
          %n: List[(f32[3]) -> f32[3]] = Nil()
          %a = Cons(%g, %n)
          %b = Cons(%f, %a)
          %c = Cons(%f, %b)
          %r = @through(%c, %x)
          return %r
        }""",
        (X + 2 * W) ** 2,
    ),
    "a branch chooses between closures": (
        """fn @main(%x: f32[3], %w: f32[3]) -> f32[3] attrs { entry = true } {
          %one = const i64[] 1
          %zero = const i64[] 0
          %c = greater(%one, %zero)
          %f = if %c {
            %g = fn (%y: f32[3]) -> f32[3] { %z = add(%y, %w) return %z }
            yield %g
          } else {
            %h = fn (%u: f32[3]) -> f32[3] { %v = subtract(%u, %w) return %v }
            yield %h
          }
          %r = %f(%x)
          %s = %f(%r)
          return %s
        }""",
        X + 2 * W,
    ),
    "a closure that uses a symbol that it captures nothing of": (
        """fn @main(%x: f32[n], %w: f32[n]) -> f32[n] attrs { entry = true } {
          %one = const f32[] 1.0
          %ones = fn () -> f32[n] { %s = shape [n] %z = full(%s, %one) return %z }
          %a = %ones()
          %b = %ones()
          %c = add(%a, %b)
          return %c
        }""",
        np.full(3, 2, np.float32),
    ),
    "an argument that is returned as it is": (
        """fn @same(%x: f32[3]) -> f32[3] attrs { } { return %x }
        fn @pick(%x: f32[3], %y: f32[3], %i: i64[]) -> f32[3] {
          %zero = const i64[] 0
          %one = const i64[] 1
          %c = greater(%i, %zero)
          %r = if %c { %j = subtract(%i, %one) %q = @pick(%y, %x, %j) yield %q } else { yield %x }
          return %r
        }
        fn @main(%x: f32[3], %w: f32[3]) -> f32[3] attrs { entry = true } {
          %f = @same
          %three = const i64[] 3
          %a = %f(%x)
          %p = @pick(%a, %w, %three)
          %q = @pick(%a, %a, %three)
          %r = add(%p, %q)
          %s = add(%r, %a)
          return %s
        }""",
        W + X + X,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_right_and_all_memory_comes_back(name: str) -> None:
    text, expected = PROGRAMS[name]
    for where, found in run_everywhere(program(text), X, W):
        np.testing.assert_array_equal(found, expected, err_msg=where)


def test_a_closure_keeps_what_it_captures_after_its_maker_has_returned() -> None:
    text = program(
        """fn @adder(%i: i64[], %w: f32[3]) -> (f32[3]) -> f32[3] {
          %zero = const i64[] 0
          %one = const i64[] 1
          %c = greater(%i, %zero)
          %f = if %c {
            %j = subtract(%i, %one)
            %w2 = add(%w, %w) @accel
            %g = @adder(%j, %w2)
            yield %g
          } else {
            %h = fn (%y: f32[3]) -> f32[3] { %z = add(%y, %w) return %z }
            yield %h
          }
          return %f
        }
        fn @main(%x: f32[3], %w: f32[3]) -> f32[3] attrs { entry = true } {
          %two = const i64[] 2
          %f = @adder(%two, %w)
          %a = %f(%x)
          %b = %f(%a)
          return %b
        }"""
    )
    for where, found in run_everywhere(text, X, W):
        np.testing.assert_array_equal(found, X + 8 * W, err_msg=where)


def test_functions_call_one_another_in_turn() -> None:
    def text(name: str, other: str, result: str) -> str:
        return f"""fn @{name}(%i: i64[]) -> bool[] {{
          %zero = const i64[] 0
          %one = const i64[] 1
          %c = greater(%i, %zero)
          %r = if %c {{
            %j = subtract(%i, %one)
            %q = @{other}(%j)
            yield %q
          }} else {{ %k = const bool[] {result} yield %k }}
          return %r
        }}"""

    main = "fn @main(%i: i64[]) -> bool[] attrs { entry = true } { %r = @even(%i) return %r }"
    both = program(text("even", "odd", "true"), text("odd", "even", "false"), main)
    for number in (0, 1, 10, 11):
        for where, found in run_everywhere(both, np.int64(number)):
            assert found == (number % 2 == 0), where


def test_modules_have_several_entries_that_share_functions() -> None:
    text = program(
        APPLY,
        """fn @once(%x: f32[n]) -> f32[n] attrs { entry = true } { %y = exp(%x) @accel return %y }
        fn @two(%x: f32[n]) -> f32[n] attrs { entry = true } { %y = @twice(@once, %x) return %y }
        fn @unused(%x: f32[n]) -> f32[n] { %y = @two(%x) return %y }""",
    )
    expected: Any = np.exp(np.exp(X))
    for where, found in run_everywhere(text, X, entry="two"):
        np.testing.assert_allclose(found, expected, rtol=1e-5, err_msg=where)
    for where, found in run_everywhere(text, X, entry="once"):
        np.testing.assert_allclose(found, np.exp(X), rtol=1e-6, err_msg=where)
