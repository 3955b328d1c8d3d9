"""Random programs of lists, trees and closures run alike in both executors."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reference_vm as rv
from tests.unit.native.both import Both
from tests.unit.native.data_programs import APPLY, MAP, REVERSE
from tests.unit.native.programs import TOTAL, X, number

PRELUDE = (
    """
type List[A] { Nil, Cons(A, List[A]) }
type Tree { Leaf, Node(Tree, f32[4], Tree) }
fn @build(%n: i64[], %x: f32[4]) -> List[f32[4]] {
  %zero = const i64[] 0
  %more = greater(%n, %zero)
  %r = if %more {
    %one = const i64[] 1
    %m = subtract(%n, %one)
    %y = add(%x, %x)
    %s = @build(%m, %y)
    %k = Cons(%x, %s)
    yield %k
  } else { %e: List[f32[4]] = Nil() yield %e }
  return %r
}
fn @pairs(%a: List[f32[4]], %b: List[f32[4]]) -> List[(f32[4], f32[4])] {
  %r = match %a {
    Cons(%h, %t) => {
      %p = match %b {
        Cons(%i, %u) => { %q = (%h, %i) %s = @pairs(%t, %u) %c = Cons(%q, %s) yield %c }
        Nil => { %d: List[(f32[4], f32[4])] = Nil() yield %d }
      }
      yield %p
    }
    Nil => { %e: List[(f32[4], f32[4])] = Nil() yield %e }
  }
  return %r
}
fn @mixed(%l: List[(f32[4], f32[4])]) -> List[f32[4]] {
  %r = match %l {
    Cons(%p, %t) => { %a = %p[1] %b = %p[0] %m = subtract(%a, %b) %s = @mixed(%t) %c = Cons(%m, %s)
      %d = Cons(%a, %c) yield %d }
    Nil => { %e: List[f32[4]] = Nil() yield %e }
  }
  return %r
}
fn @tree(%l: List[f32[4]], %t: Tree) -> Tree {
  %r = match %l {
    Cons(%h, %rest) => { %n = Node(%t, %h, %t) %s = @tree(%rest, %n) yield %s }
    Nil => { yield %t }
  }
  return %r
}
fn @left(%t: Tree) -> List[f32[4]] {
  %r = match %t {
    Node(%a, %x, %_) => { %s = @left(%a) %c = Cons(%x, %s) yield %c }
    Leaf => { %e: List[f32[4]] = Nil() yield %e }
  }
  return %r
}
"""
    + MAP
    + REVERSE
    + APPLY
    + TOTAL
)

LIST, TREE, FUNCTION, TENSOR = "List[f32[4]]", "Tree", "(f32[4]) -> f32[4]", "f32[4]"

STEPS = {
    "{new} = @build(%n, {tensor})": LIST,
    "{new} = @map({function}, {list})": LIST,
    "{new} = @reverse({list}, {list})": LIST,
    "{new}.p = @pairs({list}, {list}) {new} = @mixed({new}.p)": LIST,
    "{new} = @left({tree})": LIST,
    "{new} = if %c {{ yield {list} }}"
    " else {{ {new}.e = Cons({tensor}, {list}) yield {new}.e }}": LIST,
    "{new}.e = Leaf() {new} = @tree({list}, {new}.e)": TREE,
    "{new} = @tree({list}, {tree})": TREE,
    "{new} = if %c {{ yield {tree} }} else {{ yield {tree} }}": TREE,
    "{new} = fn({new}.z: f32[4]) -> f32[4] {{ {new}.a = subtract({new}.z, {tensor})"
    " return {new}.a }}": FUNCTION,
    "{new} = fn({new}.z: f32[4]) -> f32[4] {{ {new}.a = {function}({new}.z)"
    " {new}.b = {function}({new}.a) return {new}.b }}": FUNCTION,
    "{new} = fn({new}.z: f32[4]) -> f32[4] {{ {new}.a = @total({list}, {new}.z)"
    " return {new}.a }}": FUNCTION,
    "{new} = if %c {{ yield {function} }} else {{ yield {function} }}": FUNCTION,
    "{new} = {function}({tensor})": TENSOR,
    "{new} = @total({list}, {tensor})": TENSOR,
    "{new}.n: List[(f32[4]) -> f32[4]] = Nil() {new}.s = Cons({function}, {new}.n)"
    " {new}.t = Cons({function}, {new}.s) {new} = @all({new}.t, {tensor})": TENSOR,
}
"""Statements, and the type of what they make; what stands in braces is chosen."""

FIRST = """
  %v0 = @build(%n, %x)
  %v1.e = Leaf()
  %v1 = @tree(%v0, %v1.e)
  %v2 = fn(%v2.z: f32[4]) -> f32[4] { %v2.a = multiply(%v2.z, %x) return %v2.a }
"""


@dataclass
class Values:
    """The names of what there is, by type."""

    names: dict[str, list[str]] = field(
        default_factory=lambda: {LIST: ["%v0"], TREE: ["%v1"], FUNCTION: ["%v2"], TENSOR: ["%x"]}
    )


@st.composite
def programs(draw: st.DrawFn) -> str:
    names = Values().names
    lines: list[str] = []
    for index in range(3, draw(st.integers(4, 14))):
        step = draw(st.sampled_from(sorted(STEPS)))
        text = step.replace("{new}", f"%v{index}").replace("{{", "\0").replace("}}", "\1")
        for kind, type_ in (("list", LIST), ("tree", TREE), ("function", FUNCTION)):
            while f"{{{kind}}}" in text:
                text = text.replace(f"{{{kind}}}", draw(st.sampled_from(names[type_])), 1)
        while "{tensor}" in text:
            text = text.replace("{tensor}", draw(st.sampled_from(names[TENSOR])), 1)
        lines.append("  " + text.replace("\0", "{").replace("\1", "}"))
        names[STEPS[step]].append(f"%v{index}")
    last = [names[kind][-1] for kind in (LIST, TREE, TENSOR)]
    head = "fn @main(%n: i64[], %c: bool[], %x: f32[4]) -> (List[f32[4]], Tree, f32[4]) {"
    body = "\n".join([*lines, f"  %result = ({', '.join(last)})", "  return %result"])
    return f"module {{\n{PRELUDE}{head}{FIRST}{body}\n}}\n}}"


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(0, 4), st.booleans(), st.booleans())
def test_programs_of_data_run_alike(text: str, size: int, choice: bool, checked: bool) -> None:
    both = Both(rv.compile(rv.parse(text)), checked=checked)
    both.check("main", number(size), np.array(choice), X)

    used = {name.split()[0] for name in both.native.left_to_python()}
    assert not used & {"MakeData", "GetField", "BranchTag", "MakeClosure", "Kill", "Share"}
