"""How long programs of data types and closures take in the native loop, beside the interpreter.

Run it: ``python -m benchmarks.data_types``. Lists of 10,000 pairs are built and summed up, mapped
by a closure and reversed; a tree of as many nodes is built and folded. The tensors are of 4 floats,
so what counts is what an executor does for values that are made, looked into, shared and given up.
apache-tvm's Relax has no data types, so nothing stands beside them there. Both executors must give
the same. The exit code is 1 if a limit is missed.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

import numpy as np

import reference_vm as rv
from benchmarks.figures import figure
from benchmarks.side_by_side import in_turn
from reference_vm.session import Session

NODES: Final = 10_000
DEPTH: Final = 13
"""Of the tree, which has 2^13 - 1 nodes, and as many leaves and one."""

ROUNDS: Final = 3
LIMIT: Final = 50.0
"""Times faster, at least."""

_LIST: Final = """
type List[A] { Nil, Cons(A, List[A]) }
fn @build(%n: i64[], %x: f32[4], %l: List[f32[4]]) -> List[f32[4]] {
  %zero = const i64[] 0
  %more = greater(%n, %zero)
  %r = if %more {
    %one = const i64[] 1
    %m = subtract(%n, %one)
    %k = Cons(%x, %l)
    %s = @build(%m, %x, %k)
    yield %s
  } else { yield %l }
  return %r
}
fn @total(%l: List[f32[4]], %t: f32[4]) -> f32[4] {
  %r = match %l {
    Cons(%h, %rest) => { %u = add(%t, %h) %s = @total(%rest, %u) yield %s }
    Nil => { yield %t }
  }
  return %r
}
"""

_MAP: Final = """
fn @map(%f: (f32[4]) -> f32[4], %l: List[f32[4]]) -> List[f32[4]] {
  %r = match %l {
    Cons(%h, %t) => { %g = %f(%h) %s = @map(%f, %t) %c = Cons(%g, %s) yield %c }
    Nil => { %e: List[f32[4]] = Nil() yield %e }
  }
  return %r
}
"""

_REVERSE: Final = """
fn @reverse(%l: List[f32[4]], %to: List[f32[4]]) -> List[f32[4]] {
  %r = match %l {
    Cons(%h, %t) => { %c = Cons(%h, %to) %s = @reverse(%t, %c) yield %s }
    Nil => { yield %to }
  }
  return %r
}
"""

_TREE: Final = """
type Tree { Leaf, Node(Tree, f32[4], Tree) }
fn @main(%n: i64[], %x: f32[4]) -> f32[4] { %t = @grow(%n, %x) %r = @fold(%t) return %r }
fn @grow(%n: i64[], %x: f32[4]) -> Tree {
  %zero = const i64[] 0
  %more = greater(%n, %zero)
  %r = if %more {
    %one = const i64[] 1
    %m = subtract(%n, %one)
    %a = @grow(%m, %x)
    %b = @grow(%m, %x)
    %t = Node(%a, %x, %b)
    yield %t
  } else { %e = Leaf() yield %e }
  return %r
}
fn @fold(%t: Tree) -> f32[4] {
  %r = match %t {
    Node(%a, %x, %b) => { %l = @fold(%a) %k = @fold(%b) %s = add(%l, %k) %u = add(%s, %x) yield %u }
    Leaf => { %z = const f32[4] [0, 0, 0, 0] yield %z }
  }
  return %r
}
"""


def _of_list(body: str) -> str:
    """Return an entry that builds a list ``%l``, and does more with it to get a result ``%r``."""
    return f"""
fn @main(%n: i64[], %x: f32[4]) -> f32[4] {{
  %nil: List[f32[4]] = Nil()
  %l = @build(%n, %x, %nil)
  {body}
  return %r
}}
"""


_MAPPED: Final = """%f = fn(%z: f32[4]) -> f32[4] { %p = multiply(%z, %x) return %p }
  %k = @map(%f, %l)
  %r = @total(%k, %x)"""

_REVERSED: Final = """%e: List[f32[4]] = Nil()
  %k = @reverse(%l, %e)
  %r = @total(%k, %x)"""

PROGRAMS: Final[Mapping[str, tuple[str, int]]] = MappingProxyType(
    {
        "list, summed up": (_LIST + _of_list("%r = @total(%l, %x)"), NODES),
        "list, mapped by a closure": (_LIST + _MAP + _of_list(_MAPPED), NODES),
        "list, reversed": (_LIST + _REVERSE + _of_list(_REVERSED), NODES),
        "tree, folded": (_TREE, DEPTH),
    }
)


def contenders(text: str, size: int) -> Mapping[str, Callable[[], object]]:
    """Return runs in both executors, after they gave the same."""
    program = rv.compile(rv.parse(f"module {{{text}}}"))
    runs = {
        name: partial(
            Session(program, interpreter=name == "interpreter").run,
            "main",
            np.array(size, dtype=np.int64),
            np.linspace(0.5, 1, 4, dtype=np.float32),
        )
        for name in ("native", "interpreter")
    }
    np.testing.assert_array_equal(runs["native"](), runs["interpreter"]())
    return runs


def shown(what: str, text: str, size: int) -> bool:
    """Print the figures of one program, and return whether the ratio keeps to its limit."""
    spent = in_turn(contenders(text, size), rounds=ROUNDS, warm_up=1)
    for name, times in spent.items():
        print(f"{name}, {what}: {statistics.median(times) * 1e3:.2f} ms")
    pairs = zip(spent["interpreter"], spent["native"], strict=True)
    faster = statistics.median(slow / fast for slow, fast in pairs)
    return figure(f"{what}: native against interpreted", faster, " times faster", least=LIMIT)


def main() -> int:
    kept = [shown(what, *program) for what, program in PROGRAMS.items()]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
