"""Values of data types: made, matched, nested, and handed over from outside."""

from __future__ import annotations

import numpy as np
import pytest

import reference_vm as rv
from tests.unit.functions.programs import LENGTH, LISTS, MAPS, program, run_everywhere, sessions
from tests.unit.session.in_use import in_use

X = np.array([1, 2], np.float32)
Y = np.array([10, 20], np.float32)

TREES = "type Tree[T] { Leaf, Node(Tree[T], T, Tree[T]) }"
TREE_SUM = """
fn @total(%t: Tree[f32[2]]) -> f32[2] {
  %zero = const f32[2] splat 0.0
  %r = match %t {
    Leaf => { yield %zero }
    Node(%a, %x, %b) => {
      %l = @total(%a)
      %m = @total(%b)
      %s = add(%l, %m) @accel
      %u = add(%s, %x)
      yield %u
    }
  }
  return %r
}
"""
SUM_LIST = """
fn @sum(%l: List[f32[2]], %acc: f32[2]) -> f32[2] {
  %r = match %l {
    Nil => { yield %acc }
    Cons(%h, %t) => { %a = add(%acc, %h) @accel %q = @sum(%t, %a) yield %q }
  }
  return %r
}
"""


def test_a_tree_is_built_shared_and_summed() -> None:
    text = program(
        TREES,
        TREE_SUM,
        """fn @main(%x: f32[2], %y: f32[2]) -> f32[2] attrs { entry = true } {
          %leaf: Tree[f32[2]] = Leaf()
          %a = Node(%leaf, %x, %leaf)
          %b = Node(%a, %y, %a)
          %c = Node(%b, %x, %b)
          %r = @total(%c)
          return %r
        }""",
    )
    for where, found in run_everywhere(text, X, Y):
        np.testing.assert_array_equal(found, 5 * X + 2 * Y, err_msg=where)


def test_a_list_is_mapped_by_a_closure_and_folded() -> None:
    text = program(
        LISTS,
        SUM_LIST,
        """fn @mapped(%f: (f32[2]) -> f32[2], %l: List[f32[2]]) -> List[f32[2]] {
          %r = match %l {
            Nil => { yield %l }
            Cons(%h, %t) => {
              %g = %f(%h)
              %u = @mapped(%f, %t)
              %c = Cons(%g, %u)
              yield %c
            }
          }
          return %r
        }
        fn @main(%x: f32[2], %y: f32[2]) -> f32[2] attrs { entry = true } {
          %n: List[f32[2]] = Nil()
          %a = Cons(%x, %n)
          %b = Cons(%y, %a)
          %f = fn (%v: f32[2]) -> f32[2] { %w = multiply(%v, %y) return %w }
          %c = @mapped(%f, %b)
          %zero = const f32[2] splat 0.0
          %r = @sum(%c, %zero)
          %s = @sum(%b, %r)
          return %s
        }""",
    )
    for where, found in run_everywhere(text, X, Y):
        np.testing.assert_array_equal(found, X * Y + Y * Y + X + Y, err_msg=where)


PATTERNS = program(
    LISTS,
    "type Pair[A, B] { Both(A, B), One(A), Neither }",
    """fn @main(%p: Pair[List[f32[2]], (f32[2], f32[2])], %d: f32[2]) -> f32[2] {
      %r = match %p {
        Both(Cons(%a, Cons(%b, _)), (%c, _)) => { %s = add(%a, %b) %t = add(%s, %c) yield %t }
        Both(Cons(%a2, Nil), _) => { yield %a2 }
        Both(_, (_, %e)) => { yield %e }
        One(Cons(%a3, %rest)) => { yield %a3 }
        %other => { yield %d }
      }
      return %r
    }""",
)
NIL = ("Nil",)
ONE = ("Cons", X, NIL)
TWO = ("Cons", Y, ONE)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (("Both", TWO, (X, Y)), Y + X + X),
        (("Both", ONE, (X, Y)), X),
        (("Both", NIL, (X, Y)), Y),
        (("One", TWO), Y),
        (("One", NIL), -X),
        (("Neither",), -X),
    ],
)
def test_nested_patterns_take_the_first_arm_that_fits(
    value: tuple[object, ...], expected: object
) -> None:
    for where, found in run_everywhere(PATTERNS, value, -X):
        np.testing.assert_array_equal(found, expected, err_msg=where)


