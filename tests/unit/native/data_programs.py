"""Programs with data types and closures, with arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.unit.native.programs import BUILD, LONG, Sample, X, number

LIST_TYPE = "type List[A] { Nil, Cons(A, List[A]) }"

MAP = """
fn @map(%f: (f32[4]) -> f32[4], %l: List[f32[4]]) -> List[f32[4]] {
  %r = match %l {
    Cons(%h, %t) => { %g = %f(%h) %s = @map(%f, %t) %c = Cons(%g, %s) yield %c }
    Nil => { %e: List[f32[4]] = Nil() yield %e }
  }
  return %r
}
"""

REVERSE = """
fn @reverse(%l: List[f32[4]], %to: List[f32[4]]) -> List[f32[4]] {
  %r = match %l {
    Cons(%h, %t) => { %c = Cons(%h, %to) %s = @reverse(%t, %c) yield %s }
    Nil => { yield %to }
  }
  return %r
}
"""

TREE = """
type Tree { Leaf, Node(Tree, f32[4], Tree) }
fn @main(%n: i64[], %x: f32[4]) -> (f32[4], f32[4]) {
  %t = @grow(%n, %x)
  %a = @fold(%t)
  %b = @left(%t, %x)
  %r = (%a, %b)
  return %r
}
fn @grow(%n: i64[], %x: f32[4]) -> Tree {
  %zero = const i64[] 0
  %more = greater(%n, %zero)
  %r = if %more {
    %one = const i64[] 1
    %m = subtract(%n, %one)
    %y = add(%x, %x)
    %k = @grow(%m, %y)
    %t = Node(%k, %y, %k)
    yield %t
  } else { %e = Leaf() yield %e }
  return %r
}
fn @fold(%t: Tree) -> f32[4] {
  %r = match %t {
    Node(%a, %x, %b) => { %l = @fold(%a) %k = @fold(%b) %s = add(%l, %k) %u = add(%s, %x) yield %u }
    Leaf => { %z = const f32[4] [1, 2, 3, 4] yield %z }
  }
  return %r
}
fn @left(%t: Tree, %x: f32[4]) -> f32[4] {
  %r = match %t {
    Node(%a, %y, %_) => { %s = @left(%a, %y) yield %s }
    Leaf => { yield %x }
  }
  return %r
}
"""

PAIRS = """
type List[A] { Nil, Cons(A, List[A]) }
fn @main(%n: i64[], %x: f32[4]) -> (f32[4], f32[4]) {
  %nil: List[(f32[4], f32[4])] = Nil()
  %l = @build(%n, %x, %nil)
  %r = @last(%l, %x, %x)
  return %r
}
fn @build(%n: i64[], %x: f32[4], %l: List[(f32[4], f32[4])]) -> List[(f32[4], f32[4])] {
  %zero = const i64[] 0
  %more = greater(%n, %zero)
  %r = if %more {
    %one = const i64[] 1
    %m = subtract(%n, %one)
    %y = add(%x, %x)
    %p = (%y, %x)
    %k = Cons(%p, %l)
    %s = @build(%m, %y, %k)
    yield %s
  } else { yield %l }
  return %r
}
fn @last(%l: List[(f32[4], f32[4])], %a: f32[4], %b: f32[4]) -> (f32[4], f32[4]) {
  %r = match %l {
    Cons(%h, %t) => { %c = %h[0] %d = %h[1] %e = add(%b, %c) %s = @last(%t, %d, %e) yield %s }
    Nil => { %p = (%a, %b) yield %p }
  }
  return %r
}
"""

APPLY = """
fn @all(%l: List[(f32[4]) -> f32[4]], %x: f32[4]) -> f32[4] {
  %r = match %l {
    Cons(%f, %t) => { %y = %f(%x) %s = @all(%t, %y) yield %s }
    Nil => { yield %x }
  }
  return %r
}
"""

FUNCTIONS = (
    """
