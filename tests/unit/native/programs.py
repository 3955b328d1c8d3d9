"""Programs that between them use every instruction of the native loop, with arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import reference_vm as rv
from reference_vm.program.program import Program

X = np.arange(4, dtype=np.float32)
LONG = np.arange(6, dtype=np.float32)


@dataclass(frozen=True)
class Sample:
    """A program and calls of it."""

    text: str
    calls: Sequence[tuple[Any, ...]]
    device_map: str = ""
    fuse: bool = True

    def compiled(self) -> Program:
        module = rv.parse(f"module {{\n{self.text}\n}}")
        return rv.compile(module, self.device_map, fuse=self.fuse)


def number(value: int) -> Any:
    return np.array(value, dtype=np.int64)


LOOP = """
fn @main(%n: i64[], %x: f32[4]) -> (f32[4], i64[]) {
  %i = const i64[] 0
  %r = @loop(%i, %n, %x)
  return %r
}
fn @loop(%i: i64[], %n: i64[], %x: f32[4]) -> (f32[4], i64[]) {
  %more = less(%i, %n)
  %r = if %more {
    %one = const i64[] 1
    %j = add(%i, %one)
    %y = add(%x, %x)
    %s = @loop(%j, %n, %y)
    yield %s
  } else {
    %t = (%x, %i)
    yield %t
  }
  return %r
}
"""

SLICES = """
fn @main(%n: i64[], %x: f32[6], %from: i64[1], %to: i64[1]) -> f32[?] {
  %i = const i64[] 0
  %a = add(%from, %from)
  %s = slice(%x, %a, %to)
  %r = @loop(%i, %n, %x, %a, %to, %s)
  return %r
}
fn @loop(%i: i64[], %n: i64[], %x: f32[6], %a: i64[1], %to: i64[1], %s: f32[?]) -> f32[?] {
  %more = less(%i, %n)
  %r = if %more {
    %one = const i64[] 1
    %j = add(%i, %one)
    %t = slice(%x, %a, %to)
    %u = @loop(%j, %n, %x, %a, %to, %t)
    yield %u
  } else {
    yield %s
  }
  return %r
}
"""

RECURSION = """
fn @main(%n: i64[], %x: f32[4]) -> f32[4] { %r = @deep(%n, %x) return %r }
fn @deep(%n: i64[], %x: f32[4]) -> f32[4] {
  %zero = const i64[] 0
  %more = greater(%n, %zero)
  %r = if %more {
    %one = const i64[] 1
    %m = subtract(%n, %one)
    %s = @deep(%m, %x)
    %t = add(%s, %x)
    yield %t
  } else { yield %x }
  return %r
}
"""

GROWING = """
fn @main(%n: i64[], %x: f32[k]) -> f32[?] { %r = @grow(%n, %x) return %r }
fn @grow(%n: i64[], %x: f32[k]) -> f32[?] {
  %zero = const i64[] 0
  %more = greater(%n, %zero)
  %r: f32[?] = if %more {
    %one = const i64[] 1
    %m = subtract(%n, %one)
    %y = concat(%x, %x, axis = 0)
    %s = @grow(%m, %y)
    yield %s
  } else {
    %z: f32[?] = match_cast(%x)
    yield %z
  }
  return %r
}
"""

BUILD = """
fn @build(%n: i64[], %x: f32[4], %l: List[f32[4]]) -> List[f32[4]] {
  %zero = const i64[] 0
  %more = greater(%n, %zero)
  %r = if %more {
    %one = const i64[] 1
    %m = subtract(%n, %one)
    %y = add(%x, %x)
    %k = Cons(%y, %l)
    %s = @build(%m, %y, %k)
    yield %s
  } else { yield %l }
  return %r
}
"""

TOTAL = """
fn @total(%l: List[f32[4]], %t: f32[4]) -> f32[4] {
  %r = match %l {
    Cons(%h, %rest) => { %u = add(%t, %h) %s = @total(%rest, %u) yield %s }
    Nil => { yield %t }
  }
  return %r
}
"""

LIST = (
    """
