"""Structures are equal up to the names of variables, spans and sources; nothing else."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from reference_vm.ir import structural
from reference_vm.ir.nodes import Alias, Block, Call, Var
from reference_vm.text import parse
from reference_vm.types import DTYPES, Attrs, TensorType
from tests.property.samples import EVERYTHING

PROGRAM = """\
module {
  vdevice @host, @accel
  type List[T] { Nil, Cons(T, List[T]) }
  fn @main(%a: f32[n], %l: List[f32[n]]) -> f32[n] {
    %s: f32[n] = add(%a, %a, axis = 1) @accel
    %c = const f32[2] [1.0, 2.0]
    %i = if %s { %t = exp(%s) yield %t } else { yield %a }
    %m = match %l { Cons(%h, _) => { yield %h } Nil => { yield %a } }
    dataflow { %d = exp(%a) output %d }
    %p = (%a, %i)
    %q = %p[0]
    %f = fn(%z: f32[n]) -> f32[n] { return %a }
    return %m
  }
}
"""

T4 = TensorType(DTYPES["f32"], (4,))


def test_names_spans_and_sources_do_not_count() -> None:
    renamed = PROGRAM
    for name in "aslcithdmpqz":
        renamed = renamed.replace(f"%{name}", f'%"other {name}"')
    left, right = parse(PROGRAM), parse(renamed.replace(" = ", "\n =  "), name="elsewhere")

    assert structural.equal(left, right)
    assert structural.digest(left) == structural.digest(right)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("add(%a, %a, axis = 1)", "add(%a, %a, axis = 1.0)"),
        ("add(%a, %a, axis = 1)", "sub(%a, %a, axis = 1)"),
        ("add(%a, %a, axis = 1)", "add(%a, axis = 1)"),
        ("add(%a, %a, axis = 1)", "add(%a, none, axis = 1)"),
        ("add(%a, %a, axis = 1)", "add(%l, %a, axis = 1)"),
        ("add(%a, %a, axis = 1)", "@add(%a, %a, axis = 1)"),
        ("axis = 1) @accel", "axis = 1) @host"),
        ("axis = 1) @accel", "axis = 1)"),
        ("%s: f32[n]", "%s: f32[m]"),
        ("%s: f32[n]", "%s"),
        ("%s: f32[n]", "%s: f32[n] @host"),
        ("[1.0, 2.0]", "[1.0, -2.0]"),
        ("yield %t } else", "yield %s } else"),
        ("Cons(%h, _)", "Cons(_, %h)"),
        ("Cons(%h, _) => { yield %h }", "Cons(%h, _) => { yield %a }"),
        ("output %d", "output %d, %d"),
        ("dataflow { %d = exp(%a) output %d }", "%d = exp(%a)"),
        ("(%a, %i)", "(%i, %a)"),
        ("%p[0]", "%p[1]"),
        ("{ return %a }", "{ return %z }"),
        ("return %m", "return %s"),
        ("@main", "@other"),
        ("%a: f32[n]", "%a: f32[n] donate"),
        ("-> f32[n] {\n    %s", "-> f32[n] bounds n in 1.. {\n    %s"),
        ("-> f32[n] {\n    %s", "-> f32[n] attrs { pure = true } {\n    %s"),
        ("Nil, Cons", "Nill, Cons"),
        ("vdevice @host, @accel", "vdevice @accel, @host"),
        ("@accel\n  type", '@accel = "sim:0"\n  type'),
    ],
)
def test_everything_else_counts(old: str, new: str) -> None:
    assert old in PROGRAM
    left, right = parse(PROGRAM), parse(PROGRAM.replace(old, new))

    assert not structural.equal(left, right)
    assert structural.digest(left) != structural.digest(right)


def test_a_module_is_not_equal_to_a_longer_one() -> None:
    module = parse(PROGRAM)
    longer = module.with_functions([*module.functions, replace(module.functions[0], name="g")])

    assert not structural.equal(module, longer)
    assert not structural.equal(longer, module)


def test_variables_from_outside_are_equal_to_themselves_only() -> None:
    x, y = Var("x", T4), Var("x", T4)

    assert structural.equal(Call("exp", (x,)), Call("exp", (x,)))
    assert not structural.equal(Call("exp", (x,)), Call("exp", (y,)))
    assert structural.digest(Alias(x)) == structural.digest(Alias(y))


def test_parts_of_programs_compare() -> None:
    left, right = parse(PROGRAM).functions[0], parse(PROGRAM).functions[0]

    assert structural.equal(left, right)
    assert structural.equal(left.result, right.result)
    x = left.params[0]
    assert structural.equal(Block((), x), Block((), x))
    assert not structural.equal(Block((), x), Alias(x))


def test_attributes_of_another_kind_are_other_attributes() -> None:
    digests = {
        structural.digest(Call("op", (), Attrs(a=value))) for value in (1, 1.0, True, "1", None)
    }

    assert len(digests) == 5


def test_a_digest_is_the_same_in_another_process() -> None:
    program = (
        "import sys; from reference_vm.text import parse; from reference_vm.ir import structural;"
        "print(structural.digest(parse(sys.stdin.read())))"
    )

    other = subprocess.run(
        [sys.executable, "-c", program],
        input=EVERYTHING,
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "77"},
    )

    assert other.stdout.strip() == structural.digest(parse(EVERYTHING))