type List[A] { Nil, Cons(A, List[A]) }
fn @main(%n: i64[], %x: f32[4]) -> f32[4] {
  %nil: List[(f32[4]) -> f32[4]] = Nil()
  %l = @build(%n, %x, %nil)
  %r = @all(%l, %x)
  return %r
}
fn @build(
  %n: i64[], %x: f32[4], %l: List[(f32[4]) -> f32[4]]
) -> List[(f32[4]) -> f32[4]] {
  %zero = const i64[] 0
  %more = greater(%n, %zero)
  %r = if %more {
    %one = const i64[] 1
    %m = subtract(%n, %one)
    %y = add(%x, %x)
    %f = fn(%z: f32[4]) -> f32[4] { %p = multiply(%z, %y) %q = add(%p, %x) return %q }
    %k = Cons(%f, %l)
    %s = @build(%m, %y, %k)
    yield %s
  } else { yield %l }
  return %r
}
"""
    + APPLY
)

CLOSURE_OF_TUPLES = """
fn @main(%x: f32[4], %y: f32[4]) -> (f32[4], f32[4]) {
  %s = add(%x, %y)
  %f = fn(%z: f32[4]) -> (f32[4], f32[4]) { %p = add(%z, %s) %q = (%p, %z) return %q }
  %r = @twice(%f, %x)
  return %r
}
fn @twice(%f: (f32[4]) -> (f32[4], f32[4]), %x: f32[4]) -> (f32[4], f32[4]) {
  %a = %f(%x)
  %c = %a[0]
  %b = %f(%c)
  %d = %b[0]
  %e = add(%d, %c)
  %t = (%e, %d)
  return %t
}
"""

SYMBOLIC = """
type List[A] { Nil, Cons(A, List[A]) }
fn @main(%n: i64[], %x: f32[k]) -> (List[f32[k]], f32[k]) {
  %nil: List[f32[k]] = Nil()
  %l = @build(%n, %x, %nil)
  %s = @scaled(%l)
  %r = @total(%s, %x)
  %t = (%s, %r)
  return %t
}
fn @build(%n: i64[], %x: f32[k], %l: List[f32[k]]) -> List[f32[k]] {
  %zero = const i64[] 0
  %more = greater(%n, %zero)
  %r = if %more {
    %one = const i64[] 1
    %m = subtract(%n, %one)
    %y = add(%x, %x)
    %c = Cons(%y, %l)
    %s = @build(%m, %y, %c)
    yield %s
  } else { yield %l }
  return %r
}
fn @scaled(%l: List[f32[k]]) -> List[f32[k]] {
  %r = match %l {
    Cons(%h, %t) => { %g = multiply(%h, %h) %s = @scaled(%t) %c = Cons(%g, %s) yield %c }
    Nil => { %e: List[f32[k]] = Nil() yield %e }
  }
  return %r
}
fn @total(%l: List[f32[k]], %t: f32[k]) -> f32[k] {
  %r = match %l {
    Cons(%h, %rest) => { %u = add(%t, %h) %s = @total(%rest, %u) yield %s }
    Nil => { yield %t }
  }
  return %r
}
"""

ELSEWHERE = f"""
vdevice @host, @accel
{LIST_TYPE}
fn @main(%n: i64[] @host, %x: f32[4] @accel) -> f32[4] @accel {{
  %nil: List[f32[4] @accel] = Nil()
  %l = @build(%n, %x, %nil)
  %f = fn(%z: f32[4] @accel) -> f32[4] @accel {{ %p = add(%z, %x) return %p }}
  %r = @total(%l, %x, %f)
  return %r
}}
fn @build(%n: i64[] @host, %x: f32[4] @accel, %l: List[f32[4] @accel]) -> List[f32[4] @accel] {{
  %zero = const i64[] 0
  %more = greater(%n, %zero) @host
  %r = if %more {{
    %one = const i64[] 1
    %m = subtract(%n, %one) @host
    %y = add(%x, %x) @accel
    %k = Cons(%y, %l)
    %s = @build(%m, %y, %k)
    yield %s
  }} else {{ yield %l }}
  return %r
}}
fn @total(
  %l: List[f32[4] @accel], %t: f32[4] @accel, %f: (f32[4] @accel) -> f32[4] @accel
) -> f32[4] @accel {{
  %r = match %l {{
    Cons(%h, %rest) => {{
      %g = %f(%h)
      %u = add(%t, %g) @accel
      %s = @total(%rest, %u, %f)
      yield %s
    }}
    Nil => {{ yield %t }}
  }}
  return %r
}}
"""

GIVEN = ("Cons", X, ("Cons", X + 1, ("Cons", X + 2, ("Nil",))))

HANDED_OVER = """
type List[A] { Nil, Cons(A, List[A]) }
type Tree[A] { Leaf, Node(Tree[A], A, Tree[A]) }
fn @main(%l: List[(f32[n], (i64[], f32[4]))], %x: f32[4], %t: Tree[f32[4]])
    -> (List[((i64[], f32[4]), f32[n])], Tree[f32[4]], f32[4]) {
  %s = @swap(%l)
  %e: Tree[f32[4]] = Leaf()
  %k = Node(%t, %x, %e)
  %r = (%s, %k, %x)
  return %r
}
fn @swap(%l: List[(f32[n], (i64[], f32[4]))]) -> List[((i64[], f32[4]), f32[n])] {
  %r = match %l {
    Cons(%h, %t) => {
      %a = %h[0] %b = %h[1] %p = (%b, %a)
      %s: List[((i64[], f32[4]), f32[n])] = @swap(%t)
      %c = Cons(%p, %s)
      yield %c
    }
    Nil => { %e: List[((i64[], f32[4]), f32[n])] = Nil() yield %e }
  }
  return %r
}
"""


def pairs(count: int, size: int, **kinds: Any) -> Any:
    """Return a list for `HANDED_OVER`, with arrays of its own in each node."""
    made: Any = ("Nil",)
    for i in range(count):
        first = np.arange(size, dtype=kinds.get("dtype", np.float32)) + i
        made = ("Cons", (first, (number(i), X * i)), made)
    return made


LEAF = ("Leaf",)
NODE = ("Node", ("Node", LEAF, X, LEAF), X + 1, ("Node", LEAF, X + 2, LEAF))

DATA = {
    "handed over and back": Sample(
        HANDED_OVER,
        [
            (pairs(3, 2), X, NODE),
            (pairs(40, 5), X, LEAF),
            (pairs(0, 0), X, ("Node", NODE, X[::-1], NODE)),
            (pairs(2, 0), X, LEAF),
            (["Cons", [X, (3, X)], ("Nil",)], X, LEAF),
            (pairs(2, 3, dtype=np.float64), X, LEAF),
            (pairs(2, 3), X, ("Node", LEAF, X[:3], LEAF)),
            (pairs(2, 3), X, ("Node", LEAF, X)),
            (pairs(2, 3), X, ("Leave",)),
            (("Cons", (X, (number(1), X)), pairs(1, 3)), X, LEAF),
            (pairs(2, 3), X, (X, "Leaf")),
            ((), X, LEAF),
        ],
    ),
    "map and reverse": Sample(
        f"""{LIST_TYPE}