type List[A] { Nil, Cons(A, List[A]) }
fn @main(%n: i64[], %x: f32[4]) -> f32[4] {
  %nil: List[f32[4]] = Nil()
  %l = @build(%n, %x, %nil)
  %r = @total(%l, %x)
  return %r
}
"""
    + BUILD
    + TOTAL
)

HANDED_TWICE = """
fn @main(%n: i64[], %x: f32[4]) -> f32[4] { %y = add(%x, %x) %r = @loop(%n, %y, %y) return %r }
fn @loop(%n: i64[], %x: f32[4], %y: f32[4]) -> f32[4] {
  %zero = const i64[] 0
  %more = greater(%n, %zero)
  %r = if %more {
    %one = const i64[] 1
    %m = subtract(%n, %one)
    %z = add(%x, %y)
    %s = @loop(%m, %z, %y)
    yield %s
  } else { %e = subtract(%x, %y) yield %e }
  return %r
}
"""

ANY_DIMS = """
fn @main(%n: i64[], %x: f32[?]) -> f32[?] { %r = @grow(%n, %x) return %r }
fn @grow(%n: i64[], %x: f32[k]) -> f32[?] {
  %zero = const i64[] 0
  %more = greater(%n, %zero)
  %r: f32[?] = if %more {
    %one = const i64[] 1
    %m = subtract(%n, %one)
    %y = add(%x, %x)
    %s = @grow(%m, %y)
    yield %s
  } else {
    %c = concat(%x, %x, axis = 0)
    %z: f32[?] = match_cast(%c)
    yield %z
  }
  return %r
}
"""

SAMPLES = {
    "chain": Sample(
        "fn @main(%x: f32[4]) -> f32[4] { %a = add(%x, %x) %b = multiply(%a, %x) %c = add(%b, %a)"
        " return %c }",
        [(X,), (X.astype(np.float64),), (LONG,), ([1, 2],)],
        fuse=False,
    ),
    "symbolic": Sample(
        "fn @main(%x: f32[n, 2], %y: f32[n, 2]) -> f32[2*n, 2] {\n"
        "%s = add(%x, %y) %c = concat(%s, %x, axis = 0) %e = multiply(%c, %c) return %e }",
        [
            (LONG.reshape(3, 2), LONG.reshape(3, 2)),
            (X.reshape(2, 2), X.reshape(2, 2)),
            (X[:0].reshape(0, 2), X[:0].reshape(0, 2)),
            (LONG.reshape(3, 2), X.reshape(2, 2)),
        ],
        fuse=False,
    ),
    "views": Sample(
        "fn @main(%x: f32[n, 2]) -> (f32[2*n], f32[n, 1, 2]) {\n"
        "%s = add(%x, %x) %to = shape [2*n] %r = reshape(%s, %to) %e = expand_dims(%s, axes = [1])"
        " %f = add(%e, %e) %t = (%r, %f) return %t }",
        [(LONG.reshape(3, 2),), (X.reshape(2, 2),)],
        fuse=False,
    ),
    "shape of": Sample(
        "fn @main(%x: f32[?, 2]) -> (i64[2], f32[?], i64[]) {\n"
        "%s = shape_of(%x) %t = shape_to_tensor(%s) %m = const i64[1] [-1]\n"
        "%r: f32[?] = reshape(%x, %m) %n = size_of(%x) %u = (%t, %r, %n) return %u }",
        [(LONG.reshape(3, 2),), (X.reshape(2, 2),)],
    ),
    "data": Sample(
        "fn @main(%x: f32[n]) -> (i64[1, ?], f32[?]) {\n"
        "%z = nonzero(%x) %w: i64[1, m] = match_cast(%z) %i: i64[m] = squeeze(%w, axes = [0])\n"
        "%t = take(%x, %i, axis = 0) %u: f32[m] = add(%t, %t) %v: f32[?] = match_cast(%u)\n"
        "%p = (%z, %v) return %p }",
        [(X,), (LONG,), (X[:1],), (X * 0,)],
    ),
    "cast that fails": Sample(
        "fn @main(%x: f32[?]) -> f32[4] { %e = exp(%x) %m: f32[4] = match_cast(%e) return %m }",
        [(X,), (LONG,), (X,)],
    ),
    "branch": Sample(
        "fn @main(%c: bool[], %x: f32[4]) -> f32[4] {\n"
        "%e = exp(%x) %r = if %c { %n = negative(%e) yield %n } else { yield %e }\n"
        "%z = add(%r, %x) return %z }",
        [(np.array(True), X), (np.array(False), X)],
        fuse=False,
    ),
    "condition of integers": Sample(
        "fn @main(%c: i32[], %x: f32[4]) -> f32[4] {\n"
        "%r = if %c { %n = negative(%x) yield %n } else { %m = exp(%x) yield %m } return %r }",
        [(np.array(v, np.int32), X) for v in (1, 0, 256)],
    ),
    "loop": Sample(LOOP, [(number(3), X), (number(0), X), (number(40), X)], fuse=False),
    "recursion": Sample(RECURSION, [(number(3), X), (number(0), X), (number(500), X)]),
    "growing": Sample(GROWING, [(number(3), X), (number(0), X), (number(5), LONG)]),
    "list": Sample(LIST, [(number(3), X), (number(0), X), (number(30), X)]),
    "closure": Sample(
        "fn @main(%x: f32[4], %y: f32[4]) -> f32[4] {\n"
        "%s = add(%x, %y)\n"
        "%f = fn(%z: f32[4]) -> f32[4] { %p = add(%z, %s) return %p }\n"
        "%r = @twice(%f, %x) return %r }\n"
        "fn @twice(%f: (f32[4]) -> f32[4], %x: f32[4]) -> f32[4] {\n"
        "%a = %f(%x) %b = %f(%a) return %b }",
        [(X, X + 1)],
    ),
    "constants": Sample(
        "fn @main(%x: f32[4]) -> (f32[4], f32[4]) {\n"
        "%k = const f32[4] [1, 2, 3, 4] %a = add(%x, %k) %t = (%a, %k) return %t }",
        [(X,)],
    ),
    "argument given back": Sample(
        "fn @main(%x: f32[4], %p: (f32[4], f32[4])) -> (f32[4], f32[4]) {\n"
        "%b = %p[1] %t = (%x, %b) return %t }",
        [(X, (X + 1, X + 2))],
    ),
    "two devices": Sample(
        "vdevice @host, @accel\n"
        "fn @main(%x: f32[n], %y: f32[n]) -> f32[n] @host {\n"
        "%a = add(%x, %y) @accel %b = multiply(%a, %x) @host %c = exp(%b) @accel"
        " %d = subtract(%c, %b) @host return %d }",
        [(X, X), (LONG, LONG), (X, X)],
        "host=cpu:0,accel=sim:0",
        fuse=False,
    ),
    "library": Sample(
        "fn @main(%x: f32[n]) -> f32[n] {\n"
        "%a = add(%x, %x) %s = cumulative_sum(%a, axis = 0) %b = multiply(%s, %x) return %b }",
        [(X,), (LONG,)],
        fuse=False,
    ),
    "error of data": Sample(
        "fn @main(%x: f32[4], %i: i64[2]) -> f32[2] {\n"
        "%a = add(%x, %x) %t = take(%a, %i, axis = 0) %r = add(%t, %t) return %r }",
        [(X, np.array([0, 3])), (X, np.array([0, 9])), (X, np.array([1, 1]))],
        fuse=False,
    ),
    "error of data in memory of its own": Sample(
        "fn @main(%x: f32[n, 2], %i: i64[?]) -> f32[?, 2] {\n"
        "%t = take(%x, %i, axis = 0) %r = add(%t, %t) return %r }",
        [(LONG.reshape(3, 2), np.array(i, np.int64)) for i in ([0, -1], [2, 3], [], [1], [-4])],
        fuse=False,
    ),
    "division that may fail": Sample(
        "fn @main(%x: i64[n, 2], %y: i64[2]) -> (i64[n, 2], i64[n, 2]) {\n"
        "%a = add(%x, %x) %q = trunc_divide(%a, %y) %r = remainder(%a, %y)"
        " %t = (%q, %r) return %t }",
        [
            (np.arange(n, dtype=np.int64).reshape(-1, 2) - 3, np.array(y))
            for n, y in [(8, [2, -3]), (8, [2, -3]), (8, [5, 0]), (4, [1, 2]), (0, [0, 1])]
        ],
        fuse=False,
    ),
    "numbers counted": Sample(
        "fn @main(%x: f32[n], %last: i64[]) -> (i64[?], i64[]) {\n"
        "%s = shape_of(%x) %v = shape_to_tensor(%s) %m = squeeze(%v, axes = [0])\n"
        "%zero = const i64[] 0 %two = const i64[] 2 %half = trunc_divide(%m, %two)\n"
        "%i = arange(%zero, %half, %two) %k = arange(%half, %last, %two) %j = sum(%i)"
        " %t = (%k, %j) return %t }",
        [(x, number(n)) for x, n in [(LONG, 9), (LONG, 9), (LONG, 9), (X, 9), (LONG, 2), (X, -5)]],
        fuse=False,
    ),
    "slices in a loop": Sample(
        SLICES,
        [(number(n), LONG, np.array([1]), np.array([5])) for n in (3, 30, 30)],
        fuse=False,
    ),
    "slices where the run says": Sample(
        "fn @main(%x: f32[n], %from: i64[1], %to: i64[1]) -> (f32[?], i64[1]) {\n"
        "%a = add(%x, %x) %k = add(%from, %from) %s = slice(%a, %k, %to) %b = exp(%s)\n"
        "%t = (%b, %k) return %t }",
        [
            (x, np.array([a]), np.array([b]))
            for x, a, b in [
                *[(LONG, 1, 5)] * 4,
                (LONG, 1, 4),
                (LONG, 2, 4),
                *[(X, 0, 3)] * 3,
                (LONG, 0, 3),
                *[(LONG, 2, 2)] * 3,
                (X, 1, -1),
            ]
        ],
        fuse=False,
    ),
    "too large": Sample(
        "fn @main(%x: f32[n]) -> f32[n, 1099511627776] {\n"
        "%s = shape [n, 1099511627776] %k = const f32[] 1.0 %f = full(%s, %k)\n"
        "%r = add(%f, %f) return %r }",
        [(X,), (X[:0],)],
        fuse=False,
    ),
    "dims that are no words": Sample(
        "fn @main(%x: f32[z, n]) -> f32[n * n * n, z] {\n"
        "%s = shape [n * n * n, z] %r = reshape(%x, %s) return %r }",
        [(np.zeros((0, n), np.float32),) for n in (3, 1 << 21, 1 << 32)],
        fuse=False,
    ),
    "huge dims in arms": Sample(
        "fn @main(%x: f32[z, n], %c: bool[]) -> f32[z, n] {\n"
        "%s = shape [n * n * n, z] %b = reshape(%x, %s)\n"
        "%q = if %c { yield %b } else { %e = negative(%b) yield %e }\n"
        "%t = shape [z, n] %u = reshape(%q, %t) return %x }",
        [
            (np.zeros((0, n), np.float32), np.array(c))
            for n in (3, 1 << 21, 1 << 32)
            for c in (True, False)
        ],
        fuse=False,
    ),
    "many results": Sample(
        "fn @main(%x: f32[6]) -> (f32[2], f32[2], f32[2]) {\n"
        "%a = add(%x, %x) %p = split(%a, axis = 0, num_outputs = 3)\n"
        "%u = %p[0] %v = %p[1] %w = %p[2] %s = add(%u, %v) %t = (%s, %v, %w) return %t }",
        [(LONG,)],
    ),
    "broadcast": Sample(
        "fn @main(%x: f32[n, 1], %y: f32[m]) -> f32[n, m] { %s = add(%x, %y) return %s }",
        [(X.reshape(4, 1), LONG), (X.reshape(4, 1), X[:1]), (X[:1].reshape(1, 1), LONG)],
    ),
    "sums of rows": Sample(
        "fn @main(%x: f32[2, m]) -> f32[2] { %s = sum(%x, axis = [1]) return %s }",
        [(LONG.reshape(2, 3),), (X.reshape(2, 2),), (X[:0].reshape(2, 0),)],
    ),
    "handed twice": Sample(HANDED_TWICE, [(number(3), X), (number(0), X)], fuse=False),
    "call of any dims": Sample(ANY_DIMS, [(number(2), X), (number(2), LONG), (number(1), X)]),
    "new sizes": Sample(
        "fn @main(%x: f32[n, m], %y: f32[k]) -> (f32[n, m], f32[k]) {\n"
        "%s = softmax(%x, axis = 1) %t = @twice(%y) %p = (%s, %t) return %p }\n"
        "fn @twice(%x: f32[j]) -> f32[j] { %y = add(%x, %x) %z = multiply(%y, %x) return %z }",
        [
            (np.full((n, m), 0.5, np.float32), np.ones(k, np.float32))
            for n, m, k in ((2, 3, 4), (4, 5, 3), (1, 5, 1), (3, 1, 2), (3, 0, 0), (1, 1, 7))
        ],
    ),
    "sum and softmax": Sample(
        "fn @main(%x: f32[n, m]) -> (f32[n], f32[n, m]) {\n"
        "%s = sum(%x, axis = [1]) %t = softmax(%x, axis = 1) %p = (%s, %t) return %p }",
        [(LONG.reshape(2, 3),), (X.reshape(2, 2),), (X[:0].reshape(2, 0),)],
    ),
}