def test_values_of_data_types_come_in_and_go_out() -> None:
    text = program(
        LISTS,
        """fn @reversed(%l: List[(f32[2], i64[])], %r: List[(f32[2], i64[])])
            -> List[(f32[2], i64[])] {
          %s = match %l {
            Nil => { yield %r }
            Cons(%h, %t) => { %u = Cons(%h, %r) %q = @reversed(%t, %u) yield %q }
          }
          return %s
        }
        fn @main(%l: List[(f32[2], i64[])]) -> (List[(f32[2], i64[])], i64[])
            attrs { entry = true } {
          %n: List[(f32[2], i64[])] = Nil()
          %r = @reversed(%l, %n)
          %k = const i64[] 7
          %t = (%r, %k)
          return %t
        }""",
    )
    given = ("Cons", (X, np.int64(1)), ("Cons", (Y, np.int64(2)), ("Nil",)))
    for where, found in run_everywhere(text, given):
        (list_, seven) = found
        assert seven == 7
        name, (first, second), rest = list_
        assert (name, int(second)) == ("Cons", 2), where
        np.testing.assert_array_equal(first, Y)
        assert rest[0] == "Cons"
        np.testing.assert_array_equal(rest[1][0], X)
        assert rest[2] == ("Nil",)


def test_a_list_far_deeper_than_the_stack_comes_in_and_goes_out() -> None:
    text = program(
        LISTS,
        LENGTH,
        """fn @main(%l: List[f32[2]]) -> (List[f32[2]], i64[]) attrs { entry = true } {
          %zero = const i64[] 0
          %n = @length(%l, %zero)
          %c = const f32[2] splat 1.0
          %m = Cons(%c, %l)
          %t = (%m, %n)
          return %t
        }""",
    )
    given: tuple[object, ...] = ("Nil",)
    for _ in range(20_000):
        given = ("Cons", X, given)
    session = rv.Session(rv.compile(rv.parse(text), MAPS[0]), trace=False)
    before = in_use(session)
    found, length = session.run("main", given)
    assert length == 20_000
    assert found[0] == "Cons"
    assert found[2][0] == "Cons"
    assert in_use(session) == before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (X, "expected List[f32[2] @host]: a tuple, one of ('Nil', …), ('Cons', …)"),
        ((), "found a tuple of 0"),
        (("Niil",), "found the constructor Niil"),
        (("Cons", X), "found Cons with 1 fields, expected 2"),
        (("Cons", X, ("Cons", X[:1], ("Nil",))), "found f32[1], expected f32[2]"),
    ],
)
def test_what_is_no_value_of_the_data_type_is_refused(given: object, message: str) -> None:
    text = program(LISTS, "fn @main(%l: List[f32[2]]) -> List[f32[2]] { return %l }")
    for _, session in sessions(text):
        before = in_use(session)
        with pytest.raises(rv.ExecutionError) as error:
            session.run("main", given)
        assert message in str(error.value)
        assert in_use(session) == before


def test_functions_stay_inside() -> None:
    text = program(
        """fn @apply(%f: (f32[2]) -> f32[2], %x: f32[2]) -> f32[2] { %y = %f(%x) return %y }
        fn @make(%x: f32[2]) -> (f32[2]) -> f32[2] {
          %f = fn (%y: f32[2]) -> f32[2] { %z = add(%x, %y) return %z }
          return %f
        }"""
    )
    session = rv.Session(rv.compile(rv.parse(text), MAPS[0]))
    with pytest.raises(rv.ExecutionError) as given:
        session.run("apply", lambda x: x, X)
    with pytest.raises(rv.ExecutionError) as returned:
        session.run("make", X)
    assert given.value.diagnostics[0].code == "argument-type"
    assert returned.value.diagnostics[0].code == "function-result"
    assert in_use(session) == {"cpu:0": 0}