fn @main(%n: i64[], %x: f32[4]) -> List[f32[4]] {{
  %nil: List[f32[4]] = Nil()
  %l = @build(%n, %x, %nil)
  %s = add(%x, %x)
  %f = fn(%z: f32[4]) -> f32[4] {{ %p = add(%z, %s) return %p }}
  %m = @map(%f, %l)
  %e: List[f32[4]] = Nil()
  %r = @reverse(%m, %e)
  return %r
}}
{BUILD}{MAP}{REVERSE}""",
        [(number(3), X), (number(0), X), (number(40), X)],
    ),
    "list given and returned": Sample(
        f"""{LIST_TYPE}
fn @main(%l: List[f32[4]]) -> (List[f32[4]], List[f32[4]]) {{
  %e: List[f32[4]] = Nil()
  %r = @reverse(%l, %e)
  %f = fn(%z: f32[4]) -> f32[4] {{ %p = add(%z, %z) return %p }}
  %m = @map(%f, %r)
  %t = (%l, %m)
  return %t
}}
{MAP}{REVERSE}""",
        [(GIVEN,), (("Nil",),), (("Cons", LONG, ("Nil",)),)],
    ),
    "tree with shared branches": Sample(TREE, [(number(3), X), (number(0), X), (number(6), X)]),
    "list of pairs": Sample(PAIRS, [(number(3), X), (number(0), X), (number(20), X)]),
    "list of functions": Sample(FUNCTIONS, [(number(3), X), (number(0), X), (number(20), X)]),
    "closure of tuples": Sample(CLOSURE_OF_TUPLES, [(X, X + 1)]),
    "symbolic list": Sample(
        SYMBOLIC, [(number(n), x) for n, x in ((3, X), (3, LONG), (0, X), (20, X), (2, X[:0]))]
    ),
    "list of tensors elsewhere": Sample(
        ELSEWHERE, [(number(3), X), (number(0), X), (number(20), X)], "host=cpu:0,accel=sim:0"
    ),
    "function as a result": Sample(
        "fn @main(%x: f32[4]) -> (f32[4]) -> f32[4] {\n"
        "%f = fn(%z: f32[4]) -> f32[4] { %p = add(%z, %x) return %p } return %f }",
        [(X,)],
    ),
    "partly applied": Sample(
        "fn @main(%c: bool[], %x: f32[4], %y: f32[4]) -> f32[4] {\n"
        "%s = add(%x, %y)\n"
        "%f = if %c {\n"
        "  %a = fn(%z: f32[4]) -> f32[4] { %p = add(%z, %s) return %p } yield %a\n"
        "} else { %b = fn(%w: f32[4]) -> f32[4] { %q = multiply(%w, %y) return %q } yield %b }\n"
        "%u = %f(%x) %v = %f(%u) %r = add(%v, %s) return %r }",
        [(np.array(True), X, X + 1), (np.array(False), X, X + 1)],
    ),
}