def test_dims_inside_of_a_data_type_are_held_to_their_symbols() -> None:
    text = program(
        LISTS,
        """fn @main(%l: List[f32[n]], %x: f32[n]) -> f32[n] {
          %r = match %l {
            Nil => { yield %x }
            Cons(%h, _) => { %s = add(%h, %x) yield %s }
          }
          return %r
        }
        fn @first(%l: List[f32[n]], %d: f32[?]) -> f32[?] {
          %r = match %l {
            Nil => { yield %d }
            Cons(%h, _) => { %s = add(%h, %h) yield %s }
          }
          return %r
        }""",
    )
    for where, session in sessions(text):
        found = session.run("main", ("Cons", X, ("Nil",)), Y)
        np.testing.assert_array_equal(found, X + Y, err_msg=where)
        with pytest.raises(rv.ExecutionError) as error:
            session.run("main", ("Cons", X, ("Nil",)), Y[:1])
        assert error.value.diagnostics[0].code == "match-cast"
        found = session.run("first", ("Cons", X, ("Nil",)), Y)
        np.testing.assert_array_equal(found, X + X, err_msg=where)
        assert set(in_use(session).values()) == {0}, where


def test_an_empty_list_has_the_dims_of_its_type() -> None:
    text = program(
        LISTS,
        """fn @total(%l: List[f32[n]]) -> f32[n] {
          %r = match %l {
            Nil => { %z = const f32[] 0.0 %s = shape [n] %e = full(%s, %z) yield %e }
            Cons(%h, %t) => { %u = @total(%t) %v = add(%h, %u) @accel yield %v }
          }
          return %r
        }
        fn @main(%x: f32[m]) -> f32[m] attrs { entry = true } {
          %n: List[f32[m]] = Nil()
          %e = @total(%n)
          %a = Cons(%x, %n)
          %b = Cons(%e, %a)
          %t = @total(%b)
          %r = add(%t, %e)
          return %r
        }""",
    )
    for where, found in run_everywhere(text, X):
        np.testing.assert_array_equal(found, X, err_msg=where)


def test_a_dim_that_only_a_functions_type_names_is_passed_by_the_call() -> None:
    text = program(
        """fn @made(%f: (i64[]) -> f32[k], %i: i64[]) -> f32[k] {
          %zero = const i64[] 0
          %one = const i64[] 1
          %c = greater(%i, %zero)
          %r = if %c {
            %j = subtract(%i, %one)
            %q = @made(%f, %j)
            %g = %f(%j)
            %s = add(%q, %g) @accel
            yield %s
          } else { %o = const f32[] 0.0 %d = shape [k] %e = full(%d, %o) yield %e }
          return %r
        }
        fn @main(%x: f32[m]) -> f32[m] attrs { entry = true } {
          %f = fn (%i: i64[]) -> f32[m] { %y = add(%x, %x) return %y }
          %three = const i64[] 3
          %r = @made(%f, %three)
          return %r
        }"""
    )
    for where, found in run_everywhere(text, X):
        np.testing.assert_array_equal(found, 6 * X, err_msg=where)


def test_a_dim_that_nothing_tells_is_no_promise() -> None:
    text = program(
        """fn @each(%f: (i64[]) -> f32[k], %i: i64[]) -> f32[k] {
          %a = %f(%i)
          %b = %f(%i)
          %c = add(%a, %b)
          return %c
        }
        fn @main(%x: f32[m]) -> f32[?] attrs { entry = true } {
          %g = @each
          %f = fn (%i: i64[]) -> f32[m] { %y = add(%x, %x) return %y }
          %zero = const i64[] 0
          %r = %g(%f, %zero)
          return %r
        }"""
    )
    for where, found in run_everywhere(text, X):
        np.testing.assert_array_equal(found, 4 * X, err_msg=where)
